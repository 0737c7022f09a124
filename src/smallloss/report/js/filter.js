// Which rows are wanted, and in which order. What is wanted stands in the address, so that a link shows the same.

export const FIRST = { reason: "likely wrong", given: "", looks: "", decided: "", search: "", sort: "label score", down: "" };
export const ANY = "any";
const TITLES = { reason: "reason", given: "given", looks: "looks like" };

// Beside the reasons: what is odd whatever the label, by a column that only those on the list have a value in.
export const LISTS = {
  darkest: { column: "light", said: (value) => `light ${value} %` },
  "most blurred": { column: "sharpness", said: (value) => `sharpness ${value}` },
  "unlike all others": { column: "far", down: true, said: (value) => `${value} away` },
  "oddest size": { column: "off size", down: true, said: (value, table, row) => table.shown("size", row) },
  alike: { column: "alike", said: (value) => `group ${value}` },
};

// The list that is wanted, if it is one of those and the page has it.
export function listOf(table, wanted) {
  const list = Object.hasOwn(LISTS, wanted.reason) ? LISTS[wanted.reason] : null;
  return list && table.has(list.column) ? list : null;
}

// "#given=cat&looks=dog" -> what is wanted; what is not said, or means nothing here, is as at first.
export function fromAddress(hash) {
  const said = new URLSearchParams(hash.replace(/^#/, "")), wanted = { ...FIRST };
  for (const name of Object.keys(FIRST)) if (said.has(name)) wanted[name] = said.get(name);
  return wanted;
}

export function toAddress(wanted) {
  const other = Object.entries(wanted).filter(([name, value]) => value !== FIRST[name]);
  return "#" + new URLSearchParams(other.length ? other : [["reason", wanted.reason]]);
}

// decided: what was said of a row, "" where nothing was. inside: a set of rows that all must be of, if any.
export function matching(table, wanted, decided, inside = null) {
  const list = listOf(table, wanted);
  const codes = Object.entries(TITLES).filter(([name]) => name !== "reason" || !list).map(([name, title]) => [title, wanted[name], table.names(title).indexOf(wanted[name])])
    .filter(([, name]) => name && name !== ANY);
  const found = searching(table, wanted.search.trim().toLowerCase());
  const ranked = list && wanted.sort === FIRST.sort;
  const by = ranked ? list.column : table.has(wanted.sort) ? wanted.sort : FIRST.sort;
  const order = table.sorted(by, Boolean(wanted.down) !== Boolean(ranked && list.down));
  const columns = codes.map(([title, , code]) => [table.byTitle.get(title).values, code]);
  return order.filter((row) => {
    if (list && table.value(list.column, row) === null) return false;
    for (const [values, code] of columns) if (values[row] !== code) return false;
    if (inside && !inside.has(row)) return false;
    if (wanted.decided && !isDecided(decided(row), wanted.decided)) return false;
    return found(row);
  });
}

function isDecided(said, wanted) {
  return wanted === "open" ? !said : wanted === "answered" ? Boolean(said) : said === wanted;
}

// Of names only those that hold what is searched for are looked up row by row.
function searching(table, text) {
  if (!text) return () => true;
  const names = ["given", "looks like", "true label"].filter((title) => table.has(title)).map((title) => {
    const hits = new Set(table.names(title).flatMap((name, code) => (name.toLowerCase().includes(text) ? [code] : [])));
    return (row) => hits.has(table.byTitle.get(title).values[row]);
  });
  const texts = ["id", "text"].filter((title) => table.has(title)).map((title) => {
    const column = table.byTitle.get(title);
    column.lower ??= column.values.map((value) => value.toLowerCase());
    return (row) => column.lower[row].includes(text);
  });
  return (row) => texts.some((holds) => holds(row)) || names.some((holds) => holds(row));
}

// [given, looks like, how many] of some rows, the most first: what can be decided at once.
export function groups(table, rows) {
  const counts = new Map(), [given, looks] = ["given", "looks like"].map((title) => table.byTitle.get(title));
  for (const row of rows) {
    const [a, b] = [given.values[row], looks.values[row]];
    if (a >= 0 && b >= 0 && a !== b) counts.set(a * looks.names.length + b, (counts.get(a * looks.names.length + b) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .map(([key, count]) => [given.names[Math.floor(key / looks.names.length)], looks.names[key % looks.names.length], count]);
}
