// One example on the page: its picture, its text with the words that speak for the other class, or its cells; what it is
// labelled and what it looks like, in words that need no legend; what was decided.

import { Sheets } from "./sheets.js";
import { apart, make } from "./make.js";

const SAID = { right: "label kept", none: "none of the classes", unsure: "unsure" };

export class Cards {
  // bench: what the page was given. table: its examples. decisions: what a person said of them. server: where there is one.
  constructor(bench, table, decisions, server) {
    this.list = null; // what all that are listed have in common, beside a reason, and is said of each
    Object.assign(this, { bench, table, decisions, server, shown: bench.shown, sheets: new Sheets(bench.shown) });
    this.places = new Map((bench.shown.rows ?? []).map((row, place) => [row, place]));
  }

  // pictures, texts or cells; "" where there is nothing to show but names.
  get kind() {
    return ["sheets", "texts", "cells"].find((kind) => this.shown[kind]) ?? (this.table.has("text") ? "texts" : "");
  }

  card(row) {
    const { table } = this, id = table.shown("id", row), [score, kind] = [table.shown("label score", row), this.kind];
    const decided = this.decided(row), facts = make("p", { class: "small facts" }, apart(kind === "sheets" ? id.split("/").at(-1) : id));
    if (this.list) facts.prepend(`${this.list.said(table.shown(this.list.column, row), table, row)} · `);
    else if (score && kind !== "sheets") facts.append(` · label score ${score} · ${table.shown("reason", row)}`);
    return make("li", { role: "option", class: `card of-${kind}`, id: `row-${row}`, "aria-selected": "false", tabindex: "-1" },
      ...this.example(row), make("p", { class: "caption" }, ...this.caption(row)), ...decided, facts);
  }

  // What a person judges it by.
  example(row, whole = false) {
    const index = this.table.value("row", row), place = this.places.get(index);
    const words = `${this.table.shown("id", row)}, labelled ${this.table.shown("given", row)}`;
    if (this.kind === "sheets") return this.picture(index, words, whole);
    if (this.kind === "cells") return place === undefined ? [] : [this.cells(this.shown.cells[place])];
    const text = this.shown.texts?.[place] ?? (this.table.has("text") ? this.table.shown("text", row) : "");
    return text ? [make("p", { class: whole ? "text whole" : "text", dir: "auto" }, ...this.marked(text, this.shown.words?.[place] ?? []))] : [];
  }

  // From its sheet; what is on none, and what is to be seen large, from the server, where there is one.
  picture(index, words, whole) {
    if (this.server && index !== null && (whole || !this.sheets.has(index))) {
      return [make("img", { src: this.server.picture(index), alt: words, loading: "lazy" })];
    }
    return this.sheets.has(index) ? [this.sheets.drawn(index, words)] : [];
  }

  marked(text, words) {
    const wanted = new Set(words);
    return text.split(/([\p{L}\p{N}_]+)/u).map((part) => (wanted.has(part.toLowerCase()) ? make("mark", {}, part) : part));
  }

  cells(cells) {
    return make("dl", { class: "cells" }, ...cells.map(([column, cell, odd]) => make("div", { class: odd ? "odd" : "" },
      make("dt", {}, apart(this.shown.names[column])), make("dd", {}, apart(cell), odd && odd !== "!" ? ` ${odd}` : ""))));
  }

  // cat → looks like dog (97 %)
  caption(row) {
    const { table } = this, given = apart(table.shown("given", row)), looks = table.shown("looks like", row);
    if (!looks) return [given];
    const sure = table.has("probability") ? table.value("probability", row) : null;
    const percent = sure === null ? "" : ` (${Math.round(sure / 10)}\u00a0%)`;
    const same = table.value("given", row) === table.value("looks like", row);
    return same ? [given, make("span", { class: "quiet" }, " looks like it" + percent)] :
      [given, make("span", { class: "quiet" }, " → looks like "), apart(looks), percent];
  }

  decided(row) {
    const one = this.decisions.of(row), by_hand = this.table.has("by hand") ? this.table.shown("by hand", row) : "";
    if (!one && !by_hand) return [];
    const said = !one ? ["by hand before: ", apart(by_hand)] : one.answer === "wrong" ? ["it is ", apart(this.bench.classes[one.true])] : [SAID[one.answer]];
    return [make("p", { class: `decided ${one?.answer ?? "before"}` }, ...said)];
  }

  // Another example beside one, small: of its cells those that are odd of that one. labelled: its label is said.
  beside(row, one, labelled) {
    const label = labelled ? [make("figcaption", { class: "small" }, apart(this.table.shown("given", row)))] : [];
    const place = this.places.get(this.table.value("row", one));
    const same = this.kind === "cells" && this.shown.beside[place]?.[this.table.value("row", row)];
    const shown = same ? [this.cells(same.map((cell, k) => [this.shown.cells[place][k][0], cell, ""]))] : this.example(row);
    return make("figure", { class: `of-${this.kind}` }, ...(shown.length ? shown : [make("p", { class: "small" }, apart(this.table.shown("id", row)))]), ...label);
  }
}
