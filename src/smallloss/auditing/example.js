// What a person judges an example by: its picture, its text or its row, long ones cut until all of it is asked for.

import { make } from "./make.js";

const CHARACTERS = 800, CELL = 200, COLUMNS = 12;
const SMALL = 24; // pixels: a picture with shorter sides is drawn with sharp ones

export class Example {
  // The elements: a picture, a box with a text and a table in it, and the button that shows all of it, with its label.
  constructor({ picture, box, text, table, more, label }) {
    Object.assign(this, { picture, box, text, table, more, label });
    picture.addEventListener("load", () => {
      picture.classList.toggle("small-picture", Math.max(picture.naturalWidth, picture.naturalHeight) < SMALL);
    });
    more.addEventListener("click", () => this.draw(this.question, !this.whole));
  }

  show(question) {
    if (question === this.question) return;
    this.draw(question, false);
    this.box.scrollTop = 0;
  }

  draw(question, whole) {
    Object.assign(this, { question, whole });
    const { picture, text, prose, row } = question;
    this.picture.hidden = !picture;
    if (picture) this.picture.src = picture;
    else this.picture.removeAttribute("src");
    this.text.hidden = !text;
    this.text.classList.toggle("prose", prose);
    this.text.textContent = this.cut(text, CHARACTERS);
    this.table.hidden = !row.length;
    this.table.replaceChildren(...(whole ? row : row.slice(0, COLUMNS)).map((pair) => this.line(pair)));
    this.box.hidden = !text && !row.length;
    const longest = Math.max(0, ...row.map(([, cell]) => cell.length));
    this.more.hidden = text.length <= CHARACTERS && row.length <= COLUMNS && longest <= CELL;
    this.more.setAttribute("aria-expanded", whole);
    const all = text ? `${text.length.toLocaleString("en")} characters` : `${row.length.toLocaleString("en")} columns`;
    this.label.textContent = whole ? "show less" : `show all ${all}`;
  }

  line([name, cell]) {
    return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, this.cut(cell, CELL)));
  }

  cut(text, length) {
    return this.whole || text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, "") + " …";
  }
}
