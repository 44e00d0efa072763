// Tries each bundler and each place as its user would: a fresh folder, the bundler of today and the packed package from
// npm, a build, and the page in headless Chromium. docs/guides/bundlers.md says what each needs.
import { execFile, spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { launch, OPTIONS } from '../browser/visitor.js';
import { pack } from '../packed.js';
import { root } from '../support/engines.js';
import { RECIPES } from './recipes.js';

/** @import { Recipe } from './recipes.js' */

const HELP = `npm run bundlers -- [options]    trains in a page of each bundler, and in each other place
  --only NAMES   of ${Object.keys(RECIPES).join(', ')}, joined by commas (all)
  --keep         leaves the folders where they are, and tells where
  --help
It installs bundlers from npm, so it is no part of npm test.`;

const FOLDER = path.join(root, 'tests/bundlers');
const HTML =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="SRC"></script>';
const PATIENCE_MS = 60_000;
const execute = promisify(execFile);
/** @param {string} command @param {string} cwd */
const run = (command, cwd) => execute('sh', ['-c', command], { cwd, maxBuffer: 1 << 26 });

/** @param {string} folder @param {string} tarball @param {Recipe} recipe */
async function prepare(folder, tarball, { packages, files, html, script = './page.js', build = [] }) {
  await mkdir(path.join(folder, 'dist'), { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "name": "page", "private": true, "type": "module" }\n');
  await run(`npm install --no-audit --no-fund --loglevel error ${packages.join(' ')} ${tarball}`, folder);
  if (html) await writeFile(path.join(folder, html), HTML.replace('SRC', script));
  const all = { 'train.js': 'train.js', 'page.js': 'page.js', ...files };
  for (const [name, source] of Object.entries(all)) await copyFile(path.join(FOLDER, source), path.join(folder, name));
  const model = path.join(root, 'tests/golden/data/mlp_small.onnx');
  await copyFile(model, path.join(folder, 'model.onnx'));
  for (const command of build) await run(command, folder);
  await copyFile(model, path.join(folder, 'dist/model.onnx'));
}

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** @param {string} folder @returns {Promise<{ url: string, stop: () => void }>} */
async function serveFolder(folder) {
  const server = createServer(({ url = '/' }, response) => {
    const file = path.join(folder, url === '/' ? 'index.html' : decodeURI(new URL(url, 'http://page').pathname));
    if (!existsSync(file)) return response.writeHead(404).end();
    const type = TYPES[/** @type {keyof typeof TYPES} */ (path.extname(file))] ?? 'application/octet-stream';
    createReadStream(file).pipe(response.setHeader('content-type', type));
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/`, stop: () => server.close() };
}

/** @param {string} folder @param {string} command @returns {Promise<{ url: string, stop: () => void }>} */
async function serveBy(folder, command) {
  const { url, stop } = await serveFolder(folder); // a port that is free
  stop();
  const [program, ...args] = command.replace('PORT', new URL(url).port).split(' ');
  const child = spawn(path.join(folder, program), args, { cwd: folder, stdio: 'ignore' });
  const until = Date.now() + PATIENCE_MS;
  while (!(await fetch(url).catch(() => undefined))?.ok && Date.now() < until)
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
  return { url, stop: () => child.kill() };
}

/**
 * Reads the page's report.
 * @param {Pick<import('playwright-core').BrowserContext, 'newPage'>} browser @param {string} url
 */
async function visit(browser, url) {
  const page = await browser.newPage();
  /** @type {string[]} */
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  try {
    await page.goto(url);
    await page.waitForFunction(() => document.title !== '', undefined, { timeout: PATIENCE_MS });
    return await page.title();
  } catch {
    return `says nothing; ${complaints.join('; ')}`;
  } finally {
    await page.close();
  }
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} name
 * @param {string} tarball
 * @param {boolean} keep
 */
async function tryOne(browser, name, tarball, keep) {
  const folder = await mkdtemp(path.join(tmpdir(), `trainlet-${name}-`));
  const recipe = RECIPES[name];
  try {
    await prepare(folder, tarball, recipe);
    const version = recipe.packages.length ? await versionOf(folder, recipe.packages[0].replace(/(?<=.)@.*/, '')) : '';
    if (recipe.program) return { version, told: lossIn((await run(recipe.program, folder)).stdout) };
    if (recipe.extension) return { version, told: await visitExtension(folder) };
    const { serve, site = 'dist' } = recipe;
    const { url, stop } = serve ? await serveBy(folder, serve) : await serveFolder(path.join(folder, site));
    try {
      return { version, told: await visit(browser, url) };
    } finally {
      stop();
    }
  } catch (error) {
    const { stderr = '', stdout = '', message = '' } = /** @type {any} */ (error);
    return { version: '', told: `fails: ${(stderr || stdout || message).trim().slice(0, 2000)}` };
  } finally {
    if (keep) console.log(folder);
    else await rm(folder, { recursive: true, maxRetries: 3 });
  }
}

/** @param {string} printed */
const lossIn = (printed) => /^.*?(loss .*)$/m.exec(printed)?.[1] ?? printed.slice(-2000);

/** A page of an extension, in a browser that has loaded it. @param {string} folder */
async function visitExtension(folder) {
  const args = [...OPTIONS.args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`];
  const context = await chromium.launchPersistentContext('', { ...OPTIONS, args });
  try {
    const [background = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    return await visit(context, new URL('index.html', background.url()).href);
  } finally {
    await context.close();
  }
}

/** @param {string} folder @param {string} name */
async function versionOf(folder, name) {
  return JSON.parse(await readFile(path.join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
}

const { values } = parseArgs({
  options: { help: { type: 'boolean' }, only: { type: 'string' }, keep: { type: 'boolean', default: false } },
});
if (values.help) console.log(HELP);
else {
  const packed = await mkdtemp(path.join(tmpdir(), 'trainlet-packed-'));
  const tarball = await pack(packed);
  const browser = await launch();
  for (const name of values.only?.split(',') ?? Object.keys(RECIPES)) {
    const { version, told } = await tryOne(browser, name, tarball, values.keep);
    if (!told.startsWith('loss ') || /[0-7] of 8/.test(told)) process.exitCode = 1;
    console.log(`${name} ${version}: ${told}`);
  }
  await browser.close();
  await rm(packed, { recursive: true });
}
