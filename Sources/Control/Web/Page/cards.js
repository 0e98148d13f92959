// A card for each mount: where it is, whether its remote answers, what waits, and how full the cache is.

import { element, reconcile, set, setText } from "./dom.js";
import { count, duration, rate, since, size } from "./format.js";

export class Cards {
  constructor(parent, choose) {
    this.parent = parent;
    this.choose = choose;
  }

  /** Shows cards of `{mount, report, problem, rates, isChosen}`. */
  show(cards) {
    reconcile(
      this.parent,
      cards,
      (card) => card.mount.id,
      (card) => this.create(card),
      update,
    );
  }

  create({ mount }) {
    return element(
      "button",
      { class: "card", type: "button", click: () => this.choose(mount.id) },
      element("span", { class: "mount-point" }, mount.mountPoint),
      element("span", { class: "source muted" }),
      element("span", { class: "remote" }),
      element("span", { class: "pending" }),
      element(
        "span",
        { class: "cache" },
        element("span", { class: "cache-text muted" }),
        element("progress", { max: 1, value: 0, "aria-label": "Cache used" }),
      ),
    );
  }
}

function update(card, { report, problem, rates, isChosen }) {
  const part = (name) => card.querySelector(`.${name}`);
  set(card, "aria-pressed", String(isChosen));
  if (!report || problem) {
    setText(part("remote"), problem ?? "Asking its daemon …");
    set(part("remote"), "data-state", problem ? "bad" : "unknown");
    return;
  }
  setText(part("source"), report.source);
  const [state, words] = remoteOf(report.remote);
  setText(part("remote"), words);
  set(part("remote"), "data-state", state);
  setText(part("pending"), pendingOf(report, rates));
  showCache(card, report);
}

function remoteOf(remote) {
  if (remote.refusesCredentials) return ["bad", "Credentials are refused"];
  if (remote.reachable) return ["good", "Online"];
  return ["bad", `Offline for ${since(remote.since)}`];
}

function pendingOf({ counts, items }, rates) {
  const parts = [];
  // A file counts as a whole until it is sent.
  const sent = items.reduce((sum, item) => sum + (item.state === "uploading" ? item.bytesSent : 0), 0);
  const left = Math.max(0, counts.pendingBytes - sent);
  const open = counts.open ?? 0;
  const remaining = counts.pending - open;
  if (remaining > 0) {
    const bytes = left > 0 ? `, ${size(left)}` : "";
    parts.push(`${count(remaining, "change", "changes")} to send${bytes}`);
  } else if (open > 0) {
    parts.push(`Every change is on the remote; ${count(open, "file is", "files are")} still open for writing`);
  } else {
    parts.push("Everything is on the remote");
  }
  if (rates.sent > 0) {
    // What has failed stays behind.
    const time = counts.uploading > 0 && left > 0 ? `, ${duration(left / rates.sent)} left` : "";
    parts.push(`↑ ${rate(rates.sent)}${time}`);
  }
  if (rates.received > 0) parts.push(`↓ ${rate(rates.received)}`);
  const troubles = [
    [counts.failed, "failed", "failed"],
    [counts.conflicts, "conflict", "conflicts"],
    [counts.held?.items ?? 0, "deletion held", "deletions held"],
  ];
  for (const [number, one, many] of troubles) {
    if (number > 0) parts.push(count(number, one, many));
  }
  return parts.join(" · ");
}

function showCache(card, { counts, cacheBytesMax }) {
  const used = counts.localBytes;
  setText(
    card.querySelector(".cache-text"),
    cacheBytesMax ? `Cache ${size(used)} of ${size(cacheBytesMax)}` : `Cache ${size(used)}`,
  );
  const bar = card.querySelector("progress");
  set(bar, "value", cacheBytesMax ? Math.min(1, used / cacheBytesMax).toFixed(4) : 0);
}
