// The work: what looks wrong is filtered, looked at, decided, many at once, and saved to a file.

import { Cards } from "./cards.js";
import { defused, written } from "./csv.js";
import { Decisions } from "./decisions.js";
import { ANY, FIRST, listOf } from "./filter.js";
import { Filters } from "./filters.js";
import { TypeAhead } from "./find.js";
import { Grid } from "./grid.js";
import { at, count, download } from "./make.js";
import { Panel } from "./panel.js";
import { Plane } from "./plane.js";
import { Selection } from "./selection.js";
import { Server } from "./server.js";
import { Table } from "./table.js";

const PER_PAGE = { sheets: 100, texts: 25, cells: 25, "": 50 };
const KEYS = { r: "right", s: "suggested", n: "none", u: "unsure" };
const SAID = { right: "The label is kept", suggested: "The suggestion is taken", none: "None of the classes", unsure: "Unsure" };

async function unpacked() {
  const bytes = Uint8Array.from(atob(at("bench-data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

class Workbench {
  constructor(bench) {
    this.bench = bench;
    this.table = new Table(bench.columns);
    this.decisions = new Decisions(this.table, bench, () => localStorage);
    this.server = bench.served ? new Server("decisions", (text) => this.say(text)) : null;
    this.cards = new Cards(bench, this.table, this.decisions, this.server);
    this.selection = new Selection(PER_PAGE[this.cards.kind]);
    this.panel = new Panel(at("evidence"), bench, this.table, this.cards);
    this.grid = new Grid({ list: at("cards"), cards: this.cards, selection: this.selection, changed: () => this.look() });
    this.search = new TypeAhead({
      field: at("class-field"), list: at("class-list"), status: at("class-found"), names: bench.classes,
      take: (position) => this.choose(position), leave: () => this.chooseNothing(),
    });
    at("map").hidden = !bench.map;
    if (bench.map) this.plane = new Plane(bench.map, this.table, (rows) => this.take(rows));
    this.filters = new Filters({ table: this.table, decisions: this.decisions, changed: () => this.list(true) });
    this.buttons();
    this.filters.read(true);
    this.server?.saved().then((csv) => this.served(csv));
  }

  // --- what is listed -------------------------------------------------------------------------------------

  reset() {
    this.plane?.clear();
    this.filters.want(FIRST, null);
  }

  // What a loop on the map holds, kept ones too; null: no loop.
  take(rows) {
    this.filters.want(rows ? { ...FIRST, reason: ANY, decided: this.filters.wanted.decided } : {}, rows);
    this.say(rows ? `The loop holds ${count(rows.size)}.` : "No loop.");
  }

  list(fromStart) {
    this.cards.list = listOf(this.table, this.filters.wanted);
    this.selection.list(this.filters.rows(), fromStart);
    this.grid.draw();
    this.filters.show();
    this.look();
  }

  // --- what is said of it ---------------------------------------------------------------------------------

  look() {
    const { selection } = this, many = selection.chosen.size;
    at("bench-count").textContent = this.grid.said;
    at("meant").textContent = many ? `${count(many)} selected:` : selection.rows.length ? "This one:" : "";
    at("select-all").textContent = `select all ${count(selection.rows.length)}`;
    at("evidence").hidden = !selection.rows.length;
    if (selection.rows.length) this.panel.show(selection.row);
    at("answered").textContent = `${count(this.decisions.count)} decided`;
    at("lost").hidden = !this.decisions.lost;
  }

  say(text) {
    at("bench-said").textContent = text;
  }

  // --- decisions ------------------------------------------------------------------------------------------

  decide(what, words) {
    const { selection } = this, rows = selection.meant, one = !selection.chosen.size;
    const done = this.decisions.decide(rows, what);
    const left = rows.length - done;
    this.say(`${words} (${count(done)} decided${left ? `, ${count(left)} could not be decided so` : ""}).`);
    selection.none();
    this.decided(rows);
    const stays = selection.rows[selection.at] === rows[0];
    if (one && done && stays) this.grid.go(selection.at + 1);
  }

  decided(rows) {
    if (this.filters.wanted.decided) this.list(false);
    else {
      this.grid.redraw(rows);
      this.look();
    }
    at(`row-${this.selection.row}`)?.focus({ preventScroll: true });
  }

  undo() {
    const rows = this.decisions.undo();
    this.say(rows.length ? `Undone: ${count(rows.length)}.` : "Nothing to undo.");
    this.decided(rows);
  }

  other() {
    const { meant } = this.selection;
    if (!meant.length) return;
    const labels = new Set(meant.map((row) => this.table.value("given", row)));
    at("choice").hidden = false;
    this.search.open(labels.size === 1 ? [...labels][0] : null);
  }

  choose(position) {
    this.chooseNothing();
    this.decide(this.decisions.named(position), `It is “\u2068${this.bench.classes[position]}\u2069”`);
  }

  chooseNothing() {
    at("choice").hidden = true;
    at(`row-${this.selection.row}`)?.focus({ preventScroll: true });
  }

  // What the run folder has, and what only this browser kept; from now on the folder has all.
  served(csv) {
    this.decisions.read(csv);
    this.decisions.kept = () => this.server.save(this.decisions.csv);
    if (this.decisions.count && this.decisions.csv !== csv) this.decisions.kept();
    this.list(false);
  }

  // --- files ----------------------------------------------------------------------------------------------

  saveDecisions() {
    download(this.decisions.csv, this.bench.file);
    at("saved").hidden = false;
    this.say(`Saved ${count(this.decisions.count)} as ${this.bench.file}.`);
  }

  async load() {
    const [file] = at("load-file").files;
    const found = file ? this.decisions.read(await file.text()) : 0;
    at("load-file").value = "";
    this.list(false);
    this.say(`Decisions read from the file: ${count(found)}.`);
  }

  saveList() {
    const titles = this.table.columns.map((column) => column.title).filter((title) => title !== "spelled");
    const lines = [...this.selection.rows].map((row) => [...titles.map((title) => defused(this.table.shown(title, row))), this.decisions.word(row)]);
    download(written([[...titles, "decision"], ...lines]), "list.csv");
  }

  async copy() {
    const ids = [...this.selection.rows].map((row) => this.table.shown("id", row));
    try {
      await navigator.clipboard.writeText(ids.join("\n"));
      this.say(`Copied ${count(ids.length)} ids.`);
    } catch {
      this.say("This browser lets the page copy nothing: save the list instead.");
    }
  }

  // --- buttons and keys -----------------------------------------------------------------------------------

  buttons() {
    const clicks = {
      "decide-right": () => this.key("r"), "decide-suggested": () => this.key("s"), "decide-none": () => this.key("n"),
      "decide-unsure": () => this.key("u"), "decide-other": () => this.other(), undo: () => this.undo(),
      "select-all": () => this.key("a"), "select-none": () => this.key("Escape"), cancel: () => this.chooseNothing(),
      "save-decisions": () => this.saveDecisions(), load: () => at("load-file").click(), "save-list": () => this.saveList(),
      copy: () => this.copy(), "show-evidence": () => this.key("e"), reset: () => this.reset(),
    };
    for (const [id, click] of Object.entries(clicks)) at(id).addEventListener("click", click);
    at("load-file").addEventListener("change", () => this.load());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const { target } = event, inList = target.closest("#cards"), key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.altKey || event.metaKey || event.ctrlKey || target.closest("input, select, textarea, #choice")) return;
    if (event.repeat && !key.startsWith("Arrow") && !key.startsWith("Page")) return;
    if (key === "/") at("filter-search").focus();
    else if (!inList && (key.startsWith("Arrow") || key.startsWith("Page") || [" ", "Home", "End", "Enter"].includes(key))) return;
    else if (!(inList && this.grid.press(key)) && !this.key(key)) return;
    event.preventDefault();
  }

  // Whether the key means something.
  key(key) {
    const { selection } = this;
    if (KEYS[key]) this.decide(this.decisions.as(KEYS[key]), SAID[KEYS[key]]);
    else if (key === "w") this.other();
    else if (key === "z") this.undo();
    else if (key === "a") { selection.all(); this.marked(); }
    else if (key === "Escape") { selection.none(); this.marked(); }
    else if ((key === "x" || key === " ") && selection.rows.length) { selection.toggle(selection.row); this.marked(); }
    else if (key === "e" || key === "Enter") at("work").classList.toggle("open");
    else return false;
    return true;
  }

  marked() {
    this.grid.mark();
    this.look();
  }
}

if ("DecompressionStream" in window) { // else the sentence that says so stays
  unpacked().then((bench) => {
    at("bench").hidden = false;
    at("bench-absent").hidden = true;
    new Workbench(bench);
  });
}
