// Sets a fresh clone up: npm packages, build tools (installed on Debian and Ubuntu as root), the protobuf-c runtime's
// source.
//
// Each step checks first whether its work is done already, so a second run takes milliseconds. `--test` adds what only
// the tests need. Set-up runs before anything is installed, so it imports only Node's own modules.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  changedAt,
  Failure,
  findChromium,
  findFirefox,
  findProgram,
  remove,
  root,
  run,
  runMain,
  sanitizingClang,
  say,
  succeeds,
} from './programs.mjs';

/** The programs we call, and the Debian packages that bring them. */
const BUILD_TOOLS = [
  { program: 'emcc', packages: ['emscripten'], about: 'Emscripten, which compiles the engine to wasm' },
  { program: 'cmake', packages: ['cmake'], about: 'CMake 3.20 or newer' },
  { program: 'ninja', packages: ['ninja-build'], about: 'Ninja' },
  { program: 'protoc-c', packages: ['protobuf-c-compiler'], about: 'the protobuf-c compiler' },
  { program: 'cc', packages: ['gcc', 'libc6-dev'], about: 'a C compiler for this machine' },
];
const TEST_TOOLS = [
  {
    program: 'chromium',
    find: findChromium,
    packages: ['chromium', 'fonts-liberation'],
    about: 'Chromium, which the browser tests drive',
  },
  {
    program: 'firefox-esr',
    find: findFirefox,
    packages: ['firefox-esr'],
    about: 'Firefox, which must train to the same bits',
  },
  {
    program: '/usr/share/libonnx-testdata/data',
    find: existsSync,
    packages: ['libonnx-testdata'],
    about: "ONNX's backend cases",
  },
];

runMain(() => {
  const tools = process.argv.includes('--test') ? [...BUILD_TOOLS, ...TEST_TOOLS] : BUILD_TOOLS;
  if (Number.parseInt(process.versions.node, 10) < 20)
    throw new Failure(`Node 20 or newer is needed; this is ${process.version}.`);
  installTools(tools);
  installRelaxedTools();
  if (process.argv.includes('--test')) installFuzzTools();
  installNodeModules();
  fetchProtobufC();
});

// ── npm packages ──

function installNodeModules() {
  const lock = join(root, 'package-lock.json');
  if (changedAt(join(root, 'node_modules/.package-lock.json')) >= changedAt(lock)) return;
  say('Installing the npm packages (npm ci) …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // No install scripts: none of these packages needs one.
  run(
    'npm-ci',
    'npm ci failed: is the npm registry reachable',
    npm,
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
    {
      shell: process.platform === 'win32',
    },
  );
}

// ── Build tools ──

function installTools(tools) {
  const missing = () => tools.filter((tool) => !(tool.find ?? findProgram)(tool.program));
  const wanted = missing();
  if (wanted.length === 0) return;
  if (!findProgram('apt-get') || process.getuid?.() !== 0) throw new Failure(howToInstall(wanted));

  const packages = wanted.flatMap((tool) => tool.packages);
  say(`Installing ${packages.join(', ')} (apt-get) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-update', 'apt-get update failed: is the package server reachable', 'apt-get', ['update', '-q'], { env });
  run(
    'apt-install',
    `apt-get could not install ${packages.join(', ')}`,
    'apt-get',
    ['install', '-y', '-q', '--no-install-recommends', ...packages],
    { env },
  );

  const still = missing();
  if (still.length > 0) throw new Failure(howToInstall(still));
}

/** Installs the compiler of the relaxed SIMD builds; without it they are copies of the builds without. */
function installRelaxedTools() {
  if (process.argv.includes('--test') && !findProgram('clang-format-19'))
    installIfThere('the layout of C', ['clang-format-19']);
  if (!findProgram('clang-19') || !findProgram('wasm-ld-19')) installIfThere('relaxed SIMD', ['clang-19', 'lld-19']);
}

/** Installs clang's sanitizers, which see more than gcc's, and what `npm run fuzz` and `npm run coverage` need. */
function installFuzzTools() {
  const gcc = '/usr/lib/gcc/x86_64-linux-gnu';
  const multilib =
    existsSync(gcc) && readdirSync(gcc).some((version) => existsSync(join(gcc, version, '32/libstdc++.so')));
  if (!sanitizingClang() || !multilib || !findProgram('llvm-cov-19'))
    installIfThere('fuzzing and coverage', ['libclang-rt-19-dev', 'llvm-19', 'g++-multilib']);
}

/** Packages that not every machine has, and that it can do without. */
function installIfThere(purpose, packages) {
  if (!findProgram('apt-get') || process.getuid?.() !== 0) return;
  say(`Installing ${packages.join(', ')} (apt-get), for ${purpose} …`);
  const apt = (...args) =>
    succeeds('apt-optional', 'apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const install = () => apt('install', '-y', '-q', '--no-install-recommends', ...packages);
  if (!install() && apt('update', '-q')) install();
}

function howToInstall(tools) {
  const names = tools.map((tool) => `${tool.program} (${tool.about})`).join(', ');
  const packages = tools.flatMap((tool) => tool.packages).join(' ');
  const browser = tools.some((tool) => tool.find)
    ? '; a browser outside of the PATH can be named in the environment variable CHROMIUM_PATH or FIREFOX_PATH'
    : '';
  const install = `Install it and start again (Debian, Ubuntu: sudo apt-get install ${packages})${browser}.`;
  return `Not found in the PATH: ${names}. ${install}`;
}

// ── The protobuf-c runtime: one .c and one .h, from the source package of the distribution whose protoc-c we call ──

function fetchProtobufC() {
  const target = join(root, 'build/third_party/protobuf-c');
  if (existsSync(join(target, 'protobuf-c/protobuf-c.c'))) return;
  const byHand =
    'or put protobuf-c.c and protobuf-c.h of protobuf-c ≥ 1.4 into build/third_party/protobuf-c/protobuf-c/';
  if (!findProgram('apt-get')) {
    throw new Failure(
      `The protobuf-c runtime's source is fetched with apt-get, which is not here: run on Debian or Ubuntu, ${byHand}.`,
    );
  }
  say('Fetching the source of the protobuf-c runtime (apt-get source) …');
  const work = join(root, 'build/third_party/fetch');
  remove(work);
  for (const folder of ['lists/partial', 'cache/archives/partial', 'unpacked'])
    mkdirSync(join(work, folder), { recursive: true });
  const apt = privateApt(work);
  run(
    'protobuf-c',
    `The lists of source packages could not be fetched: make the package server reachable, ${byHand}`,
    'apt-get',
    [...apt, 'update', '-q'],
    { cwd: work },
  );
  run(
    'protobuf-c',
    `The source package protobuf-c could not be fetched: make the package server reachable, ${byHand}`,
    'apt-get',
    [...apt, 'source', '-q', '--download-only', '--tar-only', 'protobuf-c'],
    { cwd: work },
  );
  const archive = readdirSync(work).find((name) => name.includes('.orig.tar.'));
  if (!archive) throw new Failure(`The source package protobuf-c holds no .orig.tar: ${byHand.slice(3)}.`);
  run(
    'protobuf-c',
    `${archive} could not be unpacked`,
    'tar',
    ['xf', archive, '-C', 'unpacked', '--strip-components=1'],
    { cwd: work },
  );
  mkdirSync(target, { recursive: true });
  // Renamed as the last step, so that a folder that exists is whole.
  const staged = join(work, 'protobuf-c');
  mkdirSync(staged);
  for (const name of ['protobuf-c.c', 'protobuf-c.h'])
    copyFileSync(join(work, 'unpacked/protobuf-c', name), join(staged, name));
  renameSync(staged, join(target, 'protobuf-c'));
  remove(work);
}

/**
 * Options by which apt-get keeps its lists and cache in `work`, and reads the system's own servers as source servers.
 */
function privateApt(work) {
  const [sources, lines] = sourceServers();
  const file = join(work, sources ? 'src.sources' : 'src.list');
  writeFileSync(file, sources || lines);
  return [
    '-o',
    `Dir::Etc::sourcelist=${file}`,
    '-o',
    'Dir::Etc::sourceparts=-',
    '-o',
    `Dir::State::Lists=${join(work, 'lists')}`,
    '-o',
    `Dir::Cache=${join(work, 'cache')}`,
    '-o',
    'APT::Sandbox::User=root',
  ];
}

/**
 * The distribution's servers in the new form (*.sources) and, failing that, in the old one (sources.list), for source
 * packages.
 */
function sourceServers() {
  const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const sources = ['debian', 'ubuntu'].map((name) => read(`/etc/apt/sources.list.d/${name}.sources`)).join('\n');
  const lines = read('/etc/apt/sources.list')
    .split('\n')
    .filter((line) => /^deb\s/.test(line));
  if (!sources.trim() && lines.length === 0)
    throw new Failure(
      'apt has no sources: neither /etc/apt/sources.list nor debian.sources or ubuntu.sources is there.',
    );
  return [
    sources.trim() && sources.replace(/^Types:.*$/gm, 'Types: deb-src'),
    lines.map((line) => line.replace(/^deb\s/, 'deb-src ')).join('\n'),
  ];
}
