import assert from "node:assert/strict";
import { test } from "node:test";
import { Selection } from "./selection.js";

function made() {
  const selection = new Selection(10);
  selection.list(Uint32Array.from({ length: 25 }, (_, k) => 100 - k), true);
  return selection;
}

test("pages turn, and end where the list does", () => {
  const selection = made();
  assert.deepEqual([selection.pages, selection.onPage[0], selection.row], [3, 100, 100]);
  selection.turn(1);
  assert.deepEqual([selection.page, selection.row], [1, 90]);
  selection.turn(Infinity);
  assert.deepEqual(selection.onPage, [80, 79, 78, 77, 76]);
  selection.go(-3);
  assert.equal(selection.row, 100);
});

test("all but three of them, over all pages", () => {
  const selection = made();
  selection.all();
  for (const row of [100, 90, 76]) selection.toggle(row);
  assert.equal(selection.meant.length, 22);
  selection.list(Uint32Array.of(99, 90, 5), false);
  assert.deepEqual(selection.meant, [99]);
  selection.none();
  selection.go(1);
  assert.deepEqual(selection.meant, [90]);
});

test("from one to another, either way", () => {
  const selection = made();
  selection.toggle(95);
  selection.upTo(98);
  assert.deepEqual([...selection.chosen].sort(), [95, 96, 97, 98]);
});

test("of an empty list nothing is meant", () => {
  const selection = made();
  selection.list(new Uint32Array(), true);
  assert.deepEqual([selection.meant, selection.pages, selection.onPage], [[], 1, []]);
});
