// The throughput of the last minutes: bytes sent and received, a sample a second.

import { setText } from "./dom.js";
import { rate } from "./format.js";

const SECONDS = 300;
const WIDTH = 600;
const HEIGHT = 80;
/** Seconds over which the current rate is taken. */
const RECENT = 10;
const NAMESPACE = "http://www.w3.org/2000/svg";

/** The bytes of each second, from counters that only grow. */
export class Traffic {
  constructor() {
    this.samples = [];
    this.last = undefined;
    this.current = { sent: 0, received: 0 };
  }

  /** Takes the counters of a report. */
  take(traffic) {
    if (!traffic) return;
    // A daemon that was started again counts from zero.
    if (this.last && traffic.sent >= this.last.sent && traffic.received >= this.last.received) {
      this.current.sent += traffic.sent - this.last.sent;
      this.current.received += traffic.received - this.last.received;
    }
    this.last = traffic;
  }

  /** Ends a second. */
  tick() {
    this.samples.push(this.current);
    if (this.samples.length > SECONDS) this.samples.shift();
    this.current = { sent: 0, received: 0 };
  }

  /** The bytes a second of late. */
  get rates() {
    const recent = this.samples.slice(-RECENT);
    const mean = (name) =>
      recent.length === 0 ? 0 : recent.reduce((sum, sample) => sum + sample[name], 0) / recent.length;
    return { sent: mean("sent"), received: mean("received") };
  }
}

export class Plot {
  constructor(parent) {
    this.picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
    });
    this.received = svg("path", { class: "received" });
    this.sent = svg("path", { class: "sent" });
    this.picture.append(this.received, this.sent);
    this.legend = {};
    const legend = document.createElement("p");
    legend.className = "legend";
    for (const name of ["sent", "received", "most"]) {
      this.legend[name] = document.createElement("span");
      this.legend[name].className = name;
      legend.append(this.legend[name]);
    }
    parent.append(this.picture, legend);
  }

  show(traffic) {
    const { samples, rates } = traffic;
    const most = Math.max(1, ...samples.map((sample) => Math.max(sample.sent, sample.received)));
    this.sent.setAttribute("d", area(samples, "sent", most));
    this.received.setAttribute("d", area(samples, "received", most));
    setText(this.legend.sent, `↑ ${rate(rates.sent)}`);
    setText(this.legend.received, `↓ ${rate(rates.received)}`);
    setText(this.legend.most, most > 1 ? `5 minutes, at most ${rate(most)}` : "5 minutes");
    this.picture.setAttribute(
      "aria-label",
      `Throughput of the last 5 minutes: now ${rate(rates.sent)} sent, ${rate(rates.received)} received`,
    );
  }
}

function area(samples, name, most) {
  if (samples.length === 0) return "";
  const x = (index) => ((SECONDS - samples.length + index) / (SECONDS - 1)) * WIDTH;
  const y = (value) => HEIGHT - 1 - (value / most) * (HEIGHT - 4);
  const points = samples.map((sample, index) => `${x(index).toFixed(1)},${y(sample[name]).toFixed(1)}`);
  return `M${x(0).toFixed(1)},${HEIGHT} L${points.join(" L")} L${WIDTH},${HEIGHT} Z`;
}

function svg(tag, attributes) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
