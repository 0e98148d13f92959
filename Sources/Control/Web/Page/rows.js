// The tree on the screen: only the rows in sight are elements. Keys as in the ARIA pattern for trees.

import { element, reconcile, set, setText } from "./dom.js";
import { size } from "./format.js";

const ROW = 32;
/** Rows beyond the edges, so that scrolling shows no gaps. */
const MARGIN = 8;

const STATES = {
  remote: ["remote", "on the remote only"],
  partial: ["partial", "partly on this machine"],
  local: ["local", "on this machine"],
  dirty: ["changed", "not on the remote yet"],
  excluded: ["excluded", "on this machine only, by --exclude"],
  uploading: ["sending", "being sent"],
  conflict: ["conflict", "displaced by a remote version"],
  failed: ["failed", "could not be sent"],
};

export class Rows {
  /** @param selectionChanged Called with the selected paths. */
  constructor(view, selectionChanged) {
    this.view = view;
    this.selectionChanged = selectionChanged;
    this.canvas = element("div", { class: "canvas", role: "presentation" });
    this.view.replaceChildren(this.canvas);
    this.selected = new Set();
    this.cursor = undefined;
    this.anchor = undefined;
    view.addEventListener("scroll", () => this.draw());
    view.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(view);
  }

  show(tree) {
    this.tree = tree;
    this.cursor = this.anchor = undefined;
    this.view.scrollTop = 0;
    this.select([]);
    this.draw();
  }

  get rows() {
    return this.tree?.rows ?? [];
  }

  /** The first and the last row in sight, and a few more. */
  get range() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / ROW) - MARGIN);
    const number = Math.ceil(this.view.clientHeight / ROW) + 2 * MARGIN;
    return [first, Math.min(this.rows.length, first + number)];
  }

  /** The pages of which rows are in sight. */
  get pages() {
    const found = new Map();
    for (const { node, page, empty } of this.rows.slice(...this.range)) {
      if (node) found.set(page, { folder: node.parent, page });
      for (const page of empty?.pages ?? []) found.set(page, { folder: empty, page });
    }
    return [...found.values()];
  }

  draw() {
    this.canvas.style.height = `${this.rows.length * ROW}px`;
    const [first, end] = this.range;
    const shown = this.rows
      .slice(first, end)
      .map((row, index) => ({ ...row, index: first + index }));
    reconcile(this.canvas, shown, keyOf, (row) => this.create(row), (node, row) => this.update(node, row));
    const current = this.rows.some(({ node }) => node && node === this.cursor) ? this.cursor : undefined;
    set(this.view, "aria-activedescendant", current?.id);
    for (const { more } of shown) if (more) this.tree.loadMore(more);
  }

  // Rows

  create(row) {
    if (row.empty) return element("div", { class: "row note", role: "presentation" }, "Empty folder");
    if (row.more) return element("div", { class: "row note", role: "presentation" });
    return element(
      "div",
      { class: "row", role: "treeitem", id: row.node.id, click: (event) => this.click(row.node, event) },
      element("span", { class: "twisty", "aria-hidden": "true" }),
      element("span", { class: "icon", "aria-hidden": "true" }),
      element("span", { class: "name" }),
      element("span", { class: "pin" }),
      element("span", { class: "state" }),
      element("span", { class: "size" }),
    );
  }

  update(node, row) {
    node.style.top = `${row.index * ROW}px`;
    const depth = row.node?.depth ?? (row.more ?? row.empty).depth + 1;
    node.style.setProperty("--depth", depth);
    if (row.node) updateItem(node, row.node, this.selected.has(row.node.path), row.node === this.cursor);
    else if (row.more) {
      setText(node, row.more.problem ? `Not listed: ${row.more.problem}` : "Loading …");
    }
  }

  click(node, event) {
    this.view.focus({ preventScroll: true });
    const isTwisty = event.target.classList.contains("twisty");
    if (isTwisty && node.isFolder) return this.toggle(node);
    this.move(node, { extends: event.shiftKey, adds: event.ctrlKey || event.metaKey });
    if (event.detail === 2 && node.isFolder) this.toggle(node);
  }

  toggle(node) {
    if (node.isOpen) this.tree.close(node);
    else this.tree.open(node);
  }

  // Selection

  /** Moves the cursor to a node, and selects it, the range from the anchor, or it besides others. */
  move(node, { extends: isRange = false, adds = false } = {}) {
    this.cursor = node;
    if (isRange && this.anchor) this.select(this.between(this.anchor, node));
    else {
      this.anchor = node;
      if (adds) {
        const paths = new Set(this.selected);
        if (!paths.delete(node.path)) paths.add(node.path);
        this.select(paths);
      } else this.select([node.path]);
    }
    this.reveal(node);
    this.draw();
  }

  select(paths) {
    this.selected = new Set(paths);
    this.selectionChanged([...this.selected]);
  }

  between(from, to) {
    const nodes = this.rows.map((row) => row.node);
    const [first, last] = [nodes.indexOf(from), nodes.indexOf(to)].sort((a, b) => a - b);
    if (first < 0) return [to.path];
    return nodes.slice(first, last + 1).filter(Boolean).map((node) => node.path);
  }

  reveal(node) {
    const top = this.rows.findIndex((row) => row.node === node) * ROW;
    if (top < 0) return;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + ROW > this.view.scrollTop + this.view.clientHeight) {
      this.view.scrollTop = top + ROW - this.view.clientHeight;
    }
  }

  // Keys

  press(event) {
    if (event.altKey || event.metaKey) return;
    const isDone = this.handle(event.key, event.shiftKey, event.ctrlKey);
    if (isDone) event.preventDefault();
  }

  handle(key, isRange, isControl) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 1);
    switch (key) {
      case "ArrowDown":
        return this.step(1, isRange);
      case "ArrowUp":
        return this.step(-1, isRange);
      case "PageDown":
        return this.step(page, isRange);
      case "PageUp":
        return this.step(-page, isRange);
      case "Home":
        return this.step(-this.rows.length, isRange);
      case "End":
        return this.step(this.rows.length, isRange);
    }
    const node = this.cursor;
    if (!node) return false;
    switch (key) {
      case "ArrowRight":
        if (node.isFolder && !node.isOpen) this.tree.open(node);
        else if (node.isOpen) this.step(1, false);
        return true;
      case "ArrowLeft":
        if (node.isOpen) this.tree.close(node);
        else if (node.parent.depth >= 0) this.move(node.parent);
        return true;
      case "Enter":
        if (node.isFolder) this.toggle(node);
        return true;
      case " ":
        this.move(node, { adds: true, extends: isRange && !isControl });
        return true;
    }
    return false;
  }

  step(by, isRange) {
    const rows = this.rows;
    const current = rows.findIndex((row) => row.node && row.node === this.cursor);
    // Without a cursor, the first step forward is to the first row.
    const wanted = current < 0 ? by - 1 : current + by;
    let index = Math.max(0, Math.min(rows.length - 1, wanted));
    // A row that is no item is passed, or, at the end, left alone.
    while (rows[index] && !rows[index].node) index -= 1;
    if (rows[index]) this.move(rows[index].node, { extends: isRange });
    return true;
  }
}

function keyOf({ node, more, empty }) {
  return node ? node.id : more ? `more-${more.id}` : `empty-${empty.id}`;
}

function updateItem(row, node, isSelected, isCurrent) {
  const { item } = node;
  const part = (name) => row.querySelector(`.${name}`);
  const [word, meaning] = STATES[item.state] ?? [item.state, item.state];
  const state = item.percent !== undefined ? `${word} ${item.percent} %` : word;
  setText(part("name"), node.name);
  set(part("name"), "title", item.path);
  setText(part("twisty"), node.isFolder ? (node.isOpen ? "▾" : "▸") : "");
  set(part("icon"), "data-kind", item.kind);
  setText(part("state"), state);
  set(part("state"), "data-state", item.state);
  set(part("state"), "title", meaning);
  setText(part("pin"), item.pin ? "pinned" : "");
  set(part("pin"), "data-pin", item.pin);
  set(part("pin"), "title", item.pin === "inherited" ? "with a folder above" : undefined);
  setText(part("size"), node.isFolder ? "" : size(item.bytes));
  set(row, "aria-level", node.depth + 1);
  set(row, "aria-selected", String(isSelected));
  set(row, "aria-expanded", node.isFolder ? String(node.isOpen) : undefined);
  const labels = [node.name, node.isFolder ? "folder" : size(item.bytes), state, item.pin ? "pinned" : ""];
  set(row, "aria-label", labels.filter(Boolean).join(", "));
  row.classList.toggle("current", isCurrent);
}
