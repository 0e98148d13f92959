// Elements, built without markup so that no name of a file can become any.

/** Creates an element; attributes that are functions are listeners. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else set(node, name, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

/** Sets an attribute if it differs, or removes it for false and undefined. */
export function set(node, name, value) {
  if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value === true ? "" : value)) {
    node.setAttribute(name, value === true ? "" : value);
  }
}

/** Sets the text if it differs, so that screen readers hear only changes. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Makes the children of a node those of a list, and keeps the elements of items that stay, with their
 * focus and state.
 */
export function reconcile(parent, items, key, create, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = old.get(name);
    if (child) {
      old.delete(name);
    } else {
      child = create(item);
      child.dataset.key = name;
    }
    // An element that is already in its place is not moved: that would take its focus.
    while (place && place !== child && !keeps(place, items, key)) {
      const next = place.nextElementSibling;
      old.delete(place.dataset.key);
      place.remove();
      place = next;
    }
    if (place === child) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const child of old.values()) child.remove();
}

function keeps(child, items, key) {
  return items.some((item) => key(item) === child.dataset.key);
}
