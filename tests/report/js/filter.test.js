import assert from "node:assert/strict";
import { test } from "node:test";
import { ANY, FIRST, fromAddress, groups, listOf, matching, toAddress } from "./filter.js";
import { Table } from "./table.js";

const NAMES = ["cat & co", "dög", "=emu"];
const table = new Table([
  { title: "id", kind: "text", values: ["one", "two", "Three", "four"] },
  { title: "given", kind: "name", names: NAMES, values: [0, 0, 1, 0] },
  { title: "looks like", kind: "name", names: NAMES, values: [1, 1, 0, -1] },
  { title: "reason", kind: "name", names: ["kept", "likely wrong"], values: [1, 1, 1, 0] },
  { title: "label score", kind: "number", digits: 3, values: [300, 100, 200, 900] },
]);
const said = new Map([[1, "right"], [2, "wrong"]]);
const wanted = (change, inside) => [...matching(table, { ...FIRST, ...change }, (row) => said.get(row) ?? "", inside)];

test("at first, what is likely wrong, the most suspicious first", () => {
  assert.deepEqual(wanted({}), [1, 2, 0]);
  assert.deepEqual(wanted({ down: "1" }), [0, 2, 1]);
  assert.deepEqual(wanted({ reason: ANY, sort: "id" }), [3, 0, 2, 1]);
});

test("filters narrow it together", () => {
  assert.deepEqual(wanted({ given: "cat & co", looks: "dög" }), [1, 0]);
  assert.deepEqual(wanted({ decided: "open" }), [0]);
  assert.deepEqual(wanted({ decided: "answered" }), [1, 2]);
  assert.deepEqual(wanted({ decided: "wrong" }), [2]);
  assert.deepEqual(wanted({ search: " THREE" }), [2]);
  assert.deepEqual(wanted({ reason: ANY, search: "dög" }), [1, 2, 0]);
  assert.deepEqual(wanted({ reason: ANY }, new Set([3, 0])), [0, 3]);
  assert.deepEqual(wanted({ given: "a class that nobody has" }), []);
});

test("an address says what is wanted, whatever stands in the names", () => {
  const all = { ...FIRST, given: "cat & co", looks: "=emu#", search: "a b%&=", decided: "open", down: "1" };
  assert.deepEqual(fromAddress(toAddress(all)), all);
  assert.deepEqual(fromAddress(toAddress(FIRST)), FIRST);
  assert.match(toAddress(FIRST), /^#reason=/);
  assert.deepEqual(fromAddress("#classes"), FIRST);
  assert.deepEqual(fromAddress("#__proto__=1&given=x"), { ...FIRST, given: "x" });
});

test("a list of what is odd has its own order, the most extreme first, unless another is asked for", () => {
  const off = { title: "off size", kind: "number", digits: 1, values: [null, 20, 35, 12] };
  const odd = new Table([...table.columns, off]), nobody = () => "";
  assert.deepEqual([...matching(odd, { ...FIRST, reason: "oddest size" }, nobody)], [2, 1, 3]);
  assert.deepEqual([...matching(odd, { ...FIRST, reason: "oddest size", down: "1" }, nobody)], [3, 1, 2]);
  assert.deepEqual([...matching(odd, { ...FIRST, reason: "oddest size", given: "cat & co", sort: "label score" }, nobody)], [1, 3]);
  assert.deepEqual([...matching(odd, { ...FIRST, reason: "oddest size", sort: "id" }, nobody)], [3, 2, 1]);
  for (const reason of ["darkest", "constructor", "__proto__"]) assert.equal(listOf(odd, { ...FIRST, reason }), null);
});

test("groups of a label and what it looks like, the largest first; those that look like it are none", () => {
  assert.deepEqual(groups(table, [0, 1, 2, 3]), [["cat & co", "dög", 2], ["dög", "cat & co", 1]]);
});
