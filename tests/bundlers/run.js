// Tries each bundler as its user would: a fresh folder, the bundler of today and the packed package from npm, a build,
// and the page in headless Chromium. docs/guides/bundlers.md has a table of what each
// bundler needs.
import { execFile, spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { launch } from '../browser/visitor.js';
import { pack } from '../packed.js';
import { root } from '../support/engines.js';

const HELP = `npm run bundlers -- [options]    builds a page with each bundler and trains in it
  --only NAMES   of vite, vite-dev, webpack, rollup, esbuild, parcel, joined by commas (all)
  --keep         leaves the folders where they are, and tells where
  --help
It installs bundlers from npm, so it is no part of npm test.`;

const FOLDER = path.join(root, 'tests/bundlers');
const HTML =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="SRC"></script>';
const PATIENCE_MS = 60_000;
const COPY = 'cd node_modules/trainlet && cp dist/worker*.js dist/*.wasm models/pictures.onnx ../../dist/';

/**
 * Packages, the page's path, and the command that builds it into dist, or serves it as it is.
 * @typedef {{ packages: string[], html: string, build?: string[], serve?: string }} Recipe
 */
/** @type {Record<string, Recipe>} */
const RECIPES = {
  vite: { packages: ['vite'], html: 'index.html', build: ['npx vite build --base ./'] },
  'vite-dev': {
    packages: ['vite'],
    html: 'index.html',
    serve: 'node_modules/.bin/vite --port PORT --strictPort --host 127.0.0.1',
  },
  webpack: {
    packages: ['webpack', 'webpack-cli'],
    html: 'dist/index.html',
    build: ['npx webpack --mode production --entry ./page.js --output-filename page.js'],
  },
  rollup: {
    packages: ['rollup', '@rollup/plugin-node-resolve'],
    html: 'dist/index.html',
    build: ['npx rollup page.js --dir dist --format es --plugin node-resolve', COPY],
  },
  esbuild: {
    packages: ['esbuild'],
    html: 'dist/index.html',
    build: ['npx esbuild page.js --bundle --splitting --format=esm --outdir=dist', COPY],
  },
  parcel: {
    packages: ['parcel'],
    html: 'index.html',
    build: ['npx parcel build index.html --public-url ./ --no-cache'],
  },
};

const execute = promisify(execFile);
/** @param {string} command @param {string} cwd */
const run = (command, cwd) => execute('sh', ['-c', command], { cwd, maxBuffer: 1 << 26 });

/** @param {string} folder @param {string} tarball @param {Recipe} recipe */
async function prepare(folder, tarball, { packages, html, build = [] }) {
  await mkdir(path.join(folder, 'dist'), { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "name": "page", "private": true, "type": "module" }\n');
  await run(`npm install --no-audit --no-fund --loglevel error ${packages.join(' ')} ${tarball}`, folder);
  await copyFile(path.join(FOLDER, 'page.js'), path.join(folder, 'page.js'));
  await writeFile(path.join(folder, html), HTML.replace('SRC', './page.js'));
  for (const command of build) await run(command, folder);
  const model = path.join(root, 'tests/golden/data/mlp_small.onnx');
  for (const place of ['', 'dist']) await copyFile(model, path.join(folder, place, 'model.onnx'));
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

/** Reads the page's report. @param {import('playwright-core').Browser} browser @param {string} url */
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
    const site = recipe.serve ? await serveBy(folder, recipe.serve) : await serveFolder(path.join(folder, 'dist'));
    try {
      return { version: await versionOf(folder, recipe.packages[0]), told: await visit(browser, site.url) };
    } finally {
      site.stop();
    }
  } catch (error) {
    const { stderr = '', stdout = '', message = '' } = /** @type {any} */ (error);
    return { version: '', told: `fails: ${(stderr || stdout || message).trim().slice(0, 2000)}` };
  } finally {
    if (keep) console.log(folder);
    else await rm(folder, { recursive: true, maxRetries: 3 });
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
    if (!/^loss .*, 8 of 8 pictures$/.test(told)) process.exitCode = 1;
    console.log(`${name} ${version}: ${told}`);
  }
  await browser.close();
  await rm(packed, { recursive: true });
}
