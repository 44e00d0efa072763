// Tries each host as its user would: a copy of the example in a fresh folder, its packages of today and the packed
// package, a build, and the page in headless Chromium, where its button trains. docs/guides/hosts.md says what each
// needs.
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { launch } from '../browser/visitor.js';
import { pack } from '../packed.js';
import { root } from '../support/engines.js';
import { writeFigures } from './figures.js';
import { HOSTS } from './recipes.js';
import { serveBy, serveFolder } from './serve.js';
import { visit, visitExtension } from './visit.js';

/** @import { Host } from './recipes.js' */

const HELP = `npm run hosts -- [options] [NAME …]    trains in the folders of examples/hosts, and in more bundlers
  NAME      ${Object.keys(HOSTS).join(', ')} (all)
  --write   writes the figures of these into docs/measured/hosts.md
  --keep    leaves the folders where they are, and tells where
  --help
It installs packages from npm, so it is no part of npm test.`;

const HERE_IS = path.join(root, 'tests/hosts');
const HTML =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body><script type="module" src="SRC"></script>';
const execute = promisify(execFile);
/** @param {string} command @param {string} cwd */
const run = (command, cwd) => execute('sh', ['-c', command], { cwd, maxBuffer: 1 << 26 });

/** A folder with the host's files and packages. @param {string} folder @param {string} name @param {string} tarball */
async function prepare(folder, name, tarball) {
  const { example = name, packages = [], files = {}, html, script = './everything.js' } = HOSTS[name];
  if (example) await cp(path.join(root, 'examples/hosts', example), folder, { recursive: true });
  else await writeFile(path.join(folder, 'package.json'), '{ "name": "page", "private": true, "type": "module" }\n');
  await run(`npm install --no-audit --no-fund --loglevel error ${packages.join(' ')} ${tarball}`, folder);
  if (example) return;
  await mkdir(path.join(folder, 'dist'));
  if (html) await writeFile(path.join(folder, html), HTML.replace('SRC', script));
  await addFiles(folder, { 'train.js': 'train.js', 'everything.js': 'everything.js', ...files });
}

/** @param {string} folder @param {Record<string, string>} files */
async function addFiles(folder, files) {
  for (const [name, source] of Object.entries(files))
    await copyFile(path.join(HERE_IS, source), path.join(folder, name));
}

/** The model that everything.js loads. @param {string} folder */
const addModel = (folder) =>
  copyFile(path.join(root, 'tests/golden/data/mlp_small.onnx'), path.join(folder, 'model.onnx'));

/** Builds the page, opens it and trains. @param {string} folder @param {Host} host @param {boolean} presses */
async function buildAndVisit(folder, host, presses) {
  const { build = [], serve, site = 'dist', program } = host;
  if (!presses) await addModel(folder);
  for (const command of build) await run(command, folder);
  if (program) return { told: lossIn((await run(program, folder)).stdout) };
  if (host.extension) return await visitExtension(folder, presses);
  if (!presses) await addModel(path.join(folder, site));
  const server = serve ? await serveBy(folder, serve) : await serveFolder(path.join(folder, site), host.path);
  try {
    return await visit(browser, host.address ?? server.url, { ...host, folder, presses });
  } finally {
    server.stop();
  }
}

/** @param {string} printed */
const lossIn = (printed) => /^.*?(loss .*)$/m.exec(printed)?.[1] ?? `says nothing of a loss: ${printed.slice(-2000)}`;

/** @param {string} name @param {string} tarball @param {boolean} keep */
async function tryHost(name, tarball, keep) {
  const folder = await mkdtemp(path.join(tmpdir(), `trainlet-${name}-`));
  const host = HOSTS[name];
  try {
    await prepare(folder, name, tarball);
    const version = host.version ? await versionOf(folder, host.version) : '';
    const row = { version, ...(await buildAndVisit(folder, host, host.example !== false)) };
    if (!host.everything || !hasLearned(row.told)) return row;
    await addFiles(path.dirname(path.join(folder, host.everything)), { 'train.js': 'train.js' });
    await addFiles(folder, { [host.everything]: 'everything.js' });
    return { ...row, everything: (await buildAndVisit(folder, host, false)).told };
  } catch (error) {
    const { stderr = '', stdout = '', message = '' } = /** @type {any} */ (error);
    return { version: '', told: `fails: ${(stderr || stdout || message).trim().slice(0, 2000)}` };
  } finally {
    if (keep) console.log(folder);
    else await rm(folder, { recursive: true, maxRetries: 3 });
  }
}

/** True if all losses that it tells have fallen, and the pictures are known. @param {string} told */
function hasLearned(told) {
  const losses = [...told.matchAll(/([\d.]+) → ([\d.]+)/g)];
  return (
    losses.length > 0 && losses.every(([, from, to]) => Number(to) < 0.9 * Number(from)) && !/[0-7] of 8/.test(told)
  );
}

/** @param {string} folder @param {string} name */
async function versionOf(folder, name) {
  return JSON.parse(await readFile(path.join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
}

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean' }, keep: { type: 'boolean', default: false }, write: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !HOSTS[name]);
if (values.help || unknown.length) {
  console.log(unknown.length ? `There is no host ${unknown.join(', ')}.\n\n${HELP}` : HELP);
  process.exit(unknown.length ? 2 : 0);
}
const packed = await mkdtemp(path.join(tmpdir(), 'trainlet-packed-'));
const tarball = await pack(packed);
const browser = await launch();
for (const name of positionals.length ? positionals : Object.keys(HOSTS)) {
  const { version, told, everything = '', seconds, bytes } = await tryHost(name, tarball, values.keep);
  const good = hasLearned(told) && (!everything || hasLearned(everything));
  if (!good) process.exitCode = 1;
  else if (values.write) await writeFigures({ name, version, told, seconds, bytes });
  const figures = seconds ? `; ${seconds.toFixed(1)} s, ${(bytes / 1000).toFixed(0)} KB of JavaScript` : '';
  console.log(
    `${good ? '' : 'FAILED '}${name} ${version}: ${told}${figures}${everything && `; everything: ${everything}`}`,
  );
}
await browser.close();
await rm(packed, { recursive: true });
