// Small helpers to build elements.

/** @param {string} selector @returns {any} */
export const $ = (selector) => document.querySelector(selector);

/**
 * @param {string} tag @param {Record<string, unknown>} [properties] attributes with a dash or `scope` are set as such
 * @param {...(Node | string)} children
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'scope') element.setAttribute(key, String(value));
    else Object.assign(element, { [key]: value });
  }
  element.append(...children);
  return element;
}

/** @param {HTMLElement} place @param {string} [words] none: it is hidden */
export function say(place, words) {
  place.hidden = !words;
  place.textContent = words ?? '';
}

/**
 * A table with a caption for those who cannot see it.
 * @param {string} caption @param {string[]} head @param {(Node | string)[][]} rows
 */
export function tableOf(caption, head, rows) {
  const cells = (/** @type {(Node | string)[]} */ row) =>
    row.map((cell, i) => (i ? make('td', {}, cell) : make('th', { scope: 'row' }, cell)));
  return make(
    'table',
    {},
    make('caption', { className: 'unseen' }, caption),
    make('thead', {}, make('tr', {}, ...head.map((name) => make('th', { scope: 'col' }, name)))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...cells(row)))),
  );
}

/** @param {readonly string[]} sentences */
export const listOf = (sentences) => make('ul', { className: 'sentences' }, ...sentences.map((s) => make('li', {}, s)));
