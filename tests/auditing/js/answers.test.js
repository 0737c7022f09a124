import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "./answers.js";

const COLUMNS = ["id", "index", "given_label", "predicted_label", "stratum", "answer", "true_label", "run"];
const CLASSES = ["cat", "=dog", 'a "bird",\nor two'];
const CELLS = ["cat", "'=dog", 'a "bird",\nor two'];

function question(index, stratum = "random") {
  const cells = [`id, ${index}`, String(index), CELLS[index % 3], "", stratum];
  return { index, given: index % 3, again: stratum === "again", cells };
}

function asked(kind, questions, run = "r") {
  return { run, kind, columns: COLUMNS, classes: CLASSES, cells: CELLS, questions };
}

const TWICE = [question(0, "again"), question(3, "again")];
const RANDOM = asked("random", [question(0), question(1), question(2), question(3), ...TWICE]);

function browser() {
  const items = new Map();
  return () => ({ getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) });
}

function filled() {
  const answers = new Answers(RANDOM, browser());
  const given = ["right", "none", "unsure", { answer: "wrong", true: 2 }, "right", { answer: "wrong", true: 1 }];
  given.forEach((one, k) => answers.record(RANDOM.questions[k], one.answer ? one : { answer: one }));
  return answers;
}

test("answers are there again at the next visit, and kinds of questions never mix", () => {
  const storage = browser();
  assert.equal(new Answers(RANDOM, storage).record(RANDOM.questions[1], { answer: "wrong", true: 0 }), true);
  assert.deepEqual(new Answers(RANDOM, storage).of(RANDOM.questions[1]), { answer: "wrong", true: 0 });
  for (const [kind, run] of [["suspicious", "r"], ["held out", "r"], ["random", "another"]]) {
    assert.equal(new Answers(asked(kind, [question(1, kind)], run), storage).count, 0);
  }
});

test("where the browser keeps nothing, that is said, and answers count until the page is closed", () => {
  const answers = new Answers(RANDOM, () => { throw new Error("no storage"); });
  assert.equal(answers.record(RANDOM.questions[0], { answer: "right" }), false);
  assert.equal(answers.count, 1);
});

test("what was said of rows: of one asked twice, the first answer", () => {
  assert.deepEqual([...filled().said], [[0, true], [1, false], [2, null], [3, false]]);
});

test("two answers are alike if they name the same class, and count once there are both", () => {
  assert.deepEqual(filled().twice, { asked: 2, alike: 1 });
  const answers = new Answers(RANDOM, browser());
  answers.record(RANDOM.questions[4], { answer: "right" });
  assert.deepEqual(answers.twice, { asked: 0, alike: 0 });
});

test("the file has a line for each question, with every cell quoted", () => {
  const lines = filled().csv.split("\n");
  assert.equal(lines[0], COLUMNS.map((column) => `"${column}"`).join(","));
  assert.equal(lines[1], '"id, 0","0","cat","","random","right","","r"');
  assert.match(filled().csv, /"id, 3","3","cat","","random","wrong","a ""bird"",\nor two","r"\n/);
  assert.match(filled().csv, /"id, 3","3","cat","","again","wrong","'=dog","r"\n$/);
});

test("a saved file fills what is open, and overwrites nothing", () => {
  const answers = new Answers(RANDOM, browser());
  answers.record(RANDOM.questions[0], { answer: "unsure" });
  assert.equal(answers.read("\ufeff" + filled().csv.replaceAll("\n", "\r\n").replaceAll(',\r\nor', ",\nor")), 5);
  assert.deepEqual(answers.of(RANDOM.questions[0]), { answer: "unsure" });
  for (const k of [1, 2, 3, 4, 5]) assert.deepEqual(answers.of(RANDOM.questions[k]), filled().of(RANDOM.questions[k]));
});

test("a file of another run or kind, with another class or with none, has no answers for these questions", () => {
  const answers = () => new Answers(RANDOM, browser());
  assert.equal(answers().read(filled().csv.replaceAll('"r"\n', '"s"\n')), 0);
  assert.equal(answers().read(filled().csv.replaceAll(/"(random|again)"/g, '"suspicious"')), 0);
  assert.equal(answers().read(filled().csv.replaceAll('"wrong"', '"perhaps"')), 4);
  assert.equal(answers().read(filled().csv.replaceAll(`"wrong","'=dog"`, '"wrong","lion"')), 5);
  for (const text of ["", "\n", "no table", '"', "a,b\n1,2\n"]) assert.equal(answers().read(text), 0, text);
});
