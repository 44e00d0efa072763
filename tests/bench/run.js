// The benchmark: our training steps beside those of whoever else trains in a browser, interleaved in one run, the same
// network for all.

import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { root } from '../../tools/programs.mjs';
import { BESIDE_FOLDER } from './contenders/trainlet.js';
import { CONTENDERS, isOurs, LIMITS } from './contenders.js';
import { installPeers } from './install.js';
import { measureRow } from './measure.js';
import { plotRows, plotScaling } from './plot.js';
import { callsText, modelsText, rowReport, rowText, sizesText, summaryText } from './report.js';
import { downloadSizes } from './sizes.js';
import { modelNames, SCALING, stepOf, task, taskNames } from './tasks.js';

const HELP = `npm run bench -- [options]      prints tables, writes build/bench.json and build/bench.svg

  --only W1,W3        rows: ${taskNames.join(', ')}
  --where node        places: chromium, firefox, node, native (default: all but firefox)
  --peers none        contenders beside ours: none, all, or some of ${Object.keys(CONTENDERS)
    .filter((name) => !isOurs(name))
    .join(', ')}
  --rounds 15         rounds of a quarter second each
  --threads 1         threads of ours and of onnxruntime-web's graph; \
from 2 on ours on one thread is measured beside them
  --beside FOLDER     another checkout of this repository, built, beside ours in Chromium, Firefox and Node: \
what a change costs
  --scaling           instead of the rows: a perceptron against its batch, width, depth and number of parameters; \
writes build/bench-scaling.json
                      and build/bench-{batch,width,depth,size}.svg (with --only, some of these axes)
  --operators [NAME …]  instead of the rows: operators alone, at three sizes, beside onnxruntime-web: in Node, or with
                      --page chromium or --page firefox in a page; those whose name contains NAME
                      (tests/bench/operator_rows); with --json as JSON, \
with --write into docs/measured/operator-speed.md
  --gradients         with --operators: their backward passes instead, beside PyTorch (in Node, where there is one) and
                      onnxruntime-web's build for training; with --write into docs/measured/gradient-speed.md
  --models [NAME …]   instead of the rows: networks of ONNX's zoo (${modelNames.join(', ')})
                      with random weights: inference of one picture beside onnxruntime-web, \
a step of four beside PyTorch; in Node
                      and natively if --where does not say otherwise (without native: no steps)
  --generate          instead of the rows: tokens a second of language models beside onnxruntime-web 1.30, in Node
  --calls             instead of the rows: what a run costs beside computing, of few and of many numbers; \
--where node,chromium
`;

const PLACES = {
  chromium: async (options) => (await import('./places/chromium.js')).openChromium(options),
  firefox: async (options) => (await import('./places/firefox.js')).openFirefox(options),
  node: async (options) => (await import('./places/node.js')).openNode(options),
  native: async (options) => (await import('./places/native.js')).openNative(options),
};

function optionsOf() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      only: { type: 'string' },
      where: { type: 'string' },
      peers: { type: 'string', default: 'all' },
      rounds: { type: 'string', default: '15' },
      threads: { type: 'string', default: '1' },
      scaling: { type: 'boolean' },
      beside: { type: 'string' },
      operators: { type: 'boolean' },
      page: { type: 'string' },
      write: { type: 'boolean' },
      gradients: { type: 'boolean' },
      models: { type: 'boolean' },
      calls: { type: 'boolean' },
      generate: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  for (const option of ['page', 'write', 'gradients'])
    if (values[option] !== undefined && !values.operators) throw new RangeError(`--${option} is for --operators.`);
  if (positionals.length && !values.operators && !values.models)
    throw new RangeError(
      `'${positionals[0]}' is not understood: rows are named by --only, operators behind --operators, ` +
        'networks behind --models.',
    );
  const all = values.scaling ? Object.keys(SCALING) : values.models ? modelNames : taskNames;
  const named = values.models && positionals.length ? positionals : values.only?.split(',');
  const rows = named ?? all;
  const known = (what, names, choices) =>
    names.forEach((name) => {
      if (!choices.includes(name)) throw new RangeError(`The ${what} '${name}' is none of ${choices.join(', ')}.`);
    });
  const usual = values.models ? 'node,native' : values.calls ? 'node' : 'chromium,node,native';
  const where = (values.where ?? usual).split(',');
  const peers = values.peers.split(',');
  known('row', rows, all);
  known('place', where, Object.keys(PLACES));
  known('peer', peers, ['all', 'none', ...Object.keys(CONTENDERS)]);
  const threads = Number(values.threads);
  const asked = { 'trainlet-alone': threads > 1, 'trainlet-beside': values.beside !== undefined };
  const wanted = (name) => asked[name] ?? (isOurs(name) || peers.includes('all') || peers.includes(name));
  return { ...values, words: positionals, rows, where, rounds: Number(values.rounds), threads, wanted };
}

/** Brings the package of another checkout to where pages of ours can load it. @param {string} folder */
function bringBeside(folder) {
  if (!['js/engine/trainlet.wasm', 'js/trainlet.wasm'].some((file) => existsSync(join(folder, file))))
    throw new RangeError(
      `There is no trainlet.wasm in '${folder}': it must be a checkout in which npm run build has run.`,
    );
  rmSync(join(root, BESIDE_FOLDER), { recursive: true, force: true });
  for (const part of ['js', 'package.json'])
    cpSync(join(folder, part), join(root, BESIDE_FOLDER, part), { recursive: true });
}

/** Every contender in every place that it can run in; beside networks of the zoo, which are long to open, no limits. */
function entrantsIn(places, { wanted, models }) {
  return Object.entries(places).flatMap(([where, place]) => [
    ...Object.keys(CONTENDERS)
      .filter((name) => wanted(name) && CONTENDERS[name].where.includes(where))
      .map((contender) => ({ contender, place })),
    ...Object.keys(LIMITS)
      .filter((name) => !models && LIMITS[name].includes(where))
      .map((contender) => ({ contender, place, limit: true })),
  ]);
}

const tell = (text) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text} `);
};

/** Measures the named rows, printing each as it comes. */
async function measureRows(names, options) {
  const places = {};
  const rows = [];
  try {
    for (const where of options.where) places[where] = await PLACES[where](options);
    for (const name of names) {
      const entrants = await measureRow(name, entrantsIn(places, options), options, tell);
      tell('');
      rows.push(rowReport(task(name), entrants));
      console.log(rowText(rows.at(-1)));
    }
  } finally {
    for (const place of Object.values(places)) await place.close();
  }
  return rows;
}

function write(name, report) {
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, 'build', name), `${JSON.stringify(report, null, 1)}\n`);
}

async function benchRows(options, context) {
  const rows = await measureRows(options.rows, options);
  const sizes = options.hasPeers ? await downloadSizes() : undefined;
  console.log(summaryText(rows));
  if (sizes) console.log(sizesText(sizes));
  write('bench.json', { ...context, rows, sizes });
  const plots = options.hasPeers ? await plotRows(rows) : [];
  console.log(`\nbuild/bench.json ${plots.join(' ')}`);
  return rows;
}

async function benchScaling(options, context) {
  const names = options.rows.flatMap((axis) => SCALING[axis].values.map((value) => `${axis}:${value}`));
  const rows = await measureRows(names, options);
  const points = rows.flatMap(({ row, mflop, places }) =>
    places.flatMap(({ place, results }) =>
      results
        .filter((r) => r.ms)
        .map((r) => {
          const [axis, value] = row.split(':');
          const where = places.length > 1 ? `, ${place.split(' ')[0]}` : '';
          return {
            axis,
            value: Number(value),
            contender: `${r.title}${where}`,
            ms: r.stepMs,
            mflop,
            disagrees: r.disagrees,
          };
        }),
    ),
  );
  write('bench-scaling.json', { ...context, points });
  const plots = options.hasPeers ? await plotScaling(points.filter((p) => !p.disagrees)) : [];
  console.log(`\nbuild/bench-scaling.json ${plots.join(' ')}`);
  return rows;
}

/** Inference needs no native place, a step no onnxruntime-web, which could only make one of its own by hand. */
async function benchModels(options, context) {
  const only = (contenders) => (name) => contenders.includes(name) && options.wanted(name);
  const ours = ['trainlet', 'trainlet-alone', 'trainlet-beside'];
  const patient = true; // the large ones are as slow as they are
  const forward = { ...options, patient, where: options.where.filter((where) => where !== 'native') };
  const rows = await measureRows(options.rows, { ...forward, wanted: only([...ours, 'ort-graph']) });
  if (options.where.includes('native'))
    rows.push(
      ...(await measureRows(options.rows.map(stepOf), { ...options, patient, wanted: only([...ours, 'pytorch']) })),
    );
  console.log(modelsText(options.rows, rows));
  write('bench-models.json', { ...context, rows });
  return rows;
}

/** In this process, and in a page of Chromium. */
async function benchCalls({ where, rounds }) {
  await installPeers();
  setFlagsFromString('--expose-gc');
  globalThis.gc = runInNewContext('gc');
  const places = { node: () => import('./calls.js').then(({ measureCalls }) => measureCalls(rounds, false)) };
  places.chromium = async () =>
    (await import('./places/chromium.js')).inPage('tests/bench/calls.js', 'measureCalls', [rounds, true]);
  for (const name of where) {
    if (!Object.hasOwn(places, name))
      throw new RangeError(`Calls are measured in node and chromium, not in '${name}'.`);
    console.log(callsText(name, await places[name]()));
  }
}

async function operators({ words, rounds, json, page, write, gradients }) {
  await installPeers();
  const { benchOperators } = await import('./operators.js');
  if (!(await benchOperators(words, { rounds, json, page, write, gradients }))) process.exitCode = 1;
}

async function main() {
  const options = optionsOf();
  if (options.help) return console.log(HELP);
  if (options.calls) return await benchCalls(options);
  if (options.generate) return await (await import('./generate.js')).benchGenerate(options.rounds);
  if (options.operators) return await operators(options);
  if (options.beside !== undefined) bringBeside(options.beside);
  options.hasPeers = Object.keys(CONTENDERS).some((name) => !isOurs(name) && options.wanted(name));
  if (options.hasPeers) await installPeers();
  const { rounds, threads } = options;
  const context = { date: new Date().toISOString(), processor: cpus()[0].model, rounds, threads };
  const bench = options.scaling ? benchScaling : options.models ? benchModels : benchRows;
  const rows = await bench(options, context);
  if (rows.some(({ places }) => places.some(({ results }) => results.some((r) => r.disagrees)))) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof RangeError || error.code?.startsWith('ERR_PARSE_ARGS') ? error.message : error);
  process.exitCode = 1;
}
