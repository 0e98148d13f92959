// What a person has to decide or to mend, each with its remedy.

import { ConflictView } from "./conflicts.js";
import { element, reconcile, setText } from "./dom.js";
import { count, duration, since } from "./format.js";

const SHOWN_MAX = 50;

/** Shows the entries of a report; `run(label, work)` runs a command and tells its result. */
export class Attention {
  constructor(list, rest, run) {
    this.list = list;
    this.rest = rest;
    this.run = run;
  }

  show(mount, report) {
    const all = entries(report);
    this.isEmpty = all.length === 0;
    const shown = all.slice(0, SHOWN_MAX);
    reconcile(
      this.list,
      shown.length > 0 ? shown : [{ key: "none", kind: "none", title: "Nothing." }],
      (entry) => `${mount.id}:${entry.key}`,
      (entry) => this.create(mount, entry),
      update,
    );
    const more = all.length - shown.length;
    this.rest.hidden = more === 0 && !report.truncated;
    setText(this.rest, `and ${report.truncated ? "more" : `${more} more`}; see \`apus status --all\``);
  }

  create(mount, entry) {
    const node = element(
      "li",
      { class: "entry", "data-kind": entry.kind },
      element(
        "div",
        { class: "words" },
        element("strong", { class: "title" }),
        element("span", { class: "why" }),
        element("span", { class: "remedy muted" }),
      ),
      element("div", { class: "buttons" }, ...this.buttons(mount, entry)),
    );
    if (entry.kind === "conflict") new ConflictView(mount, entry.item, node, this.run);
    return node;
  }

  buttons(mount, { kind, path, title }) {
    switch (kind) {
      case "failed":
      case "waiting":
      case "remote":
        return [this.button("Retry", `Retry ${title}`, () => retry(mount, path ?? ""))];
      case "held":
        return [
          this.button("Confirm", "Confirm the deletions", () => confirmDeletions(mount), true),
          this.button("Reject", "Reject the deletions", () => rejectDeletions(mount)),
        ];
      default:
        return [];
    }
  }

  button(text, label, work, isGrave = false) {
    return element(
      "button",
      {
        type: "button",
        "aria-label": label,
        class: isGrave ? "grave" : "",
        click: (event) => this.run(label, work, event.currentTarget),
      },
      text,
    );
  }
}

function update(node, { title, why, remedy }) {
  setText(node.querySelector(".title"), title);
  setText(node.querySelector(".why"), why ?? "");
  setText(node.querySelector(".remedy"), remedy ?? "");
}

function entries(report) {
  return [
    ...ofRemote(report.remote),
    ...ofDeletions(report),
    ...report.items.filter((item) => item.operation === "conflict").map(ofConflict),
    ...report.items.filter(hasFailed).map(ofFailure),
    ...ofPins(report.pins),
    ...ofStorage(report),
  ];
}

function isHeld(item) {
  return item.error?.remedy?.includes("apus confirm-deletions") ?? false;
}

function hasFailed(item) {
  return item.error && item.operation !== "conflict" && !isHeld(item);
}

function ofRemote(remote) {
  if (remote.reachable && !remote.refusesCredentials) return [];
  const what = remote.refusesCredentials
    ? ["The remote refuses the credentials", "Renew them; the sync then continues by itself."]
    : [
        `The remote has not answered for ${since(remote.since)}`,
        "Local files work as before; changes are sent once it answers.",
      ];
  return [{ key: "remote", kind: "remote", title: what[0], why: remote.message, remedy: what[1] }];
}

function ofDeletions({ counts, items, truncated }) {
  const onRemote = counts.held?.items ?? 0;
  const held = items.filter((item) => isHeld(item));
  const here = held.filter((item) => item.operation === "delete" && item.state === "dirty");
  if (onRemote === 0 && here.length === 0) return [];
  const parts = [];
  if (onRemote > 0) parts.push(`${count(onRemote, "deletion", "deletions")} on the remote`);
  const number = onRemote > 0 ? here.length : Math.max(here.length, 1);
  if (here.length > 0) {
    // The report has the first items only.
    const most = truncated ? "at least " : "";
    parts.push(`${most}${count(number, "deletion", "deletions")} here`);
  }
  return [
    {
      key: "held",
      kind: "held",
      title: `${parts.join(" and ")} held`,
      why: held[0]?.error.why,
      remedy: "Confirm to delete them on both sides, or reject to bring them back.",
    },
  ];
}

function ofConflict(item) {
  return {
    key: `conflict:${item.path}`,
    kind: "conflict",
    item,
    title: item.conflictsWith ?? item.path,
    why: "was changed here and on the remote",
  };
}

function ofFailure(item) {
  const next = item.retryAt ? (Date.parse(item.retryAt) - Date.now()) / 1000 : undefined;
  const again = next === undefined ? "" : ` It is tried again ${next > 1 ? `in ${duration(next)}` : "now"}.`;
  return {
    key: `failed:${item.path}`,
    kind: item.passing ? "waiting" : "failed",
    path: item.path,
    title: item.path || "The mount",
    why: item.error.why,
    remedy: `${item.error.remedy ?? ""}${again}`.trim(),
  };
}

function ofPins(pins) {
  if (!pins) return [];
  const hindrance = pins.hindrance
    ? [{ key: "pins", kind: "pins", title: "Pinned files are not fetched", ...pins.hindrance }]
    : [];
  const failed = (pins.failed ?? []).map(({ path, error }) => ({
    key: `pin:${path}`,
    kind: "pins",
    title: `${path}, which is pinned`,
    why: error.why,
    remedy: error.remedy,
  }));
  return [...hindrance, ...failed];
}

function ofStorage({ unstored, lostAndFound }) {
  const list = [];
  if (unstored) {
    list.push({
      key: "unstored",
      kind: "failed",
      path: "",
      title: `The local disk has not stored ${count(unstored, "file", "files")}`,
      why: "They are in memory only, until they are on the remote.",
    });
  }
  if (lostAndFound) {
    list.push({
      key: "lost",
      kind: "lost",
      title: `${count(lostAndFound.files, "file", "files")} without a name`,
      why: `found in ${lostAndFound.path}`,
      remedy: "Look through them, then remove them.",
    });
  }
  return list;
}

/** Tries to send what is below a path at once, and tells what comes of it within a few seconds. */
async function retry(mount, path) {
  const last = await mount.progress("sync", { paths: [path], timeout: 10 });
  const failure = last.failed[0] ?? last.waiting?.find((item) => item.attempts > 0);
  if (failure) throw new Error(failure.error.why);
  if (last.unreachable) throw new Error(last.unreachable.why);
  if (!last.timedOut) return "It is on the remote.";
  const [next] = last.waiting ?? [];
  return next ? `Not on the remote yet: ${next.error.why}.` : "It is being sent.";
}

async function confirmDeletions(mount) {
  const { here, onRemote } = await mount.progress("confirm-deletions", {});
  return `${count(here.items + onRemote, "deletion is", "deletions are")} done.`;
}

async function rejectDeletions(mount) {
  const { sentAgain, broughtBack, left } = await mount.progress("reject-deletions", {});
  const rest = left > 0 ? `; ${count(left, "file stays", "files stay")} held, without all of its bytes here` : "";
  return `${count(sentAgain + broughtBack, "item is", "items are")} back${rest}.`;
}
