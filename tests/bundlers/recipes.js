// The bundlers and other places that `npm run bundlers` tries.

/**
 * A place to train in.
 * @typedef {object} Recipe
 * @property {string[]} packages of npm; the first names the version
 * @property {Record<string, string>} [files] more than the page's, by name: a file of this folder
 * @property {string} [html] the page's path
 * @property {string} [script] the page's
 * @property {string[]} [build] commands that build the page into dist
 * @property {string} [site] the folder to serve (dist)
 * @property {string} [serve] a command that serves the page instead
 * @property {string} [program] a command that trains without a page, and prints the losses
 * @property {boolean} [extension] the folder is a browser's extension
 */

const COPY = 'cd node_modules/trainlet && cp dist/worker*.js dist/*.wasm models/pictures.onnx ../../dist/';
const ANGULAR = {
  packages: [
    ...['build', 'cli', 'core', 'common', 'compiler', 'compiler-cli', 'platform-browser'].map(
      (name) => `@angular/${name}@21`,
    ),
    ...['typescript@5.9', 'rxjs', 'tslib'],
  ],
  files: {
    'angular.json': 'angular/angular.json',
    'tsconfig.json': 'angular/tsconfig.json',
    'main.ts': 'angular/main.ts',
    'index.html': 'angular/index.html',
  },
};
/** A page without a bundler, whose script is one of the places. @param {string} name @param {string[]} [others] */
const place = (name, others = []) => ({
  packages: [],
  files: Object.fromEntries([name, ...others].map((file) => [file, `places/${file}`])),
  html: 'index.html',
  script: `./${name}`,
  site: '.',
});
const PROGRAM = { 'program.js': 'places/program.js' };

/** @type {Record<string, Recipe>} */
export const RECIPES = {
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
    build: [
      'npm pkg set --json @parcel/resolver-default.packageExports=true',
      'npx parcel build index.html --public-url ./ --no-cache',
    ],
  },
  // The newest for Node 20.
  angular: { ...ANGULAR, build: ['npx ng build'] },
  'angular-serve': { ...ANGULAR, serve: 'node_modules/.bin/ng serve --port PORT --host 127.0.0.1' },
  'shared-worker': place('shared-worker-page.js', ['shared-worker.js']),
  'service-worker': place('service-worker-page.js', ['service-worker.js']),
  extension: { ...place('extension-page.js', ['manifest.json', 'background.js']), extension: true },
  'vitest-jsdom': {
    packages: ['vitest@4', 'jsdom@26'],
    files: { 'page.test.js': 'places/jsdom.js' },
    program: 'npx vitest run --environment jsdom',
  },
  bun: { packages: ['bun'], files: PROGRAM, program: 'npx bun program.js' },
  deno: { packages: ['deno'], files: PROGRAM, program: 'npx deno run --allow-all program.js' },
};
