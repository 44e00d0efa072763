/** Workers from another origin, as a CDN's: no browser starts them, so a script of the page's own imports theirs. */

/**
 * Blob URLs by the module that each imports.
 * @type {Map<string, string>}
 */
const scripts = new Map();

/** @param {URL} url */
export function importing({ href }) {
  const script = scripts.get(href) ?? URL.createObjectURL(new Blob([`import "${href}"`], { type: 'text/javascript' }));
  scripts.set(href, script);
  return script;
}
