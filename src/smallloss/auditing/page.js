// The page: one question at a time, answered from the keyboard. What the run thinks of an example is shown once it is
// answered, and what the answers prove only in the place of a question: neither may lead the one who answers.

import { Answers } from "./answers.js";
import { Example } from "./example.js";
import { TypeAhead } from "./find.js";
import { at, download, make } from "./make.js";
import { agreement, inWords, proved } from "./proved.js";
import { Server } from "./server.js";

const data = JSON.parse(at("data").textContent);
const questions = data.questions;
const answers = new Answers(data, () => localStorage);
const words = { right: "right", none: "none of the classes", unsure: "unsure" };
const example = new Example({
  picture: at("picture"), box: at("example"), text: at("text"), table: at("row"), more: at("more"), label: at("less"),
});
const search = new TypeAhead({
  field: at("field"), list: at("list"), status: at("found"), names: data.classes,
  take: choose, leave: () => look("question"),
});
const server = data.served ? new Server("answers", heard) : null;
let place = firstOpen();
let view = "question"; // or "choice": of a class, or "panel": what is proved
let told = settled(); // said once, when it happens

// --- what is shown -----------------------------------------------------------------------------------------

function show() {
  const question = questions[place], answer = answers.of(question), done = answers.count;
  const rest = next() < 0 ? (server ? "." : ": save the answers now.") : "";
  at("progress").textContent = `${done} of ${questions.length} answered${rest}`;
  at("bar").value = done;
  at("number").textContent = `${place + 1} of ${questions.length}`;
  at("id").textContent = question.id;
  at("given").textContent = name(question.given);
  example.show(question);
  showAnswer(question, answer);
  at("question").hidden = view === "panel";
  at("panel").hidden = view !== "panel";
  at("answers").hidden = view !== "question";
  at("choice").hidden = view !== "choice";
  at("back").disabled = place === 0;
  at("forward").disabled = place === questions.length - 1;
}

function showAnswer(question, answer) {
  const suggestion = suggested(question), other = answer?.answer === "wrong" && answer.true !== suggestion;
  at("suggested").hidden = suggestion === null;
  at("suggestion").textContent = suggestion === null ? "" : name(suggestion);
  at("suggested").setAttribute("aria-pressed", answer?.answer === "wrong" && !other);
  for (const button of document.querySelectorAll("[data-answer]")) {
    const taken = button.dataset.answer === "wrong" ? other : answer?.answer === button.dataset.answer;
    button.setAttribute("aria-pressed", taken);
  }
  const said = answer?.answer === "wrong" ? `wrong, it is ${apart(name(answer.true))}` : words[answer?.answer];
  at("said").textContent = answer ? `Your answer: ${said}. ${thought(question)}` : "";
}

function thought({ predicted, score }) {
  const taken = predicted === null ? "" : `The run takes it for “${apart(name(predicted))}”. `;
  return taken + (score === null ? "" : `Its label score is ${score.toFixed(2)}: from 0 to 1, low is suspicious.`);
}

function showPanel() {
  const { headline, lines } = data.check ? inWords(found(), data.check) : { headline: "", lines: [] };
  const all = next() < 0;
  at("title").textContent = headline || `All ${questions.length} are answered.`;
  const said = [...lines, agreement(answers.twice), headline && all ? `All ${questions.length} are answered.` : ""];
  at("lines").replaceChildren(...said.filter((line) => line).map((line) => make("p", {}, line)));
  at("where").textContent = all ? "back to the questions" : "go on";
  look("panel");
}

// Shows the question, the choice of a class or the panel, and takes the keyboard there.
function look(what) {
  view = what;
  show();
  if (view === "choice") search.open(questions[place].given);
  else at(view === "panel" ? "title" : "asked").focus();
}

// --- what was answered -------------------------------------------------------------------------------------

function record(answer) {
  const changed = answers.of(questions[place]);
  const kept = answers.record(questions[place], answer);
  server?.save(answers.csv);
  if (!kept && !server) {
    at("warning").textContent = "This browser keeps nothing between visits: save before you close the page.";
  }
  at("saved").hidden = true;
  const open = next(), settles = !told && settled();
  told ||= settles;
  if (open >= 0) place = open;
  if (answers.count === 1) at("intro").open = false; // it has been read
  if (settles || (open < 0 && !changed)) showPanel();
  else turn();
}

function firstOpen() {
  return Math.max(0, questions.findIndex((question) => !answers.of(question)));
}

// The next question without an answer, from the first again after the last; -1 if there is none.
function next() {
  const open = questions.map((question, k) => (answers.of(question) ? -1 : k)).filter((k) => k >= 0);
  return open.find((k) => k > place) ?? open[0] ?? -1;
}

function reply(answer) {
  if (answer === "wrong") look("choice");
  else record({ answer });
}

function choose(position) {
  record({ answer: "wrong", true: position });
}

function suggest() {
  const suggestion = suggested(questions[place]);
  if (suggestion !== null) choose(suggestion);
}

// Only where labels are corrected, not measured, is there a suggestion: another class than the label.
function suggested({ predicted, given }) {
  return data.kind !== "suspicious" || predicted === given ? null : predicted;
}

function found() {
  return proved(data.check, answers.said);
}

function settled() {
  return Boolean(data.check && found().settled);
}

function move(step) {
  place = Math.min(Math.max(place + step, 0), questions.length - 1);
  turn();
}

// To the question at the place. The keyboard stays where it is, if that is still to be seen.
function turn() {
  if (view !== "question") look("question");
  else show();
  at("asked").scrollIntoView({ block: "nearest" });
}

// --- the file ----------------------------------------------------------------------------------------------

function save() {
  download(answers.csv, data.file);
  at("count").textContent = `Saved as ${data.file}, with ${answers.count} of ${questions.length} answered.`;
  at("saved").hidden = false;
}

async function load() {
  const [file] = at("file").files;
  const read = file ? answers.read(await file.text()) : 0;
  at("file").value = "";
  told = settled();
  look("question");
  at("progress").textContent += ` Answers read from the file: ${read}.`;
}

// Where the server is gone, the answers can still be saved to a file.
function heard(text, saved) {
  at("warning").textContent = saved ? "" : text;
  at("save").hidden = saved;
}

// What the run folder has, and what only this browser kept.
function served(csv) {
  if (answers.read(csv)) place = firstOpen();
  if (answers.count) server.save(answers.csv);
  told = settled();
  show();
}

// --- names, and keys ---------------------------------------------------------------------------------------

function name(position) {
  return data.classes[position];
}

// A name that cannot turn the sentence around it, whichever way it is written.
function apart(text) {
  return `\u2068${text}\u2069`;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === at("field")) return;
  const key = event.key.toLowerCase();
  if (event.repeat && !key.startsWith("arrow")) { // a key held down is one answer
    if (event.target.tagName === "BUTTON") event.preventDefault();
    return;
  }
  const answer = { r: "right", w: "wrong", n: "none", u: "unsure" }[key];
  if (key === "arrowleft" && view === "panel") look("question");
  else if (key === "arrowleft") move(-1);
  else if (key === "arrowright") move(1);
  else if (view !== "question" && (key === "escape" || (key === "p" && view === "panel"))) look("question");
  else if (view !== "question") return;
  else if (answer) reply(answer);
  else if (key === "s") suggest();
  else if (key === "m" && !at("more").hidden) at("more").click();
  else if (key === "p" && data.check) showPanel();
  else return;
  event.preventDefault();
}

for (const button of document.querySelectorAll("[data-answer]")) {
  button.addEventListener("click", () => reply(button.dataset.answer));
}
const clicks = {
  suggested: suggest, cancel: () => look("question"), go: () => look("question"), proved: showPanel,
  back: () => move(-1), forward: () => move(1), save, load: () => at("file").click(),
};
for (const [id, click] of Object.entries(clicks)) at(id).addEventListener("click", click);
at("file").addEventListener("change", load);
document.addEventListener("keydown", press);

at("bar").max = questions.length;
at("intro").open = !answers.count;
at("proved").hidden = !data.check;
show();
server?.saved().then(served);
