/** The pages for whoever changes the code name only what is there: paths, scripts, tests; and the root is tidy. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../../js/cli/commands.js';
import { pageOfExports } from '../../../tools/exports.mjs';
import { root } from '../../support/engines.js';

const PAGES = [
  'CONTRIBUTING.md',
  ...['building', 'design', 'map'].map((page) => `docs/internals/${page}.md`),
  'src/ops/README.md',
];
/** Usual files at a repository's root. */
const USUAL = [
  '.ci',
  '.clang-format',
  '.editorconfig',
  '.github',
  '.gitignore',
  '.npmrc',
  'CHANGELOG.md',
  'CMakeLists.txt',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'THIRD-PARTY-NOTICES.md',
  'biome.json',
  'package-lock.json',
  'package.json',
  'tsconfig.json',
];

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
/** Git's list, so that build outputs do not count. */
const LISTED = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const FILES = LISTED.trim()
  .split('\n')
  .filter((file) => existsSync(path.join(root, file)));
const PATHS = new Set(FILES.flatMap((file) => file.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'))));
const NAMES = new Set(FILES.map((file) => path.basename(file)));
const SCRIPTS = JSON.parse(read('package.json')).scripts;
const CODE = FILES.filter((file) => /^(src|wasm|js|tests\/c)\/.*\.(c|h|def|js|d\.ts)$/.test(file))
  .map(read)
  .join('\n');
/** Form of identifiers that must be found there: node_output, OP_MAX, TrainletPart, .since */
const IDENTIFIER = /^([a-z]+(_[a-z0-9]+)+|[A-Z]+(_[A-Z]+)+|[A-Za-z]?[a-z]+([A-Z][a-z]+)+\w*|\.[a-z]\w*)$/;

/** Names in ctest. */
const TESTS = FILES.flatMap((file) => {
  const [, folder, name] = /^tests\/(c|fuzz)\/(\w+)\.c$/.exec(file) ?? [];
  return name ? [folder === 'c' ? name : `found_${name}`] : [];
});

/** Code of a page: `between backquotes`, or in a block, a line each. @param {string} text */
function spoken(text) {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, lines]) => lines.trim().split('\n'));
  const spans = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span);
  return [...blocks, ...spans];
}

/** A word with a NAME to fill in is as good as the folder before it. @param {string} word */
const known = (word) => word.replace(/\/[^/]*\b[A-Z_]{4,}\b(?!\.md).*$/, '').replace(/\/$/, '');

/** The path that a word of code stands for, if any. @param {string} word */
function pathOf(word) {
  const [, program] = /^build\/\w+\/test_(\w+)$/.exec(word) ?? [];
  if (program) return `tests/c/${program}.c`;
  if (word.startsWith('build/')) return null; // made
  return /^(\.?\w[\w.-]*\/)+[\w.-]*$/.test(word) && PATHS.has(word.split('/')[0]) ? known(word) : null;
}

/** @param {string} span @returns {string[]} what is wrong with it */
function complaints(span) {
  const [, script, given = ''] = /^npm (?!publish)(?:run )?([\w:]+)(?: -- (.*))?$/.exec(span) ?? [];
  if (script && !SCRIPTS[script]) return [`no script ${script}`];
  const program = script && /node (\S+)[^&]*$/.exec(SCRIPTS[script])?.[1];
  const [, command, rest = ''] = /^npx trainlet ([\w-]+)(.*)$/.exec(span) ?? [];
  const asked = command ? [...rest.matchAll(/--([\w-]+)/g)].map(([, option]) => option) : [];
  const options = [...given.matchAll(/--([\w-]+)/g)].map(([, option]) => option);
  const [, filter] = /^ctest .*-R (\S+)$/.exec(span) ?? [];
  const [, targets = ''] = /^node tools\/build\.mjs --test (.+)$/.exec(span) ?? [];
  const paths = span.split(/[\s,;]+/).flatMap((word) => pathOf(word) ?? []);
  return [
    ...options
      .filter((option) => !program || !read(program).includes(option))
      .map((option) => `${script} has no --${option}`),
    ...(command && !COMMANDS[command] ? [`the command line has no command ${command}`] : []),
    ...asked.filter((option) => !COMMANDS[command]?.options[option]).map((option) => `${command} has no --${option}`),
    ...(filter && !TESTS.some((name) => new RegExp(filter).test(name)) ? [`no test ${filter}`] : []),
    ...(targets.match(/\btest_\w+/g) ?? [])
      .filter((target) => !PATHS.has(`tests/c/${target.replace('test_', '')}.c`))
      .map((target) => `no target ${target}`),
    ...paths.filter((file) => !PATHS.has(file)).map((file) => `no ${file}`),
    ...(/^[\w.-]+\.(c|h|def|js|mjs|d\.ts|json|py|md|txt)$/.test(span) && !NAMES.has(span) ? [`no file ${span}`] : []),
    ...(IDENTIFIER.test(span) && !CODE.includes(span) ? [`nothing is called ${span}`] : []),
  ];
}

for (const page of PAGES) {
  test(`${page} names only what is there`, () => {
    const text = read(page);
    const spans = spoken(text);
    assert.ok(spans.length > 15, 'the page is read');
    assert.deepEqual(
      spans.flatMap((span) => complaints(span).map((complaint) => `${span}: ${complaint}`)),
      [],
    );
  });
}

/**
 * GitHub's anchors of a page: its headings in lower case, spaces as hyphens, without punctuation. @param {string} page
 */
const anchorsOf = (page) =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Links of a page to files or headings that are not there. @param {string} page @param {string} text */
const deadLinks = (page, text) =>
  [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    .filter(([, link, anchor]) => {
      const to = link ? path.posix.join(path.posix.dirname(page), link).replace(/\/$/, '') : page;
      return !PATHS.has(to) || (anchor !== undefined && !anchorsOf(to).includes(anchor));
    })
    .map(([whole]) => `${page}: ${whole.slice(1)}`);

test('links of all pages lead to files and headings that are there', () => {
  const pages = FILES.filter((file) => file.endsWith('.md'));
  const links = pages.reduce((count, page) => count + (read(page).match(/\]\((?!\w+:)/g)?.length ?? 0), 0);
  assert.ok(links > 60, `${links} links`);
  assert.deepEqual(
    pages.flatMap((page) => deadLinks(page, read(page))),
    [],
  );
  const wrong = '[a](../design.md) [b](design.md#nothing) [c](#nothing)';
  assert.equal(deadLinks('docs/internals/design.md', wrong).length, 3);
});

test('a page of docs/ that code or another page names is there', () => {
  const named = FILES.filter((file) => /\.(md|m?js|ts|[ch]|py|json|cmake|txt)$/.test(file)).flatMap((file) =>
    [...read(file).matchAll(/(?<!\w\/)\bdocs\/[\w/-]+\.md/g)].map(([page]) => `${file}: ${page}`),
  );
  assert.ok(named.length > 30, `${named.length} pages are named`);
  assert.deepEqual(
    named.filter((text) => !PATHS.has(text.split(': ')[1])),
    [],
  );
});

test('wasm/README.md lists the exports of abi.c', () => {
  assert.equal(read('wasm/README.md'), pageOfExports(), 'npm run docs:exports writes the list');
});

test('no line of a page is longer than 120 columns, but for rows of tables', () => {
  const pages = FILES.filter((file) => file.endsWith('.md'));
  const isLong = (/** @type {string} */ line) => line.length > 120 && !/^\||^\S+$/.test(line);
  const long = (/** @type {string} */ page) =>
    read(page)
      .split('\n')
      .flatMap((line, i) => (isLong(line) ? [`${page}:${i + 1}: ${line}`] : []));
  assert.ok(pages.length > 40, `${pages.length} pages`);
  assert.deepEqual(pages.flatMap(long), []);
});

test('the README is a screen, and a release has at most 40 lines in the changelog', () => {
  const readme = read('README.md');
  assert.ok(readme.split('\n').length <= 121 && Buffer.byteLength(readme) <= 7168);
  assert.ok(statSync(path.join(root, 'docs/demo.webp')).size <= 60 * 1024);
  for (const release of read('CHANGELOG.md').split(/^(?=## )/m))
    assert.ok(release.trimEnd().split('\n').length <= 40, release.slice(0, 100));
});

test('what is not there is found missing', () => {
  for (const wrong of [
    'npm run nothing',
    'npm run bench -- --nothing',
    'npx trainlet nothing',
    'npx trainlet bench MODEL --nothing',
    'ctest --test-dir build/test -R nothing',
    'src/nothing.c',
    'build/test/test_nothing',
    'node tools/build.mjs --test test_nothing',
    'src/nothing/NAME.c',
    'nothing.def',
    'node_nothing',
    'python3 tests/golden/scripts/nothing.py',
  ])
    assert.equal(complaints(wrong).length, 1, wrong);
});

test('the families of src/ops/README.md are the folders, and its last column their shared files', () => {
  const rows = [...read('src/ops/README.md').matchAll(/^\| `(\w+)\/` \| ([^|]+) \| ([^|]*)\|$/gm)];
  const shared = (/** @type {string} */ family) => {
    const files = FILES.filter((file) => path.dirname(file) === `src/ops/${family}`);
    return [
      ...new Set(files.filter((file) => !/^OPERATOR\(/m.test(read(file))).map((file) => path.parse(file).name)),
    ].sort();
  };
  const families = [...new Set(FILES.flatMap((file) => /^src\/ops\/(\w+)\//.exec(file)?.[1] ?? []))].sort();
  assert.deepEqual(rows.map(([, family]) => family).sort(), families);
  for (const [, family, , column] of rows)
    assert.deepEqual([...column.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(), shared(family), family);
});

test('design.md lists the layers in their order', () => {
  const [, list] = /LAYERS = \[([^\]]*)\]/.exec(read('tests/js/repository/house.test.js')) ?? [];
  const layers = [...list.matchAll(/'(.+?)'/g)].map(([, layer]) => (layer === '.' ? 'src/' : `src/${layer}/`));
  assert.deepEqual(
    [...read('docs/internals/design.md').matchAll(/^\| `(src\/\w*\/?)`/gm)].map(([, layer]) => layer),
    layers,
  );
});

test('the glossary stays short', () => {
  const [, glossary] = /^## Glossary\n(.*?)^## /ms.exec(read('docs/internals/design.md')) ?? [];
  const rows = glossary.match(/^\| (?!word \|)/gm)?.length ?? 0;
  assert.ok(rows > 15 && rows <= 25, `${rows} rows`);
});

test('the root holds the folders of the map, and the usual files', () => {
  const cells = [...read('docs/internals/map.md').matchAll(/^\|([^|]+)\|/gm)].map(([, cell]) => cell);
  const folders = cells.flatMap((cell) => [...cell.matchAll(/`(\S+?)\//g)].map(([, folder]) => folder));
  assert.ok(folders.includes('src') && folders.includes('tests'), 'the map is read');
  const entries = [...new Set(FILES.map((file) => file.split('/')[0]))];
  assert.deepEqual(
    entries.filter((name) => !folders.includes(name) && !USUAL.includes(name)),
    [],
  );
});
