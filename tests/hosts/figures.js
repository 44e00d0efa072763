// docs/measured/hosts.md: the last figures of each host, which `npm run hosts -- --write` keeps.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../support/engines.js';
import { HOSTS } from './recipes.js';

/** @typedef {{ name: string, version: string, told: string, seconds?: number, bytes?: number }} Row */

const PAGE = path.join(root, 'docs/measured/hosts.md');
const HEAD = `# Hosts

Written by \`npm run hosts -- --write\`: the packed package, in a copy of each folder of \`examples/hosts\` with the
packages of that day, in headless Chromium. *Trained* is the seconds from opening the page until the network has
learned, with a press of its button, on two cores that other work shared; *JavaScript* is all that the page and its
dedicated workers loaded until then, each file by brotli, without the engine's wasm file.
[The guide](../guides/hosts.md) says what to write.

| host | version | tried | loss | trained | JavaScript |
|---|---|---|---|---|---|
`;

/** Writes the row of a host; the others stay. @param {Row} row */
export async function writeFigures({ name, version, told, seconds, bytes }) {
  const old = await readFile(PAGE, 'utf8').catch(() => '');
  const lines = new Map([...old.matchAll(/^\| ([\w-]+) \|.*\d.*$/gm)].map(([line, name]) => [name, line]));
  const today = new Date().toISOString().slice(0, 10);
  const figures = [seconds ? `${seconds.toFixed(1)} s` : '–', bytes ? `${Math.round(bytes / 1000)} KB` : '–'];
  lines.set(name, `| ${[name, version || '–', today, told.replace(/^loss /, ''), ...figures].join(' | ')} |`);
  await writeFile(
    PAGE,
    `${HEAD}${Object.keys(HOSTS)
      .flatMap((name) => lines.get(name) ?? [])
      .join('\n')}\n`,
  );
}
