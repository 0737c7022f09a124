// The list of examples on the page: drawn page by page, gone through with the arrows, selected by click or key.

import { at, count, make } from "./make.js";

export class Grid {
  // list: the element. cards, selection: what is shown, and where one is. changed: called when the place or what is selected did.
  constructor({ list, cards, selection, changed }) {
    Object.assign(this, { list, cards, selection, changed, drawn: [] });
    list.addEventListener("click", (event) => this.click(event));
    const pager = list.parentElement.querySelector(".pager");
    this.turns = [["first", -Infinity], ["previous", -1], ["next", 1], ["last", Infinity]].map(([word, by]) => {
      const button = make("button", { type: "button" }, word);
      button.addEventListener("click", () => { selection.turn(by); this.draw(); changed(); });
      pager.append(button);
      return [button, by];
    });
  }

  draw() {
    this.drawn = this.selection.onPage;
    this.list.replaceChildren(...this.drawn.map((row) => this.cards.card(row)));
    const { page, pages } = this.selection;
    for (const [button, by] of this.turns) button.setAttribute("aria-disabled", by < 0 ? page === 0 : page === pages - 1);
    this.list.parentElement.querySelector(".pager").hidden = pages === 1;
    this.mark();
  }

  // The rows again, where only what was decided of them changed.
  redraw(rows) {
    for (const row of rows) {
      const old = at(`row-${row}`);
      if (old) old.replaceWith(this.cards.card(row));
    }
    this.mark();
  }

  mark() {
    const { chosen, row: here } = this.selection;
    for (const row of this.drawn) {
      const card = at(`row-${row}`);
      card.setAttribute("aria-selected", chosen.has(row));
      card.tabIndex = row === here ? 0 : -1;
      card.classList.toggle("here", row === here);
    }
  }

  // To a place in the list, whatever page it is on.
  go(place, focus = true) {
    const page = this.selection.page;
    this.selection.go(place);
    if (this.selection.page !== page) this.draw();
    else this.mark();
    if (focus) at(`row-${this.selection.row}`)?.focus();
    this.changed();
  }

  click(event) {
    const card = event.target.closest(".card");
    if (!card) return;
    const row = Number(card.id.slice(4));
    this.selection.go(this.selection.rows.indexOf(row));
    if (event.shiftKey) this.selection.upTo(row);
    else this.selection.toggle(row);
    this.mark();
    card.focus({ preventScroll: true });
    this.changed();
  }

  // How many stand side by side: how far an arrow up or down goes.
  get across() {
    const tops = [...this.list.children].map((card) => card.offsetTop);
    const next = tops.findIndex((top) => top > tops[0]);
    return next < 0 ? Math.max(tops.length, 1) : next;
  }

  // Whether the key means something here.
  press(key) {
    const { at: place, perPage } = this.selection;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.across, ArrowDown: this.across, PageUp: -perPage, PageDown: perPage }[key];
    if (by !== undefined) this.go(place + by);
    else if (key === "Home") this.go(0);
    else if (key === "End") this.go(Infinity);
    else return false;
    return true;
  }

  get said() {
    const { rows, page, pages, chosen } = this.selection;
    const where = pages > 1 ? `, page ${count(page + 1)} of ${count(pages)}` : "";
    return `${count(rows.length)} ${rows.length === 1 ? "example" : "examples"}${where}${chosen.size ? `; ${count(chosen.size)} selected` : ""}`;
  }
}
