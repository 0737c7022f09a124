import assert from "node:assert/strict";
import { test } from "node:test";
import { Decisions } from "./decisions.js";
import { Table } from "./table.js";

const NAMES = ["cat", "=dog", "emu"];
const table = new Table([
  { title: "id", kind: "text", values: ["a", "b, \\n", "c", "d", "lost"] },
  { title: "spelled", kind: "text", values: ["a", "b, \n", "c", "'=d", "lost"] },
  { title: "given", kind: "name", names: NAMES, values: [0, 1, 2, 0, 0] },
  { title: "looks like", kind: "name", names: NAMES, values: [1, 1, -1, 2, -1] },
  { title: "row", kind: "number", digits: 0, values: [10, 0, 7, 3, null] },
]);
const FACTS = {
  run: "r", stratum: "suspicious", classes: NAMES, cells: ["cat", "'=dog", "emu"],
  fields: ["id", "index", "given_label", "predicted_label", "stratum", "answer", "true_label", "run"],
};

function browser() {
  const items = new Map();
  return () => ({ getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) });
}

const made = (storage = browser(), facts = FACTS) => new Decisions(table, facts, storage);

test("many are decided at once, and undone at once", () => {
  const decisions = made();
  assert.equal(decisions.decide([0, 1, 2, 3], decisions.as("suggested")), 3);
  assert.deepEqual([0, 1, 2, 3].map((row) => decisions.of(row)), [
    { answer: "wrong", true: 1 }, { answer: "right" }, undefined, { answer: "wrong", true: 2 },
  ]);
  decisions.decide([3], decisions.as("none"));
  assert.deepEqual(decisions.undo(), [3]);
  assert.deepEqual(decisions.of(3), { answer: "wrong", true: 2 });
  assert.deepEqual(decisions.undo(), [0, 1, 3]);
  assert.equal(decisions.count, 0);
  assert.deepEqual(decisions.undo(), []);
});

test("a class named for several is right where it is the label, and what has no row is not decided", () => {
  const decisions = made();
  assert.equal(decisions.decide([0, 1, 4], decisions.named(0)), 2);
  assert.deepEqual([decisions.of(0), decisions.of(1)], [{ answer: "right" }, { answer: "wrong", true: 0 }]);
});

test("decisions are there again at the next visit, of this run alone; without a memory that is said", () => {
  const storage = browser(), decisions = made(storage);
  decisions.decide([1, 2], decisions.as("unsure"));
  assert.deepEqual([1, 2].map((row) => made(storage).word(row)), ["unsure", "unsure"]);
  assert.equal(made(storage, { ...FACTS, run: "other" }).count, 0);
  const lost = made(() => { throw new Error("no storage"); });
  lost.decide([1], lost.as("right"));
  assert.equal(lost.lost, true);
  assert.equal(lost.count, 1);
});

test("the file has a line for each decision, in the order of the data, as the audit spells it", () => {
  const decisions = made();
  decisions.decide([0, 1, 3], decisions.as("suggested"));
  decisions.decide([2], decisions.as("none"));
  assert.deepEqual(decisions.csv.split('"r"\n').slice(0, 4), [
    '"id","index","given_label","predicted_label","stratum","answer","true_label","run"\n"b, \n","0","\'=dog","\'=dog","suspicious","right","",',
    '"\'=d","3","cat","emu","suspicious","wrong","emu",',
    '"c","7","emu","","suspicious","none","",',
    '"a","10","cat","\'=dog","suspicious","wrong","\'=dog",',
  ]);
  const again = made();
  again.decide([2], again.as("right"));
  assert.equal(again.read(decisions.csv), 3);
  assert.deepEqual([0, 1, 2, 3].map((row) => again.word(row)), ["wrong", "right", "right", "wrong"]);
  again.undo();
  assert.equal(again.count, 1);
});

test("what is of another run or kind, or says nothing, is not read", () => {
  const decisions = made();
  decisions.decide([0], decisions.as("suggested"));
  const { csv } = decisions;
  for (const [from, to] of [['"r"\n', '"s"\n'], ["suspicious", "random"], ['"wrong"', '"maybe"'], ['"10"', '"11"']]) {
    assert.equal(made().read(csv.replace(from, to)), 0, to);
  }
  for (const text of ["", "\n", "no table", '"', "a,b\n1,2\n"]) assert.equal(made().read(text), 0, text);
});
