/* Conveniences of a reader: contents that stay folded, folds that open together, arrow keys that
   scroll what has the focus. */
{
  const root = document.documentElement;
  const wide = matchMedia("(min-width: 992px)"); // below, the theme lays the contents over the page

  /* The theme would forget it on the next page, and leave the focus in what has just gone. */
  function foldContents(event) {
    const button = event.target.closest(".primary-toggle");
    if (!button || !wide.matches) return;
    event.stopPropagation();
    root.dataset.contents = root.dataset.contents === "folded" ? "open" : "folded";
    localStorage.setItem("contents", root.dataset.contents);
    sayContents();
  }

  function sayContents() {
    const button = document.querySelector(".primary-toggle");
    if (button && wide.matches) button.ariaExpanded = root.dataset.contents === "open";
  }

  /* A key that scrolls a wide formula must not turn the page. */
  function keepArrows(event) {
    const focused = document.activeElement;
    const scrolls = focused !== document.body && focused.scrollWidth > focused.clientWidth;
    if (scrolls && /^Arrow(Left|Right)$/.test(event.key)) event.stopPropagation();
  }

  /* A button that opens every fold, or closes all when none is left to open. */
  function addButtonForAll() {
    const folds = [...document.querySelectorAll("article details > summary, article .toggle-button")];
    const before = document.querySelector(".btn-fullscreen-button");
    if (!folds.length || !before) return;
    const isOpen = (fold) => fold.parentElement.open || fold.ariaExpanded === "true";
    const label = "Open or close everything on this page that is folded, as for printing";
    before.insertAdjacentHTML(
      "beforebegin",
      `<button class="btn btn-sm btn-all-folds" title="${label}"><span class="fa-solid fa-up-down"></span></button>`
    );
    before.previousElementSibling.addEventListener("click", () => {
      const closed = folds.filter((fold) => !isOpen(fold));
      for (const fold of closed.length ? closed : folds) fold.click();
    });
  }

  let theme;
  addEventListener("beforeprint", () => ((theme = root.dataset.theme), (root.dataset.theme = "light")));
  addEventListener("afterprint", () => (root.dataset.theme = theme));
  addEventListener("click", foldContents, true);
  addEventListener("keydown", keepArrows, true);
  addEventListener("load", () => (sayContents(), addButtonForAll())); // the theme has its toggles by then
}
