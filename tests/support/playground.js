/** Runs blocks of the playground's code in Node, with its functions, and notes what they do. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { moduleOf } from '../../web-demo/play/imports.js';
import { printAll } from '../../web-demo/play/print.js';
import { root } from './engines.js';

const SITE = pathToFileURL(`${root}/`);
const original = { fetch: globalThis.fetch, log: console.log, warn: console.warn };

/** The file of the repository that has an address of the site. @param {URL} url */
const fileOf = (url) => new URL(url.href.replace(`${SITE.href}demo/`, `${SITE.href}web-demo/`));

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
  const given = {
    base: SITE,
    files: [],
    plot: (/** @type {Record<string, number>} */ values) => done.plots.push(values),
    show: (/** @type {object} */ picture) => done.shown.push(picture),
    download: (/** @type {string} */ name) => done.files.push(name),
    startBlock: (/** @type {number} */ at) => {
      block = at;
    },
    fetch: async (/** @type {string | URL} */ address) => {
      const url = new URL(address);
      if (url.protocol !== 'file:') throw new Error(`${url} is not of this site`);
      return new Response(readFileSync(fileOf(url)));
    },
    ...functions,
  };
  const [folder, before] = [mkdtempSync(path.join(tmpdir(), 'trainlet-play-')), process.cwd()];
  try {
    process.chdir(folder); // sessions are saved here
    Object.assign(globalThis, given);
    console.log = log;
    console.warn = log;
    const { code } = moduleOf(blocks, SITE);
    await import(`data:text/javascript,${encodeURIComponent(code)}`);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
    globalThis.fetch = original.fetch;
    Object.assign(console, { log: original.log, warn: original.warn });
  }
  return done;
}
