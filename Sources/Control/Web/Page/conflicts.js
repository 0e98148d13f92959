// Both versions of a file side by side, and the choice between them.

import { element } from "./dom.js";
import { nameOf } from "./format.js";

const CHOICES = [
  ["mine", "Keep mine", "The version of this machine takes the name"],
  ["theirs", "Keep theirs", "The version of this machine is removed"],
  ["both", "Keep both", "Both keep their present names"],
];

/** Fills an entry of the attention list. */
export class ConflictView {
  constructor(mount, item, entry, run) {
    this.mount = mount;
    this.versions = [
      ["This machine", item.path],
      ["Remote", item.conflictsWith],
    ].filter(([, path]) => path !== undefined);
    this.pane = element("div", { class: "versions", hidden: true });
    this.toggle = element(
      "button",
      { type: "button", "aria-expanded": "false", click: () => this.flip() },
      "Compare",
    );
    const buttons = CHOICES.map(([keep, text, hint]) =>
      element(
        "button",
        {
          type: "button",
          title: hint,
          "aria-label": `${text}: ${item.conflictsWith ?? item.path}`,
          click: (event) => run(text, () => this.resolve(item.path, keep), event.currentTarget),
        },
        text,
      ),
    );
    entry.querySelector(".buttons").append(this.toggle, ...buttons);
    entry.append(this.pane);
  }

  async resolve(path, keep) {
    const { path: kept } = await this.mount.command("resolve", { path, keep });
    return keep === "both" ? `Kept both; yours is ${kept}.` : `Kept ${keep} as ${kept}.`;
  }

  flip() {
    this.pane.hidden = !this.pane.hidden;
    this.toggle.setAttribute("aria-expanded", String(!this.pane.hidden));
    if (this.pane.childElementCount > 0) return;
    for (const [label, path] of this.versions) {
      const content = element("div", { class: "content", tabindex: 0, "aria-label": `${label}'s version` });
      this.pane.append(
        element(
          "figure",
          {},
          element("figcaption", {}, element("strong", {}, label), ` ${nameOf(path)}`),
          content,
        ),
      );
      this.fill(content, path);
    }
  }

  async fill(content, path) {
    content.textContent = "Reading …";
    try {
      const blob = await this.mount.preview(path);
      content.replaceChildren(
        blob.type.startsWith("image/")
          ? picture(blob, nameOf(path))
          : element("pre", {}, await blob.text()),
      );
    } catch (error) {
      content.textContent = `Not shown: ${error.message}.`;
    }
  }
}

function picture(blob, name) {
  const address = URL.createObjectURL(blob);
  return element("img", { src: address, alt: name, load: () => URL.revokeObjectURL(address) });
}
