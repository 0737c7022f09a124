// The page as `smallloss open` serves it: every picture is there, and decisions go straight into the run folder.

const WAIT = 400; // milliseconds without another decision

export class Server {
  // said: called with what a person must know.
  constructor(said) {
    Object.assign(this, { said, waiting: 0 });
  }

  picture(index) {
    return `picture/${index}`;
  }

  async decisions() {
    const answer = await fetch("decisions");
    return answer.ok ? answer.text() : "";
  }

  save(csv) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.put(csv), WAIT);
  }

  async put(csv) {
    try {
      const answer = await fetch("decisions", { method: "PUT", body: csv, headers: { "Content-Type": "text/csv" } });
      this.said(answer.ok ? "Saved in the run folder." : `Not saved: the server refused it (${answer.status}).`);
    } catch {
      this.said("Not saved: smallloss open is not running any more. Your browser keeps the decisions; save them to a file.");
    }
  }
}
