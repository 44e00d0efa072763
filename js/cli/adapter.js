/** Adapters at the command line: what `--lora` says of a new one, and folders as PEFT writes them. */

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { checkPlaces, readData, writeWhole } from './files.js';
import { UsageError } from './run-main.js';

/** @import { AdapterFiles, ArtifactOptions } from '../types.js' */

const FILES = /** @type {const} */ (['adapter_model.safetensors', 'adapter_config.json']);
const NUMBERS = ['r', 'alpha', 'dropout'];
const LISTS = ['targets', 'exclude', 'modulesToSave'];

/** @param {string} directory */
const placesIn = (directory) => FILES.map((name) => path.join(directory, name));

/**
 * `r=8,targets=q_proj,v_proj`, or the file of an adapter's configuration.
 * @param {string | undefined} text
 * @returns {Promise<ArtifactOptions['lora']>}
 */
export async function loraIn(text) {
  if (text === undefined) return undefined;
  return /\.json$/i.test(text) ? await configAt(text) : optionsIn(text);
}

/** @param {string} file @returns {Promise<Record<string, unknown>>} */
async function configAt(file) {
  try {
    return JSON.parse(Buffer.from(await readData(file)).toString());
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError(`${file} is no JSON: ${error.message}`);
    throw error;
  }
}

/** @param {string} text */
function optionsIn(text) {
  /** @type {Record<string, string[]>} */
  const settings = {};
  let key = '';
  for (const part of text.split(',')) {
    const [, name, value] = /^([a-zA-Z-]+)=(.+)$/.exec(part) ?? [undefined, key, part];
    if (!name || !value)
      throw new UsageError(`--lora must be KEY=VALUE, joined by commas, as r=8,targets=q_proj,v_proj, not '${text}'`);
    key = name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
    settings[key] = [...(settings[key] ?? []), value];
  }
  return Object.fromEntries(Object.entries(settings).map(([name, values]) => [name, settingOf(name, values)]));
}

/** @param {string} name @param {string[]} values */
function settingOf(name, values) {
  if (LISTS.includes(name)) return values.length === 1 && values[0] === 'all-linear' ? values[0] : values;
  const [value, more] = values;
  if (more !== undefined) throw new UsageError(`--lora: ${name} has one value, and '${more}' came too`);
  if (name === 'rsLora') return value === 'true';
  if (!NUMBERS.includes(name)) return value;
  if (Number.isFinite(Number(value))) return Number(value);
  throw new UsageError(`--lora: ${name} must be a number, not '${value}'`);
}

/** @param {string} directory */
export async function adapterAt(directory) {
  const [model, config] = await Promise.all(placesIn(directory).map(readData));
  return { 'adapter_model.safetensors': model, 'adapter_config.json': config };
}

/** @param {string} directory @param {boolean} force */
export const checkAdapterPlaces = (directory, force) => checkPlaces(placesIn(directory), force);

/** @param {string} directory @param {AdapterFiles} files @param {boolean} force */
export async function writeAdapter(directory, files, force) {
  await mkdir(directory, { recursive: true });
  const written = FILES.map((name, i) => ({ file: placesIn(directory)[i], bytes: files[name] }));
  await writeWhole(written, { overwrite: force });
}
