// Builds js/engine/*.wasm, js/engine/worker.js and dist/ and prints their sizes; with `--test` also the native C tests
// under the sanitizers, in build/test.

import { copyFileSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { buildDist } from './dist.mjs';
import { changedAt, ENGINES, Failure, findProgram, remove, root, run, runMain, say } from './programs.mjs';

const FILES = ENGINES.map((name) => `js/engine/${name}`);

runMain(async () => {
  const before = FILES.map((file) => changedAt(join(root, file)));
  build('build/wasm', [`-DCMAKE_TOOLCHAIN_FILE=${emscriptenToolchain()}`, ...linker()]);
  buildRelaxed();
  writeLayouts();
  FILES.forEach((file, i) => {
    const path = join(root, file);
    say(`${changedAt(path) === before[i] ? 'Up to date' : 'Built'}: ${file}, ${sizes(path)}.`);
  });
  bundleWorker();
  say(`Built: js/engine/worker.js, ${sizes(join(root, 'js/engine/worker.js'))}.`);
  say(`Built: dist/, ${(await buildDist()).size} files.`);
  if (process.argv.includes('--test')) {
    build('build/test', ['-DTRAINLET_SANITIZE=ON']);
    say('Built: the C tests, in build/test.');
  }
});

/** Configures once for the same options and builds what changed; CMake itself sees when it must configure again. */
function build(folder, options) {
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
  run(log, `The build in ${folder} failed`, 'cmake', ['--build', path]);
}

/**
 * With relaxed SIMD, where there is a compiler that knows it; elsewhere the files of that name are the others again.
 */
function buildRelaxed() {
  if (findProgram('clang-19') && linker().length) {
    build('build/relaxed', [`-DCMAKE_TOOLCHAIN_FILE=${join(root, 'wasm/relaxed.cmake')}`, ...linker()]);
    return;
  }
  say('clang-19 and lld-19 are not here: the builds with relaxed SIMD are copies of those without.');
  for (const file of FILES.slice(0, 2))
    copyFileSync(join(root, file), join(root, file.replace('.wasm', '-relaxed.wasm')));
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

/** What `trainlet shrink` must know of each file; nothing of files that Emscripten's own linker made. */
function writeLayouts() {
  const entries = ['wasm', 'relaxed']
    .flatMap((folder) =>
      FILES.map((file) => [basename(file), join(root, 'build', folder, `${basename(file)}.layout.json`)]),
    )
    .filter(([, path]) => existsSync(path))
    .map(([name, path]) => [name, JSON.parse(readFileSync(path, 'utf8'))]);
  writeFileSync(join(root, 'js/cli/shrink/layouts.json'), JSON.stringify(Object.fromEntries(entries)));
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

/** Beside emcc itself, wherever that came from (Debian's package, emsdk). */
function emscriptenToolchain() {
  const emcc = findProgram('emcc');
  if (!emcc) throw new Failure("Emscripten's emcc is missing: run 'npm run setup'.");
  const file = join(dirname(realpathSync(emcc)), 'cmake/Modules/Platform/Emscripten.cmake');
  if (!existsSync(file))
    throw new Failure(
      `Emscripten at ${dirname(realpathSync(emcc))} has no CMake toolchain file: install the package emscripten or emsdk.`,
    );
  return file;
}

function sizes(path) {
  const bytes = readFileSync(path);
  const kb = (count) => `${(count / 1024).toFixed(1)} KB`;
  return `${kb(bytes.length)} raw, ${kb(brotliCompressSync(bytes).length)} brotli`;
}
