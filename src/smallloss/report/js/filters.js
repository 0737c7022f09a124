// The fields that say which rows are wanted, the buttons for groups of them, and the address, which says the same.

import { ANY, FIRST, LISTS, fromAddress, groups, matching, toAddress } from "./filter.js";
import { at, count, make } from "./make.js";

const GROUPS = 12;
const SORTS = ["label score", "mean loss", "probability", "id", "given", "looks like"];

export class Filters {
  // changed: called when other rows are wanted.
  constructor({ table, decisions, changed }) {
    Object.assign(this, { table, decisions, changed, inside: null });
    this.fields = [...document.querySelectorAll("[data-filter]")];
    for (const [name, choices] of Object.entries(this.choices)) {
      at(`filter-${name}`).append(...choices.map(([value, words]) => make("option", { value }, words)));
    }
    const lists = Object.keys(LISTS).filter((name) => table.has(LISTS[name].column));
    if (lists.length) at("filter-reason").append(make("optgroup", { label: "whatever the label" }, ...lists.map((name) => make("option", { value: name }, name))));
    for (const field of this.fields) {
      field.addEventListener(field.type === "search" ? "input" : "change", () => this.want({ [field.dataset.filter]: field.type === "checkbox" ? (field.checked ? "1" : "") : field.value }));
    }
    addEventListener("hashchange", () => this.read(false));
  }

  get choices() {
    const { table } = this, offered = (title) => [...new Set(table.byTitle.get(title).values)].filter((code) => code >= 0)
      .sort((a, b) => a - b).map((code) => table.names(title)[code]);
    const named = (title) => [["", "any"], ...offered(title).map((name) => [name, name])];
    return {
      reason: [...new Set([FIRST.reason, ...offered("reason")])].map((name) => [name, name]).concat([[ANY, "any"]]),
      given: named("given"),
      looks: named("looks like"),
      sort: SORTS.filter((title) => table.has(title)).map((title) => [title, title]),
    };
  }

  // From the address; one that is a place on this page, and not a filter, changes nothing.
  read(first) {
    const hash = location.hash;
    if (!first && !hash.includes("=")) return;
    this.wanted = fromAddress(hash.includes("=") ? hash : "");
    this.changed();
    if (hash.includes("=")) at("work").scrollIntoView();
  }

  want(change, inside = this.inside) {
    this.inside = inside;
    this.wanted = { ...this.wanted, ...change };
    history.replaceState(null, "", toAddress(this.wanted));
    this.changed();
  }

  rows(wanted = this.wanted) {
    return matching(this.table, wanted, (row) => this.decisions.word(row), this.inside);
  }

  show() {
    for (const field of this.fields) {
      const value = this.wanted[field.dataset.filter];
      if (field.type === "checkbox") field.checked = Boolean(value);
      else if (field.value !== value) field.value = value;
    }
    this.offer();
  }

  // The groups that can be decided at once, of what is called likely wrong or whatever reason is chosen.
  offer() {
    const wanted = { ...this.wanted, given: "", looks: "", search: "" };
    const key = `${toAddress(wanted)} ${this.decisions.past.length} ${this.inside?.size}`;
    if (key !== this.offered) {
      this.offered = key;
      const found = groups(this.table, this.rows(wanted));
      const more = found.length > GROUPS ? [make("span", { class: "small" }, `and ${count(found.length - GROUPS)} more pairs`)] : [];
      at("groups").replaceChildren(...found.slice(0, GROUPS).map((group) => this.group(group)), ...more);
    }
    for (const button of at("groups").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.dataset.given === this.wanted.given && button.dataset.looks === this.wanted.looks);
    }
  }

  group([given, looks, many]) {
    const button = make("button", { type: "button", "data-given": given, "data-looks": looks },
      make("bdi", {}, given), " → ", make("bdi", {}, looks), " ", make("b", {}, count(many)));
    button.addEventListener("click", () => {
      const again = button.getAttribute("aria-pressed") === "true";
      this.want({ given: again ? "" : given, looks: again ? "" : looks });
    });
    return button;
  }
}
