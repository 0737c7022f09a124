// What the answers on kept labels prove so far, and in words. The numbers are those of `audit --answers`.

import { answersNeeded, anytime, complete } from "./interval.js";

// check: what audit_page was given. said: a Map from row to true, false or null, of the answers on the page.
export function proved(check, said) {
  const { blocks, promise } = check, answers = new Map([...check.answered, ...said]);
  const options = { level: check.level, rightKnown: check.right_known, known: check.known };
  const { low, high } = anytime(blocks, answers, options), done = complete(blocks, answers);
  const count = (rows) => rows.flat().filter((row) => answers.has(row)).length;
  return {
    low, high, ...answersNeeded(blocks, answers, promise, options),
    counts: count(blocks.rows.slice(0, done)), waiting: count(blocks.rows.slice(done)),
    settled: low >= promise ? "proved" : high < promise ? "refuted" : "",
  };
}

// { headline, lines }
export function inWords(found, { promise, level, blocks }) {
  const { low, high, counts } = found, nothing = low === 0 && high === 1;
  const headline = nothing ? "Nothing is proved yet." : `${down(low)} to ${up(high)} of the kept labels are right.`;
  const rests = counts ? `It rests on ${counted(counts, "answer")} on kept labels` : "No answers on kept labels count";
  const sure = nothing ? "" : `, and is sure to ${share(level)} however often you look`;
  return { headline, lines: [`${rests}${sure}.`, ...waiting(found.waiting, blocks), open(found, share(promise))] };
}

// You agreed with yourself in 5 of 6 questions that came twice.
export function agreement({ asked, alike }) {
  return asked ? `You agreed with yourself in ${alike} of ${counted(asked, "question")} that came twice.` : "";
}

function waiting(count, blocks) {
  if (!count) return [];
  const wait = count === 1 ? "waits for the rest of its block" : "wait for the rest of their block";
  return [`They count in blocks of ${blocks.rows[0].length}: ${counted(count, "more answer")} ${wait}.`];
}

function open({ settled, ifRight, atRate, counts }, promised) {
  const stop = "You may stop here; more answers make it narrower.";
  if (settled === "proved") return `At least ${promised} were asked for: that is proved. ${stop}`;
  if (settled === "refuted") return `At least ${promised} were asked for: it is proved that fewer are right. ${stop}`;
  const rate = !counts ? "" : atRate === null ? " At the rate seen, the questions here do not settle it." :
    ` About ${counted(atRate, "more answer")} on kept labels would settle it at the rate seen.`;
  const best = ifRight === null ? "Even if all the others are right, that does not prove it." :
    `If all are right, ${counted(ifRight, "more answer")} ${ifRight === 1 ? "proves" : "prove"} it.`;
  return `At least ${promised} are asked for: that is not settled yet.${rate} ${best}`;
}

// A low end is rounded down, a high end up: what is said is proved.
function down(x) {
  return percent(Math.floor(1000 * x) / 1000);
}

function up(x) {
  return percent(Math.ceil(1000 * x) / 1000);
}

function percent(x) {
  return `${(100 * x).toFixed(1)} %`;
}

function share(x) {
  return `${Number((100 * x).toPrecision(6))} %`;
}

function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
