// Builds what the package is made of: HELP says what, and prints the sizes.

import { copyFileSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';
import { buildSync } from 'esbuild';
import { readOptions } from '../js/cli/options.js';
import { buildDist } from './dist.mjs';
import { ENGINES, Failure, findProgram, remove, root, run, runMain, say, testOptions } from './programs.mjs';

const HELP = `node tools/build.mjs [--fast] [--test [TARGET …]]
Builds js/engine/*.wasm, js/engine/worker.js and dist/.

  --fast         without wasm-opt; the relaxed files are copies of the others
  --test         also the C tests under the sanitizers, in build/test
  --test TARGET  only this C test, such as test_harness
`;
const OPTIONS = { help: { type: 'boolean', short: 'h' }, fast: { type: 'boolean' }, test: { type: 'boolean' } };

const compress = promisify(brotliCompress);

runMain(async () => {
  const { values, positionals: targets } = optionsOf(process.argv.slice(2));
  if (values.help) return void process.stdout.write(HELP);
  if (!targets.length) await buildPackage(values.fast);
  if (!values.test) return;
  build('build/test', testOptions(), targets);
  say(`Built: ${targets.join(', ') || 'the C tests'}, in build/test.`);
});

function optionsOf(args) {
  try {
    const options = readOptions(args, OPTIONS);
    const [target] = options.positionals;
    if (target && !options.values.test) throw new Error(`the target '${target}' needs --test before it`);
    return options;
  } catch (error) {
    throw new Failure(`${error.message} (see node tools/build.mjs --help)`);
  }
}

async function buildPackage(isFast) {
  const made = buildEngines(isFast);
  const lines = ENGINES.map(async (name, i) => {
    const file = join(root, 'js/engine', name);
    if (!copyIfChanged(made[i], file)) return `Up to date: js/engine/${name}.`;
    return `Built: js/engine/${name}, ${await sizes(file, isFast)}.`;
  });
  for (const line of lines) say(await line);
  writeLayouts(made);
  bundleWorker();
  say(`Built: js/engine/worker.js, ${await sizes(join(root, 'js/engine/worker.js'))}.`);
  say(`Built: dist/, ${(await buildDist()).size} files.`);
}

/** @returns {string[]} the file in build/ of each of ENGINES */
function buildEngines(isFast) {
  const kind = isFast ? 'fast' : 'finished';
  build('build/wasm', [`-DCMAKE_TOOLCHAIN_FILE=${emscriptenToolchain()}`, ...linker()], [kind]);
  const isRelaxed = !isFast && buildRelaxed();
  return ENGINES.map((name) =>
    isRelaxed && name.includes('-relaxed')
      ? join(root, 'build/relaxed', kind, name)
      : join(root, 'build/wasm', kind, name.replace('-relaxed', '')),
  );
}

/** Configures once for the same options and builds what changed; CMake itself sees when it must configure again. */
function build(folder, options, targets = []) {
  const path = join(root, folder);
  const log = folder.replace('build/', 'build-');
  const configured = join(path, 'configured-with.json');
  const asked = JSON.stringify(options);
  const wasAsked = existsSync(configured) ? readFileSync(configured, 'utf8') : undefined;
  if (isOfAnotherPlace(path) || (existsSync(path) && wasAsked !== asked)) remove(path);
  if (!existsSync(join(path, 'build.ninja'))) {
    say(`Configuring ${folder} …`);
    run(log, `CMake could not configure ${folder}`, 'cmake', ['-S', root, '-B', path, '-G', 'Ninja', ...options]);
    writeFileSync(configured, asked);
  }
  run(log, `The build in ${folder} failed`, 'cmake', [
    '--build',
    path,
    ...targets.flatMap((target) => ['--target', target]),
  ]);
}

/** Relaxed SIMD needs a newer compiler than Emscripten's may be. @returns {boolean} whether it is there */
function buildRelaxed() {
  if (!findProgram('clang-19') || !linker().length) {
    say('clang-19 and lld-19 are not here: the builds with relaxed SIMD are copies of those without.');
    return false;
  }
  build('build/relaxed', [`-DCMAKE_TOOLCHAIN_FILE=${join(root, 'wasm/relaxed.cmake')}`, ...linker()], ['finished']);
  return true;
}

/**
 * CMake's options for lld over Emscripten's C library, instead of Emscripten's own linker; none where lld is missing.
 */
function linker() {
  const sysroot = join(dirname(realpathSync(findProgram('emcc'))), 'cache/sysroot');
  const program = findProgram('wasm-ld-19');
  if (!program || !existsSync(join(sysroot, 'lib/wasm32-emscripten/libemmalloc.a'))) return [];
  return [`-DWASM_LD=${program}`, `-DWASM_SYSROOT=${sysroot}`];
}

/** Writes what `trainlet shrink` must know of each file; Emscripten's own linker tells nothing of that. */
function writeLayouts(made) {
  const entries = ENGINES.map((name, i) => [name, `${made[i]}.layout.json`])
    .filter(([, path]) => existsSync(path))
    .map(([name, path]) => [name, JSON.parse(readFileSync(path, 'utf8'))]);
  writeFileSync(join(root, 'js/cli/shrink/layouts.json'), JSON.stringify(Object.fromEntries(entries)));
}

function copyIfChanged(from, to) {
  if (existsSync(to) && readFileSync(to).equals(readFileSync(from))) return false;
  copyFileSync(from, to);
  return true;
}

/**
 * The browser's worker in one file: each import in it would be one more request, a level after the other, before it can
 * begin.
 */
function bundleWorker() {
  buildSync({
    absWorkingDir: root,
    entryPoints: ['js/engine/worker-browser.js'],
    outfile: 'js/engine/worker.js',
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  });
}

/** CMake's cache holds absolute paths: a clone that was moved or copied is configured anew. */
function isOfAnotherPlace(path) {
  const cache = join(path, 'CMakeCache.txt');
  if (!existsSync(cache)) return false;
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(readFileSync(cache, 'utf8'))?.[1];
  return join(home ?? '', '/') !== join(root, '/');
}

/** Emscripten's toolchain file lies beside emcc itself, wherever that came from (Debian's package, emsdk). */
function emscriptenToolchain() {
  const emcc = findProgram('emcc');
  if (!emcc) throw new Failure("Emscripten's emcc is missing: run 'npm run setup'.");
  const file = join(dirname(realpathSync(emcc)), 'cmake/Modules/Platform/Emscripten.cmake');
  if (!existsSync(file))
    throw new Failure(
      `Emscripten at ${dirname(realpathSync(emcc))} has no CMake toolchain file: ` +
        'install the package emscripten or emsdk.',
    );
  return file;
}

/** Gives bytes by brotli, too, but not for a fast build: it takes seconds, and no page loads that file. */
async function sizes(path, isFast = false) {
  const bytes = readFileSync(path);
  const kb = (count) => `${(count / 1024).toFixed(1)} KB`;
  return `${kb(bytes.length)} raw${isFast ? '' : `, ${kb((await compress(bytes)).length)} brotli`}`;
}
