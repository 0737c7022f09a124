// What a person decided on suspicious rows: many at once, undone one step at a time, kept by the browser, and written to
// the file that `smallloss audit RUN --answers` takes.
// A decision is { answer: "right", "none" or "unsure" } or { answer: "wrong", true: position of the class }.

import { records, written } from "./csv.js";

const PLAIN = ["right", "none", "unsure"];

export class Decisions {
  // table: a Table. facts: run, stratum, fields, classes, cells (as a file spells the classes).
  // storage: gives the browser's localStorage, or throws where there is none.
  constructor(table, facts, storage) {
    Object.assign(this, { table, facts, storage, past: [] });
    this.name = `smallloss-audit-${facts.run}-${facts.stratum}`;
    this.rows = new Map(table.byTitle.get("row").values.flatMap((index, row) => (index === null ? [] : [[String(index), row]])));
    this.given = new Map();
    try {
      const kept = Object.entries(JSON.parse(storage().getItem(this.name)) ?? {});
      for (const [index, one] of kept) if (this.rows.has(index)) this.given.set(this.rows.get(index), one);
    } catch { /* nothing was kept */ }
  }

  of(row) {
    return this.given.get(row);
  }

  get count() {
    return this.given.size;
  }

  // right, wrong, none, unsure; "" where nothing was said.
  word(row) {
    return this.of(row)?.answer ?? "";
  }

  // what: a function from row to a decision, or null to leave it as it is. How many were decided, as one step to undo.
  decide(rows, what) {
    const said = [...rows].filter((row) => this.table.value("row", row) !== null).map((row) => [row, what(row)]).filter(([, one]) => one);
    if (!said.length) return 0;
    this.past.push(said.map(([row]) => [row, this.of(row)]));
    for (const [row, one] of said) this.given.set(row, one);
    this.keep();
    return said.length;
  }

  // The rows that are as they were before. `kept`, where it was given, is called after each change.
  undo() {
    const step = this.past.pop() ?? [];
    for (const [row, one] of step) if (one) this.given.set(row, one); else this.given.delete(row);
    this.keep();
    return step.map(([row]) => row);
  }

  keep() {
    const byIndex = [...this.given].map(([row, one]) => [this.table.value("row", row), one]);
    try { this.storage().setItem(this.name, JSON.stringify(Object.fromEntries(byIndex))); this.lost = false; } catch { this.lost = true; }
    this.kept?.();
  }

  // What each key says of a row.
  as(word) {
    if (PLAIN.includes(word)) return () => ({ answer: word });
    return (row) => {
      const looks = this.table.value("looks like", row);
      return looks === null ? null : this.named(looks)(row);
    };
  }

  // A class: where it is the label, that is right.
  named(position) {
    return (row) => (position === this.table.value("given", row) ? { answer: "right" } : { answer: "wrong", true: position });
  }

  get csv() {
    const { fields, cells, stratum, run } = this.facts, spelled = this.table.has("spelled") ? "spelled" : "id";
    const cell = (position) => (position === null || position === undefined ? "" : cells[position]);
    const lines = [...this.given].map(([row, one]) => [this.table.value("row", row), {
      id: this.table.value(spelled, row), index: String(this.table.value("row", row)), given_label: cell(this.table.value("given", row)),
      predicted_label: cell(this.table.value("looks like", row)), stratum, answer: one.answer, true_label: cell(one.true), run,
    }]);
    return written([fields, ...lines.sort((a, b) => a[0] - b[0]).map(([, line]) => fields.map((field) => line[field]))]);
  }

  // How many that were open have a decision from a saved file; nothing decided here is overwritten.
  read(csv) {
    const { run, stratum } = this.facts, found = new Map();
    for (const one of records(csv)) {
      const row = this.rows.get(one.index), said = this.understood(one, row);
      if (one.run === run && one.stratum === stratum && said && !this.of(row)) found.set(row, said);
    }
    return this.decide(found.keys(), (row) => found.get(row));
  }

  understood({ answer, true_label }, row) {
    if (row === undefined) return null;
    if (PLAIN.includes(answer)) return { answer };
    const position = this.facts.cells.indexOf(true_label);
    return answer === "wrong" && position >= 0 && position !== this.table.value("given", row) ? { answer, true: position } : null;
  }
}
