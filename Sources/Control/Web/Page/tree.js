// The folders of a mount as far as they are open, page by page; no request is for more than a page.

import { nameOf } from "./format.js";

const PAGE = 500;

let nodeCount = 0;

/** A file or folder; a folder that is open has the pages that were loaded. */
class Node {
  constructor(parent, item) {
    this.id = `row-${(nodeCount += 1)}`;
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : -1;
    this.isOpen = false;
    /** `{after, next, items}`; `next` is undefined on the last page of the folder. */
    this.pages = [];
    this.isLoading = false;
    this.problem = undefined;
    this.take(item);
  }

  take(item) {
    this.item = item;
    this.path = item.path;
    this.name = nameOf(item.path);
    this.isFolder = item.kind === "directory";
  }

  /** Whether names follow that were not loaded. */
  get hasMore() {
    return this.pages.length === 0 || this.pages.at(-1).next !== undefined;
  }
}

export class Tree {
  /** @param changed Called after each change of ``rows``. */
  constructor(mount, changed) {
    this.mount = mount;
    this.changed = changed;
    this.root = new Node(undefined, { path: "", kind: "directory" });
    this.root.isOpen = true;
    /** Folders that could not be listed. */
    this.failed = new Set();
    /** What is to be seen, from top to bottom: `{node}`, or `{more}` for the rest of a folder. */
    this.rows = [];
    this.update();
  }

  open(node) {
    if (!node.isFolder || node.isOpen) return;
    node.isOpen = true;
    this.update();
  }

  /** Forgets the pages, so that a folder that is opened again is as it is then. */
  close(node) {
    node.isOpen = false;
    node.pages = [];
    node.problem = undefined;
    this.update();
  }

  /** Loads the next page of a folder, unless that is under way. */
  async loadMore(node) {
    if (node.isLoading || node.problem || !node.hasMore) return;
    await this.loading(node, async () => {
      const after = node.pages.at(-1)?.next;
      const { items, next } = await this.mount.list(node.path, after, PAGE);
      node.pages.push({ after, next, items: items.map((item) => new Node(node, item)) });
    });
  }

  /** Loads pages again of which something is to be seen, and folders that could not be listed. */
  async refresh(pages) {
    for (const folder of this.failed) folder.problem = undefined;
    if (this.failed.size > 0) this.update();
    this.failed.clear();
    for (const { folder, page } of pages) {
      if (folder.isLoading || !folder.pages.includes(page)) continue;
      await this.loading(folder, async () => {
        const { items, next } = await this.mount.list(folder.path, page.after, PAGE);
        const old = new Map(page.items.map((node) => [node.path, node]));
        page.items = items.map((item) => {
          const node = old.get(item.path);
          if (!node || node.isFolder !== (item.kind === "directory")) return new Node(folder, item);
          node.take(item);
          return node;
        });
        // The next page begins elsewhere now: what follows is loaded again when it is needed.
        const index = folder.pages.indexOf(page);
        if (next !== page.next && index >= 0) folder.pages.splice(index + 1);
        page.next = next;
      });
    }
  }

  async loading(node, work) {
    node.isLoading = true;
    try {
      await work();
      node.problem = undefined;
    } catch (error) {
      node.problem = error.message;
      this.failed.add(node);
    }
    node.isLoading = false;
    this.update();
  }

  update() {
    const rows = [];
    collect(this.root, rows);
    this.rows = rows;
    this.changed();
  }
}

function collect(folder, rows) {
  for (const page of folder.pages) {
    for (const node of page.items) {
      rows.push({ node, page });
      if (node.isOpen) collect(node, rows);
    }
  }
  if (folder.hasMore || folder.problem) rows.push({ more: folder });
  else if (folder.pages.every((page) => page.items.length === 0)) rows.push({ empty: folder });
}
