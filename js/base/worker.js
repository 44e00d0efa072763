/** Starts the workers of a page, from scripts on any origin. */

/**
 * Blob URLs by the module that each imports.
 * @type {Map<string, string>}
 */
const scripts = new Map();

/**
 * A browser starts no worker from a script of another origin, as a CDN's: a script of the page's own imports it.
 * @param {URL} url of a module
 */
export function workerFrom(url) {
  const isForeign = url.protocol.startsWith('http') && url.origin !== globalThis.origin;
  return new Worker(isForeign ? importing(url.href) : url, { type: 'module' });
}

/** @param {string} href */
function importing(href) {
  const script = scripts.get(href) ?? URL.createObjectURL(new Blob([`import "${href}"`], { type: 'text/javascript' }));
  scripts.set(href, script);
  return script;
}
