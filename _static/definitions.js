/* The definition of a glossary term appears while its link has the pointer or the focus.
   It stays while the pointer is on it; Escape hides it. */
document.addEventListener("DOMContentLoaded", () => {
  const template = document.getElementById("definitions");
  if (!template || !HTMLElement.prototype.togglePopover) return;
  document.body.append(template.content);
  let shown, timer;

  function after(milliseconds, action) {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  }

  function hide() {
    clearTimeout(timer);
    shown?.togglePopover(false);
    shown = undefined;
  }

  /* Below the link, or above it where the window ends. */
  function show(tip, link) {
    hide();
    shown = tip;
    tip.togglePopover(true);
    const line = link.getClientRects()[0];
    const fits = line.bottom + tip.offsetHeight < innerHeight;
    const top = fits ? line.bottom : line.top - tip.offsetHeight;
    const right = document.documentElement.clientWidth - tip.offsetWidth;
    tip.style.top = `${scrollY + top}px`;
    tip.style.left = `${Math.max(0, Math.min(line.left, right))}px`;
  }

  for (const link of document.querySelectorAll("a.term")) {
    const tip = document.getElementById(link.hash.replace("#term-", "definition-"));
    link.setAttribute("aria-describedby", tip.id);
    link.addEventListener("mouseenter", () => after(150, () => show(tip, link)));
    link.addEventListener("focus", () => show(tip, link));
    link.addEventListener("mouseleave", () => after(250, hide));
    link.addEventListener("blur", hide);
    tip.onmouseenter = () => clearTimeout(timer);
    tip.onmouseleave = () => after(250, hide);
  }
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
});
