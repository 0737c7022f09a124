"use strict";
// The table of all examples. Whatever comes from the data is only ever set as text, never as HTML.
(async () => {
  if (!("DecompressionStream" in window)) { return; } // the sentence that says so stays
  const PAGE = 25;
  const at = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) { made.setAttribute(name, value); }
    made.append(...inside);
    return made;
  };

  const bytes = Uint8Array.from(atob(at("examples-data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { columns, rows } = JSON.parse(await new Response(stream).text());
  const table = document.querySelector("table.examples");
  const count = new Intl.NumberFormat("en");
  const collator = new Intl.Collator("en", { numeric: true });

  const shown = (column, row) => {
    const value = column.values[row];
    if (column.kind === "name") { return value < 0 ? "" : column.names[value]; }
    if (column.kind === "text" || value === null) { return value ?? ""; }
    return column.digits ? (value / 10 ** column.digits).toFixed(column.digits) : count.format(value);
  };

  // What a column is sorted by: a number for each row, NaN where there is nothing. Texts get their place in the alphabet.
  const keys = (column) => {
    if (!column.keys && column.kind === "text") {
      const order = [...column.values.keys()].sort((a, b) => collator.compare(column.values[a], column.values[b]));
      column.keys = new Float64Array(rows);
      order.forEach((row, place) => {
        const same = place > 0 && column.values[row] === column.values[order[place - 1]];
        column.keys[row] = same ? column.keys[order[place - 1]] : place;
      });
    }
    column.keys ??= Float64Array.from(column.values, (value) => (value === null || value < 0 ? NaN : value));
    return column.keys;
  };

  let order = Uint32Array.from({ length: rows }, (_, row) => row);
  let matching = order;
  let page = 0;
  const searched = [];
  const chosen = new Map();

  const sort = (column, downward) => {
    const key = keys(column);
    const sign = downward ? -1 : 1;
    order.sort((a, b) => {
      const x = key[a];
      const y = key[b];
      if (x === y) { return a - b; }
      if (x !== x || y !== y) { return (x !== x) - (y !== y) || a - b; } // NaN is last both ways
      return sign * (x - y);
    });
    for (const each of columns) {
      each.header.setAttribute("aria-sort", each !== column ? "none" : downward ? "descending" : "ascending");
    }
    filter();
  };

  const filter = () => {
    const wanted = at("examples-search").value.trim().toLowerCase();
    const texts = columns.filter((column) => column.searchable);
    // Of names only those that hold what is searched for are looked up row by row.
    const hits = texts.map((column) => column.names && column.names.map((name) => name.toLowerCase().includes(wanted)));
    const matches = (row) => {
      for (const [column, code] of chosen) { if (column.values[row] !== code) { return false; } }
      if (!wanted) { return true; }
      return texts.some((column, k) => (hits[k] ? hits[k][column.values[row]] : lower(column, row).includes(wanted)));
    };
    matching = order.filter(matches);
    page = 0;
    draw();
  };
  const lower = (column, row) => {
    column.lower ??= [];
    return (column.lower[row] ??= column.values[row].toLowerCase());
  };

  const cell = (column, row) => {
    const text = shown(column, row);
    const inside = make("bdi", {}, text);
    const header = column === columns[0];
    const made = make(header ? "th" : "td", { role: header ? "rowheader" : "cell", class: column.looks });
    if (header) { made.scope = "row"; }
    made.dataset.title = column.title;
    const mark = column.marks && column.marks[column.values[row]];
    if (mark) { made.append(make("span", { class: "swatch " + mark })); }
    made.append(inside);
    return made;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(matching.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const from = page * PAGE;
    const part = Array.from(matching.subarray(from, from + PAGE));
    table.tBodies[0].replaceChildren(
      ...part.map((row) => make("tr", { role: "row" }, ...columns.map((column) => cell(column, row)))),
    );
    const which = part.length ? `, rows ${count.format(from + 1)} to ${count.format(from + part.length)}` : "";
    const all = matching.length === rows ? "" : ` of ${count.format(rows)}`;
    at("examples-count").textContent = `${count.format(matching.length)}${all} examples${which}`;
    for (const [button, to] of buttons) {
      button.setAttribute("aria-disabled", String(to(pages) === page));
    }
  };

  // aria-disabled, not disabled: a button that is pressed to the end keeps the focus.
  const buttons = [
    ["first", () => 0],
    ["previous", () => Math.max(page - 1, 0)],
    ["next", (pages) => Math.min(page + 1, pages - 1)],
    ["last", (pages) => pages - 1],
  ].map(([word, to]) => {
    const button = make("button", { type: "button" }, word);
    button.addEventListener("click", () => {
      page = to(Math.max(1, Math.ceil(matching.length / PAGE)));
      draw();
    });
    document.querySelector(".pager").append(button);
    return [button, to];
  });

  for (const column of columns) {
    column.searchable = column.kind === "text" || ["label", "predicted", "true label"].includes(column.title);
    const button = make("button", { type: "button" }, column.title);
    column.header = make("th", { role: "columnheader", scope: "col", "aria-sort": "none", class: column.kind }, button);
    column.looks = column.kind + (!column.marks && column.names?.some((name) => name.length > 14) ? " long" : "");
    button.addEventListener("click", () => sort(column, column.header.getAttribute("aria-sort") === "ascending"));
    table.tHead.rows[0].append(column.header);
    if (column.kind !== "name") { continue; }
    const occurs = new Set(column.values);
    const select = make("select", {}, make("option", { value: "" }, "any"));
    column.names.forEach((name, code) => {
      if (occurs.has(code)) { select.append(make("option", { value: String(code) }, name)); }
    });
    select.addEventListener("change", () => {
      if (select.value === "") { chosen.delete(column); } else { chosen.set(column, Number(select.value)); }
      filter();
    });
    document.querySelector("#examples .controls").append(make("label", {}, column.title, select));
  }
  let waiting = 0;
  at("examples-search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });

  sort(columns.find((column) => column.title === "label score"), false);
  at("examples-absent").hidden = true;
  at("examples").hidden = false;
})();
