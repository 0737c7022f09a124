// The evidence beside a suspicion: what it is held against, and how far it lies from either class.

import { apart, make } from "./make.js";

export class Panel {
  // box: the element it stands in. cards: how examples are shown.
  constructor(box, bench, table, cards) {
    Object.assign(this, { box, bench, table, cards });
    this.places = new Map(bench.evidence.rows.map((row, place) => [row, place]));
    this.rows = new Map(table.byTitle.get("row").values.map((index, row) => [index, row]));
  }

  show(row) {
    const { table, cards } = this, place = this.places.get(table.value("row", row));
    const title = make("h3", {}, ...cards.caption(row));
    const facts = [`Label score ${table.shown("label score", row)}`, table.shown("reason", row), table.shown("split", row)];
    const id = make("p", { class: "small" }, apart(table.shown("id", row)), ` · ${facts.filter((one) => one).join(" · ")}`);
    const parts = place === undefined ? [] : [...this.numbers(row, place), ...this.nearest(row, place), ...this.twins(row, place)];
    const truth = table.has("true label") ? [make("p", { class: "small" }, "True label: ", apart(table.shown("true label", row)))] : [];
    this.box.replaceChildren(...cards.example(row, true), title, ...cards.decided(row), id, ...truth, ...parts);
    this.box.scrollTop = 0;
  }

  numbers(row, place) {
    const { percentile, given_probability, seen_probability } = this.bench.evidence, lines = [];
    const [given, looks] = ["given", "looks like"].map((title) => apart(this.table.shown(title, row)));
    const higher = `Its score is more suspicious than ${percentile[place]} % of those labelled `;
    lines.push(make("p", {}, higher, given.cloneNode(true), "."));
    if (given_probability && given_probability[place] !== null) {
      const said = [`Another network, which never saw its label, gives it ${given_probability[place]} % for `, given];
      if (seen_probability[place] !== null && !this.same(row)) said.push(`, ${seen_probability[place]} % for `, looks);
      lines.push(make("p", {}, ...said, "."));
    }
    return lines;
  }

  same(row) {
    return this.table.value("given", row) === this.table.value("looks like", row);
  }

  // The nearest kept examples of both classes, the nearer class said.
  nearest(row, place) {
    const { given, seen, given_far, seen_far } = this.bench.evidence;
    if (!given) return [];
    const same = this.same(row);
    const both = [["given", given[place], given_far[place]], ...(same ? [] : [["looks like", seen[place], seen_far[place]]])];
    const groups = both.map(([title, rows, far]) => make("div", { class: "nearest" },
      make("h4", {}, "The nearest kept ", apart(this.table.shown(title, row)), far === null ? "" : `, ${(far / 1000).toFixed(2)} away`),
      this.row(rows, row, false)));
    const [a, b] = [given_far[place], seen_far[place]];
    const nearer = same || a === null || b === null || a === b ? [] : [make("p", {}, "Nearer to ", apart(this.table.shown(a < b ? "given" : "looks like", row)), ".")];
    return [...nearer, ...groups];
  }

  twins(row, place) {
    const rows = this.bench.evidence.twins?.[place] ?? [];
    return rows.length ? [make("div", { class: "nearest" }, make("h4", {}, "The same, or nearly, under another label"), this.row(rows, row, true))] : [];
  }

  row(indices, one, labelled) {
    const rows = indices.map((index) => this.rows.get(index)).filter((row) => row !== undefined);
    return make("div", { class: "beside" }, ...rows.map((row) => this.cards.beside(row, one, labelled)));
  }
}
