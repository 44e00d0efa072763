// The program for the playground, which reads the files that are opened there, and the link that opens it.

import { hashOf } from '../play/link.js';
import { codeOf } from './code.js';
import { literal } from './literal.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {import('./recipe.js').Recipe} Recipe
 */

const FILE = [
  'const file = (name) => {',
  '  const found = files.find((one) => one.name === name);',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a line of the program
  '  if (!found) throw new Error(`Open ${name} first, by "Open files".`);',
  '  return found;',
  '};',
];
const BYTES = ['const bytesOf = async (name) => new Uint8Array(await file(name).arrayBuffer());'];

/**
 * @param {Model} model @param {Recipe} recipe @param {Data} data @param {string} readers the text of npy.js
 * @param {string} [table] the text of an example's table, which stands in the program
 * @returns {string | undefined} undefined: pictures in folders, and models of several files, cannot be opened there
 */
export function playgroundCode(model, recipe, data, readers, table) {
  const isInParts = Object.keys(model.externalData).length > 0 || model.weights.length > 0;
  if (data.kind === 'pictures' || isInParts) return undefined;
  const isFile = !model.made && !model.isPackaged;
  const opens = data.kind === 'arrays' || isFile || (data.kind === 'table' && !table);
  return codeOf(model, recipe, data, readers, {
    before: [...(table ? [`const tableText = \`${table}\`;`] : []), ...(opens ? FILE : [])],
    file: (name) => (table && name !== model.name ? 'tableText' : `file(${literal(name)})`),
    bytes: BYTES,
  });
}

/** @param {string} code */
export const playgroundLink = async (code) => `../play/${await hashOf(code)}`;
