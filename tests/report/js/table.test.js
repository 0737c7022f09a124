import assert from "node:assert/strict";
import { test } from "node:test";
import { Table } from "./table.js";

const table = new Table([
  { title: "id", kind: "text", values: ["b 10", "a", "b 9", "a"] },
  { title: "given", kind: "name", names: ["dog", "cat"], values: [0, 1, -1, 1] },
  { title: "score", kind: "number", digits: 3, values: [1500, null, -250, 0] },
  { title: "rank", kind: "number", digits: 0, values: [1234, null, 2, 3] },
]);

test("what is shown of a value, and nothing where there is none", () => {
  assert.deepEqual([0, 1, 2].map((row) => table.shown("score", row)), ["1.500", "", "-0.250"]);
  assert.deepEqual([0, 1].map((row) => table.shown("rank", row)), ["1,234", ""]);
  assert.deepEqual([0, 2].map((row) => table.shown("given", row)), ["dog", ""]);
  assert.equal(table.value("given", 2), null);
  assert.equal(table.has("text"), false);
});

test("numbers in texts count as numbers, and what has no value is last both ways", () => {
  assert.deepEqual([...table.sorted("id", false)], [1, 3, 2, 0]);
  assert.deepEqual([...table.sorted("id", true)], [0, 2, 1, 3]);
  assert.deepEqual([...table.sorted("score", false)], [2, 3, 0, 1]);
  assert.deepEqual([...table.sorted("score", true)], [0, 3, 2, 1]);
  assert.deepEqual([...table.sorted("given", false)].slice(0, 3), [1, 3, 0]);
});
