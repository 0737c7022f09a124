// What was answered on a page: kept in the browser under the run and the kind of question, so that kinds never mix,
// and written to a csv file, from which it can be read again.
// An answer is { answer: "right", "none" or "unsure" } or { answer: "wrong", true: position of the class }.

import { records, written } from "./csv.js";

const IS_RIGHT = { right: true, wrong: false, none: false, unsure: null };

export class Answers {
  // data: what audit_page wrote. storage: gives the browser's localStorage, or throws where there is none.
  constructor(data, storage) {
    this.data = data;
    this.storage = storage;
    this.name = `smallloss-audit-${data.run}-${data.kind}`;
    try { this.given = JSON.parse(storage().getItem(this.name)) ?? {}; } catch { this.given = {}; }
  }

  of(question) {
    return this.given[placeOf(question)];
  }

  get count() {
    return this.data.questions.filter((question) => this.of(question)).length;
  }

  // Whether the browser keeps it until the next visit is the result.
  record(question, answer) {
    this.given[placeOf(question)] = answer;
    return this.keep();
  }

  keep() {
    try { this.storage().setItem(this.name, JSON.stringify(this.given)); } catch { return false; }
    return true;
  }

  // A Map from row to true (its label is right), false or null (unsure); of a row asked twice, the first answer.
  get said() {
    const first = this.data.questions.filter((question) => !question.again && this.of(question));
    return new Map(first.map((question) => [question.index, IS_RIGHT[this.of(question).answer]]));
  }

  // How many questions were answered both times that they came, and how many of them alike: the same class, too.
  get twice() {
    const again = this.data.questions.filter((question) => question.again);
    const pairs = again.map((question) => [this.given[question.index], this.of(question)]).filter(([a, b]) => a && b);
    return { asked: pairs.length, alike: pairs.filter(([a, b]) => a.answer === b.answer && a.true === b.true).length };
  }

  get csv() {
    const rows = this.data.questions.map((question) => {
      const answer = this.of(question), truth = answer?.answer === "wrong" ? this.data.cells[answer.true] : "";
      return [...question.cells, answer?.answer ?? "", truth, this.data.run];
    });
    return written([this.data.columns, ...rows]);
  }

  // How many questions that were open have their answers from a saved file; nothing answered here is overwritten.
  read(csv) {
    const byQuestion = new Map(records(csv).map((one) => [JSON.stringify([one.run, one.index, one.stratum]), one]));
    const [index, stratum] = ["index", "stratum"].map((column) => this.data.columns.indexOf(column));
    const before = this.count;
    for (const question of this.data.questions) {
      const key = JSON.stringify([this.data.run, question.cells[index], question.cells[stratum]]);
      const answer = this.understood(byQuestion.get(key), question);
      if (answer && !this.of(question)) this.given[placeOf(question)] = answer;
    }
    this.keep();
    return this.count - before;
  }

  understood(record, question) {
    if (!record || !Object.hasOwn(IS_RIGHT, record.answer)) return null;
    if (record.answer !== "wrong") return { answer: record.answer };
    const truth = this.data.cells.indexOf(record.true_label);
    return truth < 0 || truth === question.given ? null : { answer: "wrong", true: truth };
  }
}

function placeOf(question) {
  return question.again ? `${question.index} again` : String(question.index);
}
