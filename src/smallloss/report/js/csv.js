// Tables as text: every cell in quotes when written, and read as any spreadsheet program writes them.

// Rows of texts, the first of them the names of the columns.
export function written(rows) {
  return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

// An object for each row, by the names of the columns.
export function records(csv) {
  const [columns, ...rows] = cellsOf(csv);
  return rows.map((row) => Object.fromEntries(columns.map((column, k) => [column, row[k]])));
}

// A text that no spreadsheet runs as a formula, as the program writes it.
export function defused(text) {
  return /^'*[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? `'${text}` : text;
}

function quoted(cell) {
  return `"${cell.replaceAll('"', '""')}"`;
}

function cellsOf(csv) {
  const rows = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g;
  for (const [, inQuotes, plain, end] of csv.replace(/^\ufeff/, "").matchAll(cell)) {
    rows.at(-1).push(inQuotes?.replaceAll('""', '"') ?? plain);
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length > 1);
}
