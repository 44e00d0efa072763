// The hosts that `npm run hosts` tries: each a folder of examples/hosts, or a page of this folder.

/**
 * @typedef {object} Host
 * @property {string} [version] the package of npm whose version is told
 * @property {string | false} [example] the folder, from examples/hosts on (its name); or none
 * @property {string[]} [packages] more of them
 * @property {Record<string, string>} [files] by name: a file of this folder
 * @property {string} [html] a page with that script is written here
 * @property {string} [script] ./everything.js
 * @property {string[]} [build] commands
 * @property {string} [site] the folder to serve (dist)
 * @property {string} [path] the address at which it is served (/)
 * @property {string} [serve] a command that serves the page at PORT instead
 * @property {Record<string, string>} [answers] folders that answer for other addresses: by the address, the folder
 * @property {string} [address] of the page, where one of them answers for it
 * @property {string} [program] a command that trains without a page, and prints the losses
 * @property {boolean} [extension] the folder is a browser's extension
 * @property {boolean} [offline] the page is opened again without a network, and trains again
 * @property {string} [everything] a file of the example; everything.js takes its place for a second build and visit
 */

const BUILD = ['npm run build'];
const COPY = 'cd node_modules/trainlet && cp dist/worker*.js dist/*.wasm models/pictures.onnx ../../dist/';
/** A bundler with a page of this folder. @param {string[]} packages @param {string[]} build */
const bundler = (packages, build) => ({
  version: packages[0],
  example: false,
  packages,
  html: 'dist/index.html',
  build,
});

/** @type {Record<string, Host>} */
export const HOSTS = {
  plain: { site: '.' },
  cdn: {
    site: '.',
    answers: { 'https://cdn.jsdelivr.net/npm/trainlet@0.1.0/': 'node_modules/trainlet' },
  },
  vite: { version: 'vite', build: BUILD, everything: 'main.js' },
  'vite-dev': {
    example: 'vite',
    version: 'vite',
    site: '.',
    serve: 'node_modules/.bin/vite --port PORT --strictPort --host 127.0.0.1',
    everything: 'main.js',
  },
  webpack: { version: 'webpack', build: BUILD, everything: 'src/index.js' },
  react: { version: 'react', build: BUILD },
  next: { version: 'next', build: BUILD, serve: 'node_modules/.bin/next start --port PORT --hostname 127.0.0.1' },
  'next-dev': {
    example: 'next',
    version: 'next',
    serve: 'node_modules/.bin/next dev --port PORT --hostname 127.0.0.1',
  },
  vue: { version: 'vue', build: BUILD },
  svelte: { version: 'svelte', build: BUILD },
  angular: { version: '@angular/core', build: BUILD },
  'angular-serve': {
    example: 'angular',
    version: '@angular/core',
    serve: 'node_modules/.bin/ng serve --port PORT --host 127.0.0.1',
  },
  rollup: bundler(
    ['rollup', '@rollup/plugin-node-resolve'],
    ['npx rollup everything.js --dir dist --format es --plugin node-resolve', COPY],
  ),
  esbuild: bundler(['esbuild'], ['npx esbuild everything.js --bundle --splitting --format=esm --outdir=dist', COPY]),
  parcel: {
    ...bundler(
      ['parcel'],
      [
        'npm pkg set --json @parcel/resolver-default.packageExports=true',
        'npx parcel build index.html --public-url ./ --no-cache',
      ],
    ),
    html: 'index.html',
  },
  extension: { build: BUILD, extension: true },
  'service-worker': { site: '.' },
  'shared-worker': {
    example: false,
    files: { 'shared-worker.js': 'shared-worker.js', 'shared-worker-page.js': 'shared-worker-page.js' },
    html: 'index.html',
    script: './shared-worker-page.js',
    site: '.',
  },
  pwa: { version: 'vite-plugin-pwa', build: BUILD, offline: true },
  'github-pages': { version: 'vite', build: BUILD, path: '/repository/' },
  capacitor: {
    version: '@capacitor/core',
    build: BUILD,
    answers: { 'https://localhost/': 'dist' },
    address: 'https://localhost/',
  },
  pyodide: { version: 'pyodide', site: '.' },
  node: { program: 'npm start' },
  bun: { version: 'bun', packages: ['bun'], program: 'npx bun main.ts' },
  deno: { version: 'deno', packages: ['deno'], program: 'npx deno run --check --allow-read main.ts' },
  transformers: { example: '../with/transformers', version: '@huggingface/transformers', program: 'npm start' },
  'vitest-jsdom': {
    version: 'vitest',
    example: false,
    packages: ['vitest@4', 'jsdom@26'],
    files: { 'page.test.js': 'jsdom.js' },
    program: 'npx vitest run --environment jsdom',
  },
};
