// Type-ahead over the names of classes. There is no default: a class is taken where the text says which one is meant,
// or where the person went to it with the arrow keys. The label that an example has is never offered.

export class Names {
  constructor(names) {
    this.names = names;
    this.folded = names.map(folded);
  }

  // The classes whose names begin with the text, then those that have it in them.
  matching(typed, given) {
    const text = folded(typed), others = this.which((k) => k !== given);
    const begin = others.filter((k) => this.folded[k].startsWith(text));
    return [...begin, ...others.filter((k) => !begin.includes(k) && this.folded[k].includes(text))];
  }

  // The one class that a text means: the one that is called so, else the only one that it is found in. null: unclear.
  meant(typed, given) {
    const text = folded(typed);
    if (!text) return null;
    const called = this.which((k) => this.names[k].trim() === typed.trim());
    const alike = this.which((k) => this.folded[k] === text);
    const found = [called, alike, this.matching(typed, given)].find((list) => list.length);
    return found?.length === 1 && found[0] !== given ? found[0] : null;
  }

  which(holds) {
    return [...this.names.keys()].filter(holds);
  }
}

// A text field with a list below it, after the combobox pattern of ARIA.
export class TypeAhead {
  // field, list, status: elements. take: called with the position of a class; leave: called where none is to be taken.
  constructor({ field, list, status, names, take, leave }) {
    Object.assign(this, { field, list, status, names: new Names(names), take, leave });
    field.addEventListener("input", () => this.type());
    field.addEventListener("keydown", (event) => this.press(event));
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.take(Number(option.dataset.class));
    });
  }

  open(given) {
    this.given = given;
    this.field.value = "";
    this.type();
    this.field.focus();
  }

  type() {
    this.found = this.names.matching(this.field.value, this.given);
    this.list.replaceChildren(...this.found.map((k) => this.option(k)));
    this.highlight(null);
  }

  option(k) {
    const option = document.createElement("li");
    option.id = `${this.list.id}-${k}`;
    option.setAttribute("role", "option");
    option.dir = "auto";
    option.dataset.class = k;
    option.textContent = this.names.names[k];
    return option;
  }

  highlight(position) {
    this.highlighted = position;
    this.found.forEach((k, i) => this.list.children[i].setAttribute("aria-selected", i === position));
    const option = position === null ? null : this.list.children[position];
    this.field.setAttribute("aria-activedescendant", option?.id ?? "");
    option?.scrollIntoView({ block: "nearest" });
    this.status.textContent = this.said();
  }

  press(event) {
    if (event.isComposing) return;
    const { key } = event, last = this.found.length - 1, now = this.highlighted;
    if (key === "ArrowDown") this.highlight(last < 0 ? null : now === null || now === last ? 0 : now + 1);
    else if (key === "ArrowUp") this.highlight(last < 0 ? null : now === null || now === 0 ? last : now - 1);
    else if (key === "Enter") this.enter();
    else if (key === "Escape") this.leave();
    else if (!(event.repeat && !this.field.value)) return; // the key that opened it, held down, is no text
    event.preventDefault();
  }

  enter() {
    const one = this.entered();
    if (one !== null) this.take(one);
  }

  // What Enter takes.
  entered() {
    return this.highlighted === null ? this.names.meant(this.field.value, this.given) : this.found[this.highlighted];
  }

  said() {
    const one = this.entered(), { names } = this.names;
    if (one !== null) return `Enter takes “\u2068${names[one]}\u2069”.`;
    const text = folded(this.field.value);
    if (!text) return "Type its name, or choose with ↑ and ↓.";
    if (text === folded(names[this.given] ?? "")) return "That is the label it has.";
    if (!this.found.length) return "No class is called that.";
    return `${this.found.length.toLocaleString("en")} are found: type on, or choose with ↑ and ↓.`;
  }
}

// Without case, without accents, and with one space wherever there are some: a field has no line breaks.
export function folded(text) {
  return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/\s+/g, " ").trim();
}
