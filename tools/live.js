/* Figures that answer: custom elements over numbers that the chapter has stored in the page.
   An element says which controls it has and what a state of them shows; LiveFigure does the rest.
   Without this script the elements are empty, and the plain figure beside each of them stands. */

export function softmax(scores) {
  const top = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp(score - top));
  const sum = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((e) => e / sum);
}

const number = (x, digits = 2) => x.toFixed(digits).replace(/^-(0(\.0+)?)$/, "$1").replace("-", "−");
/* A bar from 0 to ``top``; ``signed``: from -top to top, with 0 in the middle. */
const bar = (x, role, digits = 2, top = 1, signed = false) => ({ text: number(x, digits), share: x / top, role, signed });
const range = (name, label, values, start, show = String) => ({ kind: "range", name, label, values, start, show });
const select = (name, label, options, start = options[0]) => ({ kind: "select", name, label, options, start });
const checks = (name, label, options, start) => ({ kind: "checks", name, label, options, start });
const steps = (low, high, step) =>
  Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => +(low + i * step).toFixed(6));

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/* Each kind of control: its elements, reading a text into a value (undefined: not one of its values). */
const KINDS = {
  range: {
    read: (control, text) => control.values.find((value) => String(value) === text),
    draw(control, value, id, changed) {
      const input = make("input", {
        type: "range", id, min: 0, max: control.values.length - 1, step: 1, value: control.values.indexOf(value),
      });
      const say = () => {
        const shown = control.show(control.values[input.value]);
        input.setAttribute("aria-valuetext", shown);
        output.textContent = shown;
      };
      const output = make("output", { htmlFor: id });
      input.addEventListener("input", () => (say(), changed(control.values[input.value])));
      say();
      return make("div", {}, make("label", { htmlFor: id, textContent: control.label }), input, output);
    },
  },
  select: {
    read: (control, text) => control.options.find((option) => String(option) === text),
    draw(control, value, id, changed) {
      const options = control.options.map((option) => make("option", { value: option, textContent: option.label ?? option }));
      const input = make("select", { id }, ...options);
      input.value = value;
      input.addEventListener("change", () => changed(KINDS.select.read(control, input.value)));
      return make("div", {}, make("label", { htmlFor: id, textContent: control.label }), input);
    },
  },
  checks: {
    read: (control, text) => (new RegExp(`^[01]{${control.options.length}}$`).test(text) ? text : undefined),
    draw(control, value, id, changed) {
      const boxes = control.options.map((option, i) => make("input", { type: "checkbox", id: `${id}-${i}`, checked: value[i] === "1" }));
      boxes.forEach((box) => box.addEventListener("change", () => changed(boxes.map((b) => +b.checked).join(""))));
      const labels = control.options.map((option, i) => make("label", {}, boxes[i], ` ${option}`));
      return make("fieldset", {}, make("legend", { textContent: control.label }), ...labels);
    },
  },
};

class LiveFigure extends HTMLElement {
  connectedCallback() {
    if (this.data) return;
    try {
      this.data = JSON.parse(this.querySelector("script").textContent);
      this.start();
    } catch {
      this.replaceChildren(make("p", { textContent: "The numbers of this figure cannot be read; the plain figure shows them." }));
    }
  }

  /* A control may depend on those before it: the requesters on the sentence. */
  start() {
    this.form = make("form", { className: "controls" });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.table = make("table");
    this.words = make("p", { className: "words" });
    this.words.setAttribute("role", "status");
    this.open();
    const scroller = make("div", { className: "scroller", tabIndex: 0 }, this.table);
    scroller.setAttribute("role", "region");
    scroller.setAttribute("aria-label", this.heading);
    const title = make("p", { className: "title", textContent: this.heading });
    const figure = make("section", { className: "live" }, title, this.form, scroller, this.words);
    figure.setAttribute("aria-label", this.heading);
    this.append(figure);
    addEventListener("hashchange", () => this.open());
  }

  /* The state that the address names, what it does not name by default. */
  open() {
    const [name, query] = location.hash.slice(1).split("?");
    const mine = name === this.localName;
    const asked = new URLSearchParams(mine ? query : "");
    const state = {};
    for (const control of this.controls(state, true)) {
      const read = asked.has(control.name) ? KINDS[control.kind].read(control, asked.get(control.name)) : undefined;
      state[control.name] = read ?? control.start;
    }
    if (this.state && !mine) return;
    this.state = state;
    this.drawControls();
    this.show();
    if (mine) this.scrollIntoView({ block: "center" });
  }

  drawControls() {
    const drawn = [...this.controls(this.state)].map((control) =>
      KINDS[control.kind].draw(control, this.state[control.name], `${this.localName}-${control.name}`, (value) => this.change(control, value)));
    this.form.replaceChildren(...drawn);
  }

  change(control, value) {
    this.state[control.name] = value;
    const stale = this.adjust(control.name);
    if (stale) {
      const focused = document.activeElement.id;
      this.drawControls();
      document.getElementById(focused)?.focus();
    }
    history.replaceState(null, "", `#${this.localName}?${new URLSearchParams(this.state)}`);
    this.show();
  }

  /* Bring the state in order after ``name`` changed; true when controls must be drawn anew. */
  adjust() {
    return false;
  }

  show() {
    const { head, rows, words } = this.view(this.state);
    const cell = (tag, what) => {
      const content = typeof what === "object" ? what : { text: what };
      const element = make(tag, { textContent: content.text });
      if (content.role) {
        element.className = "bar";
        element.style.setProperty("--bar", `var(--${content.share < 0 ? "state" : content.role})`);
        const zero = content.signed ? 50 : 0;
        const end = zero + (100 - zero) * Math.max(-1, Math.min(content.share, 1));
        element.style.setProperty("--from", `${Math.min(zero, end)}%`);
        element.style.setProperty("--to", `${Math.max(zero, end)}%`);
      }
      return element;
    };
    const line = (names) => make("tr", {}, ...names.map((name) => Object.assign(cell("th", name), { scope: "col" })));
    const body = rows.map(([first, ...others]) =>
      make("tr", {}, Object.assign(cell("th", first), { scope: "row" }), ...others.map((what) => cell("td", what))));
    this.table.replaceChildren(make("thead", {}, line(head)), make("tbody", {}, ...body));
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => (this.words.textContent = words), this.words.textContent ? 200 : 0);
  }
}

/* Four scores to move: as coefficients, and through softmax. */
class SoftmaxBench extends LiveFigure {
  heading = "Move the scores";

  *controls() {
    for (const [i, score] of this.data.scores.entries()) {
      yield range(`s${i + 1}`, `score ${i + 1}`, steps(-6, 6, 0.1), score, (x) => number(x, 1));
    }
  }

  view(state) {
    const scores = Object.values(state);
    const before = softmax(this.data.scores);
    const weights = softmax(scores);
    const sum = (xs) => xs.reduce((a, b) => a + b, 0);
    const change = (x) => (x < 0 ? "" : "+") + number(x);
    const rows = scores.map((score, i) => [String(i + 1), bar(score, "score", 1, 6, true), bar(weights[i], "weight"), change(weights[i] - before[i])]);
    rows.push(["sum", number(sum(scores), 1), number(sum(weights)), change(sum(weights) - sum(before))]);
    const best = weights.indexOf(Math.max(...weights));
    return {
      head: ["candidate", "raw use", "softmax", "moved by"],
      rows,
      words: `Raw coefficients sum to ${number(sum(scores), 1)}, weights to ${number(sum(weights))}. ` +
        `Candidate ${best + 1} gets ${number(weights[best])} of the reading; what it has more, the others have less.`,
    };
  }
}

/* A sentence, a real head, a requester: scores, scaled scores, weights, read. */
class RoutingExplorer extends LiveFigure {
  heading = "Choose a sentence, a head and a requester";

  *controls(state) {
    yield select("sentence", "sentence", Object.keys(this.data.sentences));
    yield select("head", "head", Object.keys(this.data.heads));
    const tokens = this.data.sentences[state.sentence].tokens;
    yield select("requester", "requester", tokens.map((token, i) => `${i} ${token}`), `1 ${tokens[1]}`);
  }

  adjust(name) {
    if (name !== "sentence") return false;
    const tokens = this.data.sentences[this.state.sentence].tokens;
    this.state.requester = `1 ${tokens[1]}`;
    return true;
  }

  view({ sentence, head, requester }) {
    const { tokens, reads } = this.data.sentences[sentence];
    const i = parseInt(requester, 10);
    const { scores, weights, lengths, outputs } = reads[head];
    const scaled = scores[i].map((score) => score / Math.sqrt(this.data.d_k));
    const top = Math.max(...scores[i].map(Math.abs));
    const long = Math.max(...lengths);
    const rows = tokens.map((token, j) => [
      `${j} ${token}`, bar(scores[i][j], "score", 1, top, true), number(scaled[j]),
      bar(weights[i][j], "weight"), number(lengths[j], 1), bar(weights[i][j] * lengths[j], "output", 2, long),
    ]);
    const order = tokens.map((_, j) => j).sort((a, b) => weights[i][b] - weights[i][a]).slice(0, 3);
    const most = order.map((j) => `“${tokens[j]}” (${number(weights[i][j])})`).join(", ");
    return {
      head: ["candidate", "score", "scaled", "weight", "length", "weight × length"],
      rows,
      words: `${head}, ${this.data.heads[head]}: “${tokens[i]}” reads most from ${most}. The read has length ${number(outputs[i], 1)}.`,
    };
  }
}

/* Width and temperature against entropy, top weight and slope. */
class WidthTemperature extends LiveFigure {
  heading = "Choose a width and a temperature";

  *controls() {
    const { widths, temperatures } = this.data;
    yield range("width", "width d_k", widths, 64);
    yield range("temperature", "temperature", temperatures, 8, (t) => (t < 1 ? number(t) : String(t)));
  }

  view({ width, temperature }) {
    const { widths, temperatures, entropy, top, slope, largest } = this.data;
    const t = temperatures.indexOf(temperature);
    const rows = widths.map((d, i) => [
      d === width ? `▸ ${d}` : String(d), bar(entropy[i][t], "score", 2, largest), bar(top[i][t], "weight", 3), bar(slope[i][t], "key", 3, 0.5),
    ]);
    const i = widths.indexOf(width);
    const root = Math.sqrt(width);
    const place = temperature < root ? "below" : temperature > root ? "above" : "at";
    return {
      head: ["width", "entropy", "top weight", "size of the Jacobian"],
      rows,
      words: `Width ${width}: the root is ${root}, and temperature ${temperature} is ${place} it. Entropy ${number(entropy[i][t])} of ${number(largest)}, ` +
        `top weight ${number(top[i][t], 3)}, size of the Jacobian ${number(slope[i][t], 3)}.`,
    };
  }
}

/* One series of measured numbers a row, read off at one place. */
class Measured extends LiveFigure {
  *controls() {
    const { at, start } = this.data;
    yield range("at", this.data.name, at, start ?? at[0]);
  }

  view({ at }) {
    const { name, series, role, digits, top, unit } = this.data;
    const place = this.data.at.indexOf(at);
    const entries = Object.entries(series);
    return {
      head: ["", unit],
      rows: entries.map(([row, values]) => [row, bar(values[place], role, digits, top)]),
      words: `${name} ${at}: ` + entries.map(([row, values]) => `${row} ${number(values[place], digits)}`).join(", ") + ".",
    };
  }
}

class TiedSeparate extends Measured {
  heading = "Choose a width";
}

class HowFar extends Measured {
  heading = "Choose a distance";
}

/* What one requester may read, and how its budget is shared then. */
class MaskBench extends LiveFigure {
  heading = "Allow and forbid";

  *controls(state) {
    const { tokens } = this.data;
    yield select("requester", "requester", tokens.map((token, i) => `${i} ${token}`), `3 ${tokens[3]}`);
    yield select("rule", "start from", ["everybody", "causal", "nobody"]);
    yield checks("may", "may be read", tokens.map((token, j) => `${j} ${token}`), this.allowed(state));
  }

  allowed({ requester, rule }) {
    const may = { everybody: () => true, causal: (j) => j <= parseInt(requester, 10), nobody: () => false }[rule];
    return this.data.tokens.map((_, j) => +may(j)).join("");
  }

  adjust(name) {
    if (name !== "may") this.state.may = this.allowed(this.state);
    return name !== "may";
  }

  view({ requester, may }) {
    const { tokens, scaled } = this.data;
    const i = parseInt(requester, 10);
    const left = tokens.map((_, j) => j).filter((j) => may[j] === "1");
    const shares = softmax(left.map((j) => scaled[i][j]));
    const free = softmax(scaled[i]);
    const weight = (j) => (left.includes(j) ? shares[left.indexOf(j)] : 0);
    const rows = tokens.map((token, j) => [
      `${j} ${token}`, may[j] === "1" ? number(scaled[i][j]) : "−∞", bar(free[j], "state", 3), left.length ? bar(weight(j), "weight", 3) : { text: "none", share: 0, role: "weight" },
    ]);
    const best = left.sort((a, b) => weight(b) - weight(a))[0];
    return {
      head: ["candidate", "scaled score", "without mask", "with mask"],
      rows,
      words: left.length
        ? `“${tokens[i]}” may read ${left.length} of ${tokens.length}: most from “${tokens[best]}”, ${number(weight(best), 3)}. The weights sum to ${number(shares.reduce((a, b) => a + b), 2)}.`
        : `“${tokens[i]}” may read nobody: there is nothing to share out, and somebody has to decide what it gets.`,
    };
  }
}

const FIGURES = {
  "softmax-bench": SoftmaxBench,
  "routing-explorer": RoutingExplorer,
  "width-temperature": WidthTemperature,
  "tied-separate": TiedSeparate,
  "how-far": HowFar,
  "mask-bench": MaskBench,
};
for (const [name, figure] of Object.entries(FIGURES)) customElements.define(name, figure);
