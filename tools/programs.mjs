// Finds and runs the programs that set-up, build and tests need. Set-up runs before anything is installed, so this
// file imports only Node's own modules.

import { spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository, as an absolute path. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** The engine's files, of which a page loads one (js/engine/compile.js). */
export const ENGINES = ['', '-threads', '-relaxed', '-threads-relaxed'].map((kind) => `trainlet${kind}.wasm`);

/** A failure that the user is told in one sentence, without a stack. */
export class Failure extends Error {}

export function say(line) {
  console.log(`[trainlet] ${line}`);
}

/** The path of the first of `names` that can be run, or undefined. */
export function findProgram(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name);
      if (isProgram(path)) return path;
    }
  }
  return undefined;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The clang whose sanitizers and libFuzzer are installed: the C tests and the fuzz targets are built by it. */
export function sanitizingClang() {
  const clang = findProgram('clang-19');
  if (clang && existsSync('/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a')) return clang;
}

/** CMake's options of build/test, the C tests under the sanitizers. */
export function testOptions() {
  const clang = sanitizingClang();
  return ['-DTRAINLET_SANITIZE=ON', ...(clang ? [`-DCMAKE_C_COMPILER=${clang}`] : [])];
}

/** The Chromium that the browser tests drive: $CHROMIUM_PATH, or what stands in the PATH. */
export function findChromium() {
  return (
    process.env.CHROMIUM_PATH || findProgram('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
  );
}

/** The Firefox that a browser test drives: $FIREFOX_PATH, or what stands in the PATH. */
export function findFirefox() {
  return process.env.FIREFOX_PATH || findProgram('firefox-esr', 'firefox');
}

/** When a file was last changed, in ms; 0 when it is not there. */
export function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Runs a program to its end. What it prints goes to build/<log>.log. */
function runQuietly(log, program, args, options) {
  mkdirSync(join(root, 'build'), { recursive: true });
  const path = join(root, 'build', `${log}.log`);
  const file = openSync(path, 'w');
  const { status, error } = spawnSync(program, args, { cwd: root, ...options, stdio: ['ignore', file, file] });
  closeSync(file);
  return { ok: status === 0, error, path };
}

/** True if a program ends well; nothing fails if it does not. */
export function succeeds(log, program, args, options = {}) {
  return runQuietly(log, program, args, options).ok;
}

/** Runs a program to its end; if it fails, its lines of error are shown, and `sentence`. */
export function run(log, sentence, program, args, options = {}) {
  const { ok, error, path } = runQuietly(log, program, args, options);
  if (ok) return;
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const telling = lines.filter((line) => line.length < 300 && /error|fatal|missing|undefined|^E:/i.test(line));
  console.error(error ? error.message : (telling.length > 0 ? telling.slice(0, 20) : lines.slice(-20)).join('\n'));
  throw new Failure(`${sentence} (the whole output is in build/${log}.log).`);
}

/** Runs `main` and turns a Failure, or what the file system refuses, into one sentence and exit code 1. */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Failure) && !error.syscall) throw error;
    console.error(`[trainlet] ${error.message}`);
    process.exitCode = 1;
  }
}

/** Removes a folder or file, there or not. */
export function remove(path) {
  rmSync(path, { recursive: true, force: true });
}
