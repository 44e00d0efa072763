// The benchmark: our training steps and onnxruntime-web 1.19.2's, interleaved in one run of headless Chromium, one thread, each in a Web Worker.
//
//   npm run bench -- [--rounds N] [--only TEXT]      prints a table, writes build/bench.json

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus } from 'node:os';
import { extname, join, normalize, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { findChromium, root } from '../../wasm/tools.mjs';
import { tasks } from './tasks.js';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '21' }, only: { type: 'string', default: '' } } });

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm', '.html': 'text/html' };
const PAGE = '<!doctype html><title>bench</title>';

/** Serves the repository at / and the folder of a peer at /peers/ort/; isolated, so that the clock is exact to 5 µs. */
function serve(ortFolder) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const folder = pathname.startsWith('/peers/ort/') ? ortFolder : root;
    const path = normalize(join(folder, decodeURIComponent(pathname.replace('/peers/ort/', '/'))));
    const isolated = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cache-Control': 'no-store' };
    if (pathname === '/') return response.writeHead(200, { ...isolated, 'Content-Type': TYPES['.html'] }).end(PAGE);
    if (!path.startsWith(folder.endsWith(sep) ? folder : folder + sep) || !existsSync(path)) return response.writeHead(404, isolated).end();
    response.writeHead(200, { ...isolated, 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(readFileSync(path));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** The peer's dist folder; installed beside this file where the repository's own node_modules has not got it. */
function ortFolder() {
  const places = ['node_modules', 'tests/bench/node_modules'].map((place) => join(root, place, 'onnxruntime-web/dist'));
  const wanted = () => places.find((place) => existsSync(join(place, 'ort.training.wasm.min.mjs')));
  if (!wanted()) {
    const options = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
    execFileSync('npm', options, { cwd: join(root, 'tests/bench'), stdio: 'inherit' });
  }
  return wanted();
}

/** In the page: a worker for each contender. */
function installBench() {
  const workers = {};
  const ask = (worker, message) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(message);
  });
  globalThis.openContender = (name, task) => {
    workers[name] = new Worker('/tests/bench/contender.js', { type: 'module' });
    return ask(workers[name], { open: task });
  };
  globalThis.measureContender = (name, steps) => ask(workers[name], { measure: steps });
}

/** Sorted copy's element at share q. */
function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** What a page downloads: every .js of js/ but the command line, and the wasm file. */
function packageSizes() {
  const files = readdirSync(join(root, 'js')).filter((name) => name.endsWith('.js') || name.endsWith('.wasm'));
  const sizes = files.map((name) => {
    const bytes = readFileSync(join(root, 'js', name));
    return { name, raw: bytes.length, brotli: brotliCompressSync(bytes).length };
  });
  const sum = (key, test) => sizes.filter(test).reduce((total, size) => total + size[key], 0);
  const isWasm = ({ name }) => name.endsWith('.wasm');
  return {
    wasm: { raw: sum('raw', isWasm), brotli: sum('brotli', isWasm) },
    js: { raw: sum('raw', (s) => !isWasm(s)), brotli: sum('brotli', (s) => !isWasm(s)) },
    totalBrotli: sum('brotli', () => true),
  };
}

async function measureAll(page, contenders, rounds) {
  for (const task of contenders) {
    const { name, steps, mflop, group, ...rest } = task;
    Object.assign(task, { opened: await page.evaluate(([n, t]) => globalThis.openContender(n, t), [name, rest]), ms: [] });
    await page.evaluate(([n, s]) => globalThis.measureContender(n, s), [name, steps]); // the compiler's second tier arrives
  }
  for (let round = 0; round < rounds; round++) {
    for (const task of contenders) {
      const { ms, loss } = await page.evaluate(([n, s]) => globalThis.measureContender(n, s), [task.name, task.steps]);
      if (!Number.isFinite(loss)) throw new Error(`${task.name}: the loss is ${loss}`);
      task.ms.push(ms);
      task.loss = loss;
    }
    if (process.stderr.isTTY) process.stderr.write(`\rround ${round + 1} of ${rounds} `);
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

function resultOf(task) {
  const median = quantile(task.ms, 0.5);
  return {
    name: task.name, group: task.group, batch: task.recipe.batch, medianMs: median, lowMs: quantile(task.ms, 0.25), highMs: quantile(task.ms, 0.75),
    bestMs: Math.min(...task.ms), gflops: task.mflop / median, mflop: task.mflop, createMs: task.opened.createMs,
    firstStepMs: task.opened.firstStepMs, memory: task.opened.memory ?? null, firstLoss: task.opened.loss, lastLoss: task.loss,
  };
}

function print(report) {
  const mib = (bytes) => (bytes === undefined ? '–' : (bytes / 2 ** 20).toFixed(1));
  const rows = [['', 'ms a step', 'quartiles', 'best', 'GFLOP/s', 'create ms', 'first step ms', 'plan peak MiB']];
  for (const r of report.results) {
    rows.push([r.name, r.medianMs.toFixed(2), `${r.lowMs.toFixed(2)}–${r.highMs.toFixed(2)}`, r.bestMs.toFixed(2), r.gflops.toFixed(1), r.createMs.toFixed(0),
      r.firstStepMs.toFixed(1), mib(r.memory?.peakBytes)]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) console.log(row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '));
  for (const { group, ratio } of report.ratios) console.log(`${group}: trainlet takes ${ratio.toFixed(2)} of onnxruntime-web's time`);
  const kb = (bytes) => (bytes / 1024).toFixed(1);
  const { wasm, js, totalBrotli } = report.sizes;
  console.log(`wasm ${kb(wasm.raw)} KB, ${kb(wasm.brotli)} KB brotli; JS ${kb(js.raw)} KB, ${kb(js.brotli)} KB brotli; together ${kb(totalBrotli)} KB brotli`);
  console.log(`${report.browser}, ${report.processor}, one thread, ${report.rounds} rounds interleaved`);
}

/** The median of the ratios of one round: what the machine does meanwhile hits both. */
function ratiosOf(contenders) {
  const pairs = contenders.filter((task) => task.ort).map((ort) => [ort, contenders.find((task) => task.group === ort.group && !task.ort)]);
  return pairs.filter(([, ours]) => ours).map(([ort, ours]) => ({ group: ort.group, ratio: quantile(ours.ms.map((ms, i) => ms / ort.ms[i]), 0.5) }));
}

const rounds = Number(options.rounds);
const server = await serve(ortFolder());
const contenders = tasks('/peers/ort/').filter((task) => task.name.includes(options.only));
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(error));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(installBench);
  await measureAll(page, contenders, rounds);
  const report = {
    date: new Date().toISOString(), browser: `Chromium ${browser.version()}`, processor: cpus()[0].model, rounds, sizes: packageSizes(),
    results: contenders.map(resultOf), ratios: ratiosOf(contenders),
  };
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, 'build/bench.json'), `${JSON.stringify(report, null, 1)}\n`);
  print(report);
} finally {
  await browser.close();
  server.close();
}
