import assert from "node:assert/strict";
import { test } from "node:test";
import { Names } from "./find.js";

const ANIMALS = ["cat", "caterpillar", "bobcat", "Ångström", "ÉLAN", "new\nline"];
const names = new Names(ANIMALS);
const matching = (typed, given) => names.matching(typed, ANIMALS.indexOf(given)).map((k) => ANIMALS[k]);
const meant = (typed, given) => ANIMALS[names.meant(typed, ANIMALS.indexOf(given))] ?? null;

test("names that begin with the text come before those that have it inside, and the label given never comes", () => {
  assert.deepEqual(matching("cat", "ÉLAN"), ["cat", "caterpillar", "bobcat"]);
  assert.deepEqual(matching("cat", "cat"), ["caterpillar", "bobcat"]);
  assert.equal(matching("", "cat").length, ANIMALS.length - 1);
});

test("neither case nor accents nor the kind of space matters", () => {
  assert.deepEqual(matching("ANGSTROM", "cat"), ["Ångström"]);
  assert.deepEqual(matching("él", "cat"), ["ÉLAN"]);
  assert.equal(meant("new line", "cat"), "new\nline");
});

test("a text means the class that is called so, or the only one it is found in", () => {
  assert.equal(meant("cat", "ÉLAN"), "cat");
  assert.equal(meant("cate", "ÉLAN"), "caterpillar");
  assert.equal(meant("bob", "ÉLAN"), "bobcat");
});

test("there is no default", () => {
  for (const typed of ["", "  ", "ca", "at", "dog"]) assert.equal(meant(typed, "ÉLAN"), null, typed);
  assert.equal(new Names(["yes", "no"]).meant("", 0), null);
});

test("the name of the label given means no other class that has it inside", () => {
  assert.equal(new Names(["cat", "bobcat"]).meant("cat", 0), null);
  assert.equal(new Names(["cat", "bobcat"]).meant("CAT", 0), null);
  assert.equal(new Names(["cat", "bobcat"]).meant("bob", 0), 1);
});

test("of two names that differ by case or accents only, the one written is meant, or none", () => {
  const alike = new Names(["a", "A", "á", "b"]);
  assert.equal(alike.meant("A", 3), 1);
  assert.equal(alike.meant("a", 3), 0);
  assert.equal(alike.meant("à", 3), null);
  assert.equal(alike.meant("a", 0), null);
});

test("one of a thousand is found by its number", () => {
  const many = new Names(Array.from({ length: 1000 }, (_, k) => `class ${k}`));
  assert.equal(many.meant("class 7", 0), 7);
  assert.equal(many.matching("7", 7).length, 270);
  assert.equal(many.meant("999", 0), 999);
});
