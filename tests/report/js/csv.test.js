import assert from "node:assert/strict";
import { test } from "node:test";
import { defused, records, written } from "./csv.js";

test("what is written is what is read, whatever stands in the cells", () => {
  const rows = [["id", "text"], ["1", 'a "b", c\nd'], ["", " "]];
  assert.deepEqual(records("\ufeff" + written(rows)), [{ id: "1", text: 'a "b", c\nd' }, { id: "", text: " " }]);
});

test("formulas are defused, and numbers are not", () => {
  for (const text of ["=1+1", "'=a", "@x", "-a", "+", "\tx"]) assert.equal(defused(text), `'${text}`);
  for (const text of ["-1.5e3", "+2", "a=b", "", "'a"]) assert.equal(defused(text), text);
});
