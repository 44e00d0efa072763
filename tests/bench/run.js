// The benchmark: our training steps beside those of whoever else trains in a browser, interleaved in one run, the same network for all.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../wasm/tools.mjs';
import { CONTENDERS, isOurs, LIMITS } from './contenders.js';
import { installPeers } from './install.js';
import { measureRow } from './measure.js';
import { rowReport, rowText, summaryText } from './report.js';
import { task, taskNames } from './tasks.js';

const HELP = `npm run bench -- [options]      prints tables, writes build/bench.json and build/bench.svg

  --only W1,W3        rows: ${taskNames.join(', ')}
  --where node        places: chromium, node, native (default: all three)
  --peers none        contenders beside ours: none, all, or some of ${Object.keys(CONTENDERS).filter((name) => !isOurs(name)).join(', ')}
  --rounds 15         rounds of about 60 ms each
  --threads 1         threads of ours and of onnxruntime-web's graph
  --scaling           instead of the rows: batch 1…256, width, depth, and 10⁴…10⁸ parameters
`;

const PLACES = {
  chromium: async (options) => (await import('./places/chromium.js')).openChromium(options),
  node: async (options) => (await import('./places/node.js')).openNode(options),
  native: async (options) => (await import('./places/native.js')).openNative(options),
};

function optionsOf() {
  const { values } = parseArgs({ options: {
    help: { type: 'boolean' }, only: { type: 'string' }, where: { type: 'string', default: 'chromium,node,native' }, peers: { type: 'string', default: 'all' },
    rounds: { type: 'string', default: '15' }, threads: { type: 'string', default: '1' }, scaling: { type: 'boolean' },
  } });
  const rows = values.only?.split(',') ?? taskNames;
  const known = (what, names, all) => names.forEach((name) => { if (!all.includes(name)) throw new RangeError(`${what} '${name}' is none of ${all.join(', ')}`); });
  const where = values.where.split(',');
  const peers = values.peers.split(',');
  known('row', values.scaling ? [] : rows, taskNames);
  known('place', where, Object.keys(PLACES));
  known('peer', peers, ['all', 'none', ...Object.keys(CONTENDERS)]);
  return { ...values, rows, where, rounds: Number(values.rounds), threads: Number(values.threads), wanted: (name) => isOurs(name) || peers.includes('all') || peers.includes(name) };
}

/** Every contender in every place that it can run in. */
function entrantsIn(places, { wanted }) {
  return Object.entries(places).flatMap(([where, place]) => [
    ...Object.keys(CONTENDERS).filter((name) => wanted(name) && CONTENDERS[name].where.includes(where)).map((contender) => ({ contender, place })),
    ...Object.keys(LIMITS).filter((name) => LIMITS[name].includes(where)).map((contender) => ({ contender, place, limit: true })),
  ]);
}

const tell = (text) => { if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text} `); };

async function main() {
  const options = optionsOf();
  if (options.help) return console.log(HELP);
  if (Object.keys(CONTENDERS).some((name) => !isOurs(name) && options.wanted(name))) await installPeers();
  const places = {};
  const rows = [];
  try {
    for (const where of options.where) places[where] = await PLACES[where](options);
    for (const name of options.rows) {
      const entrants = await measureRow(name, entrantsIn(places, options), options.rounds, tell);
      tell('');
      rows.push(rowReport(task(name), entrants));
      console.log(rowText(rows.at(-1)));
    }
  } finally {
    for (const place of Object.values(places)) await place.close();
  }
  console.log(summaryText(rows));
  const { rounds, threads } = options;
  write({ date: new Date().toISOString(), processor: cpus()[0].model, rounds, threads, rows });
  if (rows.some(({ places }) => places.some(({ results }) => results.some((r) => r.disagrees)))) process.exitCode = 1;
}

function write(report) {
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, 'build/bench.json'), `${JSON.stringify(report, null, 1)}\n`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof RangeError || error.code?.startsWith('ERR_PARSE_ARGS') ? error.message : error);
  process.exitCode = 1;
}
