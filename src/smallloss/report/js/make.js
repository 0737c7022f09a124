// Elements. Whatever comes from the data is only ever set as text, never as HTML.

export function make(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

// A name that cannot turn the words around it, whichever way it is written.
export function apart(text) {
  return make("bdi", {}, text);
}

export function at(id) {
  return document.getElementById(id);
}

export function count(n) {
  return n.toLocaleString("en");
}

// A table as a file of the person's.
export function download(text, name) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
