// Where a person is in a list of rows, page by page, and what they have selected of it.

export class Selection {
  constructor(perPage) {
    Object.assign(this, { perPage, rows: new Uint32Array(), at: 0, chosen: new Set(), from: 0 });
  }

  // Another list: what was selected stays selected if it is still there, and so does the place.
  list(rows, fromStart) {
    this.rows = rows;
    const there = new Set(rows);
    this.chosen = new Set([...this.chosen].filter((row) => there.has(row)));
    this.go(fromStart ? 0 : this.at);
  }

  get row() {
    return this.rows[this.at];
  }

  get page() {
    return Math.floor(this.at / this.perPage);
  }

  get pages() {
    return Math.max(1, Math.ceil(this.rows.length / this.perPage));
  }

  get onPage() {
    return Array.from(this.rows.subarray(this.page * this.perPage, (this.page + 1) * this.perPage));
  }

  // What a decision is for: what is selected, else the row one is at.
  get meant() {
    return this.chosen.size ? [...this.chosen] : this.rows.length ? [this.row] : [];
  }

  go(place) {
    this.at = Math.max(0, Math.min(place, this.rows.length - 1));
  }

  turn(pages) {
    this.go(Math.max(0, Math.min(this.page + pages, this.pages - 1)) * this.perPage);
  }

  toggle(row) {
    if (!this.chosen.delete(row)) this.chosen.add(row);
    this.from = this.rows.indexOf(row);
  }

  // All from the last one that was toggled to this one.
  upTo(row) {
    const to = this.rows.indexOf(row), [first, last] = [Math.min(this.from, to), Math.max(this.from, to)];
    for (const one of this.rows.subarray(Math.max(first, 0), last + 1)) this.chosen.add(one);
  }

  all() {
    this.chosen = new Set(this.rows);
  }

  none() {
    this.chosen.clear();
  }
}
