// The interval of a check by hand, digit for digit as noise/blocks.py has it (the reasons and the proof stand there).
// blocks: what Blocks.to_dict wrote. answers: a Map from row to true (right), false (wrong) or null (unsure).

const AHEAD = 150, PRIOR = 2, FIRST = 0.5, MOST = 0.99;

export function anytime(blocks, answers, { level, rightKnown = 0, known = 0 }) {
  const done = complete(blocks, answers), size = blocks.size;
  const a = new Bets(blocks, said(blocks, answers, done, 0), level, false).least();
  const b = size - new Bets(blocks, said(blocks, answers, done, 1), level, true).least();
  const low = Math.min(a, b), high = Math.max(a, b), total = Math.max(size + known, 1);
  const value = Math.min(Math.max(size * guess(blocks, answers, done), low), high);
  return { value: (value + rightKnown) / total, low: (low + rightKnown) / total, high: (high + rightKnown) / total };
}

// How many more answers settle the promise: if all are right, and at the rate seen so far, what was left open first.
// null: all that there is to ask do not.
export function answersNeeded(blocks, answers, promise, { level, rightKnown = 0, known = 0 }) {
  const done = complete(blocks, answers);
  const goal = Math.ceil(Math.round((promise * (blocks.size + known) - rightKnown) * 1e9) / 1e9);
  const leftOpen = blocks.rows.slice(0, done).map((rows) => rows.map((row) => !answers.has(row)));
  const count = leftOpen.flat().filter(Boolean).length;
  const begun = blocks.rows.slice(done, done + 1).flat().filter((row) => answers.has(row)).length;
  // With what was left open as it is, unsure; and with it answered, which are so many answers more.
  const settled = (imagined, total, mirrored) => {
    const given = said(blocks, answers, done, Number(mirrored));
    const filled = given.map((block, b) => block.map((y, g) => (leftOpen[b][g] ? imagined[b][g] : y)));
    const until = (some) => new Bets(blocks, some.concat(imagined.slice(done)), level, mirrored).answersUntil(total, done);
    return [[until(given), 0], [until(filled), count]].filter(([n]) => n !== null)
      .map(([n, more]) => (n ? more + n - begun : more));
  };
  const least = (ways) => (ways.length ? Math.min(...ways) : null);
  const right = settled(blocks.prediction.map((block) => block.map(() => 1)), goal - 1, false);
  const { slope, at, mean } = line(blocks, answers, done);
  if (Number.isNaN(at)) return { ifRight: least(right), atRate: null };
  const guess = blocks.prediction.map((block) => block.map((f) => within(at + slope * (f - mean), 0, 1)));
  return { ifRight: least(right), atRate: least([...settled(guess, goal - 1, false), ...settled(guess, blocks.size - goal, true)]) };
}

// --- what was answered -------------------------------------------------------------------------------------

// How many blocks count: all before the last that has an answer, and that one where it is answered in full.
export function complete(blocks, answers) {
  const answered = blocks.rows.map((rows) => rows.map((row) => answers.has(row)));
  const last = answered.findLastIndex((block) => block.includes(true));
  return last >= 0 && !answered[last].includes(false) ? last + 1 : Math.max(last, 0);
}

// What was left open in a block that counts is unsure.
function said(blocks, answers, done, unsure) {
  const value = (row) => ({ true: 1, false: 0 })[answers.get(row)] ?? unsure;
  return blocks.rows.slice(0, done).map((rows) => rows.map(value));
}

function line(blocks, answers, done) {
  const sums = new Sums(), y = said(blocks, answers, done, NaN);
  y.forEach((block, b) => block.forEach((v, g) => { if (!Number.isNaN(v)) sums.add(v, blocks.prediction[b][g]); }));
  return { slope: sums.n ? sums.line(blocks.centre[0]).slope : 1, at: sums.y / sums.n, mean: sums.f / sums.n };
}

function guess(blocks, answers, done) {
  if (!blocks.size) return 0;
  const { slope, at, mean } = line(blocks, answers, done), y = said(blocks, answers, done, NaN).flat();
  const unsure = y.filter(Number.isNaN).length, left = blocks.size - y.length;
  const right = y.filter((v) => v === 1).length;
  const rest = left ? left * within(at + slope * (blocks.centre[done] - mean), 0, 1) : 0;
  return (right + (unsure ? unsure * at : 0) + rest) / blocks.size;
}

// --- betting -----------------------------------------------------------------------------------------------

const sum = (list) => list.reduce((a, b) => a + b, 0);
const within = (x, low, high) => Math.min(Math.max(x, low), high);

class Sums {
  n = 0; y = 0; f = 0; ff = 0; fy = 0;
  add(y, f) { this.n += 1; this.y += y; this.f += f; this.ff += f * f; this.fy += f * y; }
  line(mean) {
    const n = Math.max(this.n, 1), worth = mean * (1 - mean) + 1e-9;
    const ff = this.ff - (this.f * this.f) / n, fy = this.fy - (this.f * this.y) / n, yy = this.y - (this.y * this.y) / n;
    const slope = within((fy + worth) / (ff + worth), 0, 1);
    return { slope, rest: 1 - within(((2 * fy - slope * ff) * slope) / (yy + PRIOR * worth), 0, 0.9) };
  }
}

class Bets {
  constructor(blocks, y, level, mirrored) {
    const turn = mirrored ? (x) => 1 - x : (x) => x, sums = new Sums();
    const largest = mirrored ? 1 - blocks.spread[0] : blocks.spread[1];
    const mean = turn(blocks.size ? blocks.centre[0] : 0.5);
    this.size = blocks.size;
    this.reward = Math.log(2 / (1 - level));
    this.steps = y.map((block, b) => {
      const before = { asked: sums.n, right: sums.y }, { slope, rest } = sums.line(mean);
      const f = blocks.prediction[b].map(turn), centre = turn(blocks.centre[b]), said = block.map(turn);
      const rate = (sums.y + PRIOR * mean) / (sums.n + PRIOR), z2 = ((2 * this.reward) / AHEAD) * rest;
      const gap = rate - (rate + z2 / 2 - Math.sqrt(z2 * (rate * (1 - rate) + z2 / 4))) / (1 + z2);
      const most = sums.n ? MOST : FIRST;
      said.forEach((v, g) => sums.add(v, f[g]));
      return {
        y: said, share: blocks.share[b], offset: f.map((x) => slope * (x - centre)), top: slope * (largest - centre),
        bet: z2 / rest / gap, most, before: before.right, left: this.size - before.asked, asked: sums.n, right: sums.y,
      };
    });
  }

  capital(total) {
    let log = 0;
    return this.steps.map((s) => {
      const m = within((total - s.before) / s.left, 0, 1), largest = Math.max(...s.share) * Math.max(m + s.top, 0);
      const bet = Math.min(s.bet * largest, s.most) / Math.max(largest, 1e-300);
      s.y.forEach((y, g) => {
        const b = bet * s.share[g], p = m + s.offset[g];
        log += y * Math.log1p(b * (1 - p)) + (1 - y) * Math.log1p(-b * p);
      });
      return s.right <= total ? log : Infinity;
    });
  }

  least() {
    const last = this.steps.at(-1);
    let low = last ? Math.round(last.right) : 0, high = last ? this.size - last.asked + low : 0;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (Math.max(...this.capital(middle)) >= this.reward) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  answersUntil(total, done) {
    const given = done ? this.steps[done - 1].asked : 0;
    const at = this.capital(total).findIndex((log) => log >= this.reward);
    return at < 0 ? null : Math.max(0, this.steps[at].asked - given);
  }
}
