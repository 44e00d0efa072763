/** The engine's files, where the command line reads them. */

/** @param {string} name as 'trainlet.wasm' */
export const engineFile = (name) => new URL(name, import.meta.url);
