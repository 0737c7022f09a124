// The map: neighbours lie together, whatever they are labelled. What a loop is drawn around is listed.

import { apart, at, count, make } from "./make.js";

const SIDE = 1023, MARGIN = 6, NAMED = 12;

// The places [x, y] that lie inside of a polygon of such, by their numbers.
export function inside(polygon, places) {
  const found = [];
  places.forEach(([x, y], place) => {
    let odd = false;
    for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
      const [a, b] = [polygon[i], polygon[j]];
      if (a[1] > y !== b[1] > y && x < ((b[0] - a[0]) * (y - a[1])) / (b[1] - a[1]) + a[0]) odd = !odd;
    }
    if (odd) found.push(place);
  });
  return found;
}

// As many hues as there are classes, neighbours in the list far from each other.
export function hue(k) {
  return `hsl(${Math.round(k * 137.5) % 360} 65% ${k % 2 ? 42 : 55}%)`;
}

export class Plane {
  // map: x and y of the rows of the table. taken: called with the set of rows of the table inside a loop.
  constructor(map, table, taken) {
    Object.assign(this, { table, taken, loop: null });
    const indices = table.byTitle.get("row").values;
    this.rows = [...indices.keys()].filter((row) => indices[row] !== null);
    this.places = this.rows.map((row) => [map.x[row], map.y[row]]);
    this.points = at("map-points");
    this.line = at("map-line");
    at("map-colour").addEventListener("change", () => this.draw());
    at("map").addEventListener("toggle", () => { if (at("map").open) this.draw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.line.addEventListener("pointerdown", (event) => this.begin(event));
    this.line.addEventListener("pointermove", (event) => this.go(event));
    for (const end of ["pointerup", "pointercancel"]) this.line.addEventListener(end, () => this.end());
  }

  // --- points ---------------------------------------------------------------------------------------------

  draw() {
    const side = this.points.clientWidth * devicePixelRatio, context = this.points.getContext("2d");
    if (!side) return;
    for (const canvas of [this.points, this.line]) Object.assign(canvas, { width: side, height: side });
    this.scale = (side - 2 * MARGIN) / SIDE;
    const size = Math.max(1.5, Math.min(5, 180 / Math.sqrt(this.rows.length))) * devicePixelRatio, groups = this.coloured();
    for (const [colour, members] of groups) {
      context.fillStyle = colour;
      for (const k of members) {
        const [x, y] = this.places[k];
        context.fillRect(MARGIN + x * this.scale - size / 2, MARGIN + y * this.scale - size / 2, size, size);
      }
    }
  }

  // [colour, numbers of points], what is to lie on top last.
  coloured() {
    const by = at("map-colour").value, style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim(), groups = new Map();
    const put = (key, k) => { if (groups.has(key)) groups.get(key).push(k); else groups.set(key, [k]); };
    if (by === "reason") {
      const { values, names, marks } = this.table.byTitle.get("reason"), order = ["kept", "aside", "", "wrong"];
      this.rows.forEach((row, k) => put(marks[values[row]], k));
      this.tell(names.map((name, code) => [name, colour(marks[code] || "grey")]).filter((_, code) => values.includes(code)));
      return order.filter((mark) => groups.has(mark)).map((mark) => [colour(mark || "grey"), groups.get(mark)]);
    }
    const { values, names } = this.table.byTitle.get(by);
    this.rows.forEach((row, k) => put(values[row], k));
    this.tell([...groups.keys()].filter((code) => code >= 0).sort((a, b) => a - b).map((code) => [names[code], hue(code)]));
    return [...groups].map(([code, members]) => [code < 0 ? colour("grey") : hue(code), members]);
  }

  tell(named) {
    const more = named.length > NAMED ? [make("li", {}, `and ${count(named.length - NAMED)} more`)] : [];
    at("map-legend").replaceChildren(...named.slice(0, NAMED).map(([name, colour]) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.background = colour;
      return make("li", {}, swatch, apart(name));
    }), ...more);
  }

  // --- the loop -------------------------------------------------------------------------------------------

  place(event) {
    const box = this.line.getBoundingClientRect(), factor = this.line.width / box.width;
    return [(event.clientX - box.left) * factor, (event.clientY - box.top) * factor];
  }

  begin(event) {
    this.line.setPointerCapture(event.pointerId);
    this.loop = [this.place(event)];
  }

  go(event) {
    if (!this.loop) return;
    this.loop.push(this.place(event));
    this.trace();
  }

  trace() {
    const context = this.line.getContext("2d");
    context.clearRect(0, 0, this.line.width, this.line.height);
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    context.lineWidth = 2 * devicePixelRatio;
    context.beginPath();
    for (const [x, y] of this.loop ?? []) context.lineTo(x, y);
    context.closePath();
    context.stroke();
  }

  end() {
    const loop = (this.loop ?? []).map((place) => place.map((one) => (one - MARGIN) / this.scale));
    const found = inside(loop, this.places).map((k) => this.rows[k]);
    this.loop = loop.length > 2 && found.length ? this.loop : null;
    this.trace();
    this.loop = null;
    this.taken(found.length ? new Set(found) : null);
  }

  clear() {
    this.loop = null;
    this.trace();
  }
}
