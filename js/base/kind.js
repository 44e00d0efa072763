/** Built-in classes, of any realm: those of a frame, or of a test's jsdom, are others than this module's. */

/**
 * @typedef {'ArrayBuffer' | 'Blob' | 'DataView' | 'Float32Array' | 'Float64Array' | 'Int32Array' | 'Map' | 'Promise'
 *   | 'Response' | 'Uint8Array' | 'Uint8ClampedArray' | 'URL'} Kind
 */

/** @param {unknown} value @returns {string} as 'Uint8Array', also of a Buffer */
export const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

/**
 * @template {Kind} K
 * @param {unknown} value
 * @param {K} kind
 * @returns {value is InstanceType<(typeof globalThis)[K]>}
 */
export const isKind = (value, kind) =>
  kindOf(value).replace(/^File$/, 'Blob') === kind || (kind in globalThis && value instanceof globalThis[kind]);
