// The last changes of the chosen mount, local and remote, while this part of the page is open.

import { element, reconcile, setText } from "./dom.js";

const SHOWN_MAX = 50;
const RECONNECT_DELAY = 2_000;

const WORDS = {
  created: "new",
  changed: "changed",
  moved: "moved",
  removed: "removed",
  uploaded: "on the remote",
  conflict: "conflict",
};

/** Asks for changes only while it is open: the daemon records them for those who ask. */
export class Changes {
  constructor(details, list, empty) {
    this.details = details;
    this.list = list;
    this.empty = empty;
    this.events = [];
    this.stop = new AbortController();
    details.addEventListener("toggle", () => this.restart());
  }

  /** Shows those of another mount, from now on. */
  show(mount) {
    this.mount = mount;
    this.events = [];
    this.draw();
    this.restart();
  }

  restart() {
    this.stop.abort();
    this.stop = new AbortController();
    if (this.details.open && this.mount) this.follow(this.mount, this.stop.signal);
  }

  async follow(mount, signal) {
    let since;
    setText(this.empty, "Waiting for the mount …");
    while (!signal.aborted) {
      try {
        await mount.changes(since, signal, (event) => {
          if (signal.aborted) return;
          since = event.cursor;
          setText(this.empty, "None since this was opened.");
          if (event.change) this.add(event);
        });
      } catch (error) {
        // Those in between are not known any more; a mount that is away answers with 404, too.
        if (error.problem?.what.startsWith("report the changes")) since = undefined;
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RECONNECT_DELAY));
    }
  }

  add(event) {
    this.events = [event, ...this.events.slice(0, SHOWN_MAX - 1)];
    if (this.isDrawPlanned) return;
    this.isDrawPlanned = true;
    requestAnimationFrame(() => {
      this.isDrawPlanned = false;
      this.draw();
    });
  }

  draw() {
    this.empty.hidden = this.events.length > 0;
    reconcile(this.list, this.events, (event) => event.cursor, create, () => {});
  }
}

function create(event) {
  const path = event.from ? `${event.from} → ${event.path}` : event.path;
  const item = element(
    "li",
    { class: "change" },
    element("time", { class: "muted", datetime: event.time }, new Date(event.time).toLocaleTimeString()),
    element("span", { class: "word", "data-change": event.change }, WORDS[event.change] ?? event.change),
    element("span", { class: "name", title: path }, path),
  );
  if (event.side === "remote") item.append(element("span", { class: "muted" }, "by another client"));
  return item;
}
