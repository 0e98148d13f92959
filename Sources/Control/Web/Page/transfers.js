// What is being sent or fetched, with its progress.

import { element, reconcile, set, setText } from "./dom.js";
import { count, nameOf, size } from "./format.js";

const SHOWN_MAX = 12;

/** Shows the running transfers of a report. */
export function showTransfers(list, rest, report) {
  const all = report.items.filter((item) => isRunning(item));
  const rows = [...pinRows(report.pins), ...all.slice(0, SHOWN_MAX).map(row)];
  reconcile(list, rows, (row) => row.key, create, update);
  const more = all.length - SHOWN_MAX;
  rest.hidden = more <= 0;
  if (more > 0) setText(rest, `and ${more} more`);
}

function isRunning(item) {
  return item.state === "uploading" || item.bytesHere !== undefined;
}

function row(item) {
  const isUpload = item.state === "uploading";
  const done = isUpload ? item.bytesSent : item.bytesHere;
  return {
    key: `${isUpload ? "up" : "down"}:${item.path}`,
    arrow: isUpload ? "↑" : "↓",
    action: isUpload ? "Sending" : "Fetching",
    title: item.path,
    name: nameOf(item.path),
    amount: item.bytes > 0 ? `${size(Math.min(done, item.bytes))} of ${size(item.bytes)}` : "",
    part: item.bytes > 0 ? Math.min(1, done / item.bytes) : 0,
  };
}

function pinRows(pins) {
  if (!pins || pins.filesMissing === 0) return [];
  return [
    {
      key: "pins",
      arrow: "↓",
      action: "Fetching",
      title: "pinned files",
      name: `Pinned: ${count(pins.filesMissing, "file", "files")} missing`,
      amount: `${size(pins.bytesMissing)} of ${size(pins.bytes)} left`,
      part: pins.bytes > 0 ? 1 - pins.bytesMissing / pins.bytes : 0,
    },
  ];
}

function create() {
  return element(
    "li",
    { class: "transfer" },
    element("span", { class: "name" }),
    element("span", { class: "amount muted" }),
    element("progress", { max: 1 }),
  );
}

function update(node, { arrow, action, title, name, amount, part }) {
  const label = node.querySelector(".name");
  setText(label, `${arrow} ${name}`);
  set(label, "title", title);
  setText(node.querySelector(".amount"), amount);
  set(node.querySelector("progress"), "value", part.toFixed(3));
  set(node.querySelector("progress"), "aria-label", `${action} ${title}`);
}
