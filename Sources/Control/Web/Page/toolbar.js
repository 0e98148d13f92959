// The commands for the selected files.

import { element } from "./dom.js";
import { count, size } from "./format.js";

const COMMANDS = [
  ["Pin", "Keep on this machine", pin],
  ["Unpin", "Need not stay on this machine", unpin],
  ["Download", "Fetch all bytes now", download],
  ["Evict", "Free the local copies; they stay on the remote", evict],
  ["Send now", "Send changes at once, also those that have failed", sendNow],
  ["Refresh", "Look at the remote now for changes by others", refresh],
];

export class Toolbar {
  /** @param run Runs a command and tells its result; see `main.js`. */
  constructor(parent, run) {
    this.buttons = COMMANDS.map(([text, hint, work]) =>
      element(
        "button",
        {
          type: "button",
          title: hint,
          disabled: true,
          click: (event) =>
            run(text, (progress) => work(this.mount, this.paths, progress), event.currentTarget),
        },
        text,
      ),
    );
    parent.append(...this.buttons);
    this.paths = [];
  }

  /** Sets what the commands are for. */
  select(mount, paths) {
    this.mount = mount;
    this.paths = paths;
    for (const button of this.buttons) button.disabled = paths.length === 0;
  }
}

async function pin(mount, paths, progress) {
  const last = await mount.progress("pin", { paths, wait: false }, progress((step) => filesOf(step, "Counting")));
  const missing = last.bytesMissing > 0 ? `; ${size(last.bytesMissing)} are being fetched` : "";
  return `Pinned ${count(last.files, "file", "files")}${missing}.`;
}

async function unpin(mount, paths) {
  const { unpinned } = await mount.command("unpin", { paths });
  return unpinned > 0 ? `Unpinned ${count(unpinned, "item", "items")}.` : "Nothing of it was pinned.";
}

async function download(mount, paths, progress) {
  const last = await mount.progress("download", { paths }, progress((step) => filesOf(step, "Downloading")));
  if (last.failed.length > 0) throw new Error(`${last.failed[0].path}: ${last.failed[0].error.why}`);
  return `${count(last.files, "file is", "files are")} on this machine.`;
}

async function evict(mount, paths) {
  const { files, bytesFreed, bytesLeaving, refused } = await mount.command("evict", { paths });
  const freed = `Freed ${size(bytesFreed + bytesLeaving)} of ${count(files, "file", "files")}`;
  if (refused.length === 0) return `${freed}.`;
  const [{ path, reason }] = refused;
  const more = refused.length > 1 ? ` and ${refused.length - 1} more` : "";
  throw new Error(`${freed}, and kept ${path || "the mount"}${more}: ${reason}`);
}

async function sendNow(mount, paths, progress) {
  const last = await mount.progress(
    "sync",
    { paths, timeout: 20 },
    progress((step) => `Sending: ${count(step.pending - (step.open ?? 0), "item", "items")}, ${size(step.bytesPending)} left.`),
  );
  const failure = last.failed[0] ?? last.waiting?.find((item) => item.attempts > 0);
  if (failure) throw new Error(`${failure.path}: ${failure.error.why}`);
  if (last.unreachable) throw new Error(last.unreachable.why);
  if (!last.timedOut) return "Everything of it is on the remote.";
  const [next] = last.waiting ?? [];
  return next ? `Not all of it is sent yet. ${next.path}: ${next.error.why}.` : "It is being sent.";
}

async function refresh(mount, paths, progress) {
  const last = await mount.progress(
    "refresh",
    { paths },
    progress((step) => `Looked at ${count(step.folders, "folder", "folders")}.`),
  );
  return `${count(last.folders, "folder is", "folders are")} up to date.`;
}

function filesOf({ files, filesMissing, bytesMissing }, verb) {
  return filesMissing > 0
    ? `${verb}: ${filesMissing} of ${count(files, "file", "files")}, ${size(bytesMissing)} left.`
    : `${verb}: ${count(files, "file", "files")}.`;
}
