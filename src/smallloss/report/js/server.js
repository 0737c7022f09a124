// A page as `smallloss open` serves it: every picture is there, and what is said goes straight into the run folder.

const WAIT = 400; // milliseconds without another decision

export class Server {
  // route: of the table that is saved. said: called with what a person must know, and whether all is saved.
  constructor(route, said) {
    Object.assign(this, { route, said, waiting: 0 });
  }

  picture(index) {
    return `picture/${index}`;
  }

  async saved() {
    const answer = await fetch(this.route);
    return answer.ok ? answer.text() : "";
  }

  save(csv) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.put(csv), WAIT);
  }

  async put(csv) {
    try {
      const answer = await fetch(this.route, { method: "PUT", body: csv, headers: { "Content-Type": "text/csv" } });
      this.said(answer.ok ? "Saved in the run folder." : `Not saved: the server refused it (${answer.status}).`, answer.ok);
    } catch {
      this.said("Not saved: smallloss open is not running any more. Save all to a file.", false);
    }
  }
}
