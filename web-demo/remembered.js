// Remembers values of a page in localStorage, which may be damaged, full or forbidden: then it remembers nothing.

/** @param {string} key */
export function remembered(key) {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} key @param {string} [text] none: it is forgotten */
export function setRemembered(key, text) {
  try {
    if (text === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {} // the page goes on without
}

/**
 * A list that was remembered as JSON, if it is one.
 * @template T
 * @param {string} key
 * @param {(one: any) => one is T} isOne
 * @returns {T[] | undefined}
 */
export function rememberedList(key, isOne) {
  try {
    const list = JSON.parse(remembered(key) ?? '');
    return Array.isArray(list) && list.every(isOne) ? list : undefined;
  } catch {
    return undefined;
  }
}
