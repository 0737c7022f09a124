// The examples of the page: columns of equal length, by their titles. A row is a place in them.

const COUNT = new Intl.NumberFormat("en"), COLLATOR = new Intl.Collator("en", { numeric: true });

export class Table {
  constructor(columns) {
    this.columns = columns;
    this.size = columns[0].values.length;
    this.byTitle = new Map(columns.map((column) => [column.title, column]));
    this.orders = new Map();
  }

  has(title) {
    return this.byTitle.has(title);
  }

  // A text, a number or the code of a name; null where there is none.
  value(title, row) {
    const column = this.byTitle.get(title), value = column?.values[row] ?? null;
    return column?.kind === "name" && value < 0 ? null : value;
  }

  shown(title, row) {
    const column = this.byTitle.get(title), value = this.value(title, row);
    if (value === null) return "";
    if (column.kind === "text") return value;
    if (column.kind === "name") return column.names[value];
    return column.digits ? (value / 10 ** column.digits).toFixed(column.digits) : COUNT.format(value);
  }

  names(title) {
    return this.byTitle.get(title)?.names ?? [];
  }

  // All rows by a column, what has no value last both ways; equal ones as they came.
  sorted(title, downward) {
    const key = `${title} ${downward}`;
    if (!this.orders.has(key)) this.orders.set(key, this.order(this.byTitle.get(title), downward ? -1 : 1));
    return this.orders.get(key);
  }

  order({ kind, values, names }, sign) {
    const order = Uint32Array.from({ length: this.size }, (_, row) => row);
    if (kind !== "number") {
      const rank = ranks(kind === "name" ? names : values);
      const place = kind === "name" ? (row) => rank[values[row]] ?? Infinity : (row) => rank[row];
      return order.sort((a, b) => sign * (place(a) - place(b)) || a - b);
    }
    return order.sort((a, b) => {
      const [x, y] = [values[a], values[b]];
      return (x === null) - (y === null) || sign * (x - y) || a - b;
    });
  }
}

// Of each text its place in the alphabet, the same for equal ones.
function ranks(texts) {
  const found = new Array(texts.length);
  let last = 0;
  [...texts.keys()].sort((a, b) => COLLATOR.compare(texts[a], texts[b])).forEach((at, place, order) => {
    if (place === 0 || texts[at] !== texts[order[place - 1]]) last = place;
    found[at] = last;
  });
  return found;
}
