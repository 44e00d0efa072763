/** Runs blocks of the playground's code in Node, with its functions, and notes what they do. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { moduleOf } from '../../web-demo/play/imports.js';
import { printAll } from '../../web-demo/play/print.js';
import { root } from './engines.js';

const original = { fetch: globalThis.fetch, log: console.log, warn: console.warn };
/** Folders of the repository by their address in the site. */
const PLACES = { demo: 'web-demo', play: 'web-demo/play', js: 'js', models: 'models', node_modules: 'node_modules' };

/**
 * The lines that each block printed, and all charts, pictures and files. One run at a time.
 * @param {string[]} blocks
 * @param {Record<string, unknown>} [functions] in place of those here
 */
export async function runInNode(blocks, functions = {}) {
  /** @type {{ printed: string[][], plots: Record<string, number>[], shown: object[], files: string[] }} */
  const done = { printed: blocks.map(() => []), plots: [], shown: [], files: [] };
  let block = 0;
  const log = (/** @type {unknown[]} */ ...values) => done.printed[block].push(...printAll(values).split('\n'));
  const [folder, before] = [mkdtempSync(path.join(tmpdir(), 'trainlet-play-')), process.cwd()];
  const site = pathToFileURL(`${folder}/site/`);
  const given = {
    base: site,
    files: [],
    draw: async (/** @type {string} */ _, /** @type {number} */ count, /** @type {(i: number) => object} */ example) =>
      Array.from({ length: count }, (_each, i) => example(i)),
    plot: (/** @type {Record<string, number>} */ values) => done.plots.push(values),
    show: (/** @type {object} */ picture) => done.shown.push(picture),
    download: (/** @type {string} */ name) => done.files.push(name),
    startBlock: (/** @type {number} */ at) => {
      block = at;
    },
    fetch: async (/** @type {string | URL} */ address) => {
      const url = new URL(address);
      if (url.protocol !== 'file:') throw new Error(`${url} is not of this site`);
      return new Response(readFileSync(url));
    },
    ...functions,
  };
  try {
    mkdirSync(site);
    for (const [address, place] of Object.entries(PLACES)) symlinkSync(path.join(root, place), new URL(address, site));
    process.chdir(folder); // sessions are saved here
    Object.assign(globalThis, given);
    console.log = log;
    console.warn = log;
    const { code } = moduleOf(blocks, site);
    const file = path.join(folder, 'code.mjs');
    writeFileSync(file, code);
    await import(pathToFileURL(file).href);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
    globalThis.fetch = original.fetch;
    Object.assign(console, { log: original.log, warn: original.warn });
  }
  return done;
}
