import assert from "node:assert/strict";
import { test } from "node:test";
import { hue, inside } from "./plane.js";

test("what lies in a loop, its bays left out", () => {
  const bay = [[0, 0], [10, 0], [10, 10], [5, 1], [0, 10]];
  assert.deepEqual(inside(bay, [[1, 1], [5, 5], [9, 8], [11, 1], [5, 0.5]]), [0, 2, 4]);
  assert.deepEqual(inside([], [[1, 1]]), []);
  assert.deepEqual(inside([[0, 0], [1, 1]], [[0.5, 0.5]]), []);
});

test("a thousand classes have colours, and the first twelve are different", () => {
  assert.equal(new Set(Array.from({ length: 12 }, (_, k) => hue(k))).size, 12);
  assert.match(hue(999), /^hsl\(\d+ 65% 42%\)$/);
});
