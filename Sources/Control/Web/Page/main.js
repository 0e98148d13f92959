// Joins the parts: the mounts that there are, the live report of the chosen one, and its parts of the page.

import * as api from "./api.js";
import { Attention } from "./attention.js";
import { Cards } from "./cards.js";
import { Changes } from "./changes.js";
import { element, setText } from "./dom.js";
import { Plot, Traffic } from "./plot.js";
import { Rows } from "./rows.js";
import { Toolbar } from "./toolbar.js";
import { showTransfers } from "./transfers.js";
import { Tree } from "./tree.js";

/** The items of a report that are asked for; the counts are of all. */
const ITEMS_MAX = 200;
const MOUNTS_INTERVAL = 3_000;
/** The chosen mount stays so long after it has gone: it may be mounted again, as by a service. */
const GONE_MAX = 30_000;
/** The least time between two looks at the rows in sight, and how many times as long as a look it is. */
const ROWS_INTERVAL = 1_000;
const ROWS_REST = 9;
/** After this time they are looked at even if the report has not changed, as after a rename. */
const ROWS_INTERVAL_MAX = 10_000;
const RECONNECT_DELAY = 2_000;
/** What takes longer can be stopped by a button. */
const STOP_DELAY = 300;

const find = (id) => document.getElementById(id);

/** What is known of each mount, by its id: `{mount, report, problem, traffic, seen}`. */
const known = new Map();
let chosen;
let watch = new AbortController();
let tree;

const cards = new Cards(find("cards"), choose);
const attention = new Attention(find("attention-list"), find("attention-rest"), run);
const changes = new Changes(find("changes"), find("changes-list"), find("changes-empty"));
const plot = new Plot(find("plot"));
const toolbar = new Toolbar(find("toolbar"), run);
const rows = new Rows(find("tree"), (paths) => toolbar.select(known.get(chosen)?.mount, paths));

// Mounts

async function findMounts() {
  try {
    const { mounts } = await api.mounts();
    const ids = new Set(mounts.map((mount) => mount.id));
    for (const [id, entry] of known) {
      if (ids.has(id)) entry.seen = Date.now();
      else if (id !== chosen || Date.now() > entry.seen + GONE_MAX) known.delete(id);
    }
    for (const mount of mounts) {
      if (!known.has(mount.id)) known.set(mount.id, newEntry(mount));
    }
    tellConnection(mounts.length === 0 ? "Nothing is mounted; `apus mount` does that." : "");
    // The chosen one reports its changes itself; a request for each of them would take all connections.
    // Not awaited: one that hangs would keep the others from being shown.
    for (const entry of known.values()) ask(entry);
  } catch (error) {
    tellConnection(error.status === 401 ? error.problem.remedy : "Not connected: is `apus web` running?");
  }
  if (!known.has(chosen)) choose(known.keys().next().value);
  showCards();
}

function newEntry(mount) {
  return { mount: new api.Mount(mount), traffic: new Traffic(), seen: Date.now() };
}

async function ask(entry) {
  if (entry.mount.id === chosen || entry.isAsked) return;
  entry.isAsked = true;
  try {
    take(entry, await entry.mount.status(0));
  } catch (error) {
    entry.problem = error.name === "TimeoutError" ? "Its daemon does not answer" : (error.problem?.why ?? error.message);
  }
  entry.isAsked = false;
  showCards();
}

function take(entry, report) {
  entry.report = report;
  entry.problem = undefined;
  entry.traffic.take(report.traffic);
}

function tellConnection(text) {
  setText(find("connection"), text);
}

function showCards() {
  cards.show(
    [...known.values()].map(({ mount, report, problem, traffic }) => ({
      mount,
      report,
      problem,
      rates: traffic.rates,
      isChosen: mount.id === chosen,
    })),
  );
}

// The chosen mount

function choose(id) {
  if (id === chosen && id !== undefined) return;
  chosen = id;
  watch.abort();
  watch = new AbortController();
  find("details").hidden = id === undefined;
  if (id === undefined) return;
  const entry = known.get(id);
  tree = new Tree(entry.mount, () => rows.draw());
  rows.show(tree);
  changes.show(entry.mount);
  setText(find("message"), "");
  showCards();
  if (entry.report) showReport(entry);
  follow(entry, watch.signal);
}

/** Shows each report of a mount until another one is chosen. */
async function follow(entry, signal) {
  while (!signal.aborted) {
    try {
      await entry.mount.watch(ITEMS_MAX, signal, (report) => {
        take(entry, report);
        showReport(entry);
        refreshRows();
      });
      entry.problem = "Its daemon has ended";
    } catch (error) {
      entry.problem = error.problem?.why ?? "Not connected";
    }
    if (signal.aborted) return;
    showCards();
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_DELAY));
  }
}

function showReport(entry) {
  showCards();
  attention.show(entry.mount, entry.report);
  showTransfers(find("transfers"), find("transfers-rest"), entry.report);
}

let nextRefresh = 0;
let isRefreshPlanned = false;

/** Loads the rows in sight again, soon. */
function refreshRows() {
  if (isRefreshPlanned) return;
  isRefreshPlanned = true;
  setTimeout(async () => {
    const start = Date.now();
    await tree?.refresh(rows.pages);
    const cost = Date.now() - start;
    nextRefresh = start + cost + Math.max(ROWS_INTERVAL, ROWS_REST * cost);
    isRefreshPlanned = false;
  }, Math.max(0, nextRefresh - Date.now()));
}

function tick() {
  for (const { traffic } of known.values()) traffic.tick();
  const entry = known.get(chosen);
  if (entry) plot.show(entry.traffic);
  showCards();
  if (!document.hidden && Date.now() > nextRefresh + ROWS_INTERVAL_MAX) refreshRows();
}

// Commands

/**
 * Runs a command for a button, and tells its progress and result.
 *
 * @param work Is given `progress(text)`, which makes the options of a request with progress; returns
 *   the words for the result.
 */
async function run(label, work, button) {
  // Not disabled, which would take its focus.
  if (button.ariaBusy === "true") return;
  button.ariaBusy = "true";
  const message = find("message");
  const stop = new AbortController();
  const stopButton = element("button", { type: "button", click: () => stop.abort() }, "Stop");
  let offer;
  const progress = (text) => {
    // Also if no step arrives, as from a slow remote.
    offer = setTimeout(() => message.append(stopButton), STOP_DELAY);
    return {
      signal: stop.signal,
      each: (step) => {
        if (!step.done) setText(words, `${label}: ${text(step)}`);
      },
    };
  };
  const words = element("span", {}, `${label} …`);
  message.dataset.state = "busy";
  message.replaceChildren(words);
  try {
    words.textContent = await work(progress);
    message.dataset.state = "good";
  } catch (error) {
    words.textContent = `${label}: ${stop.signal.aborted ? "Stopped" : error.message}.`;
    message.dataset.state = stop.signal.aborted ? "good" : "bad";
  }
  clearTimeout(offer);
  stopButton.remove();
  button.ariaBusy = null;
  refreshRows();
}

async function repeat() {
  await findMounts();
  setTimeout(repeat, MOUNTS_INTERVAL);
}

repeat();
setInterval(tick, 1_000);
