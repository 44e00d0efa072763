// Prints the exports of wasm/abi.c into wasm/README.md: each with its signature in the words of the boundary, and its
// meaning: the comment above it in abi.c or, without one, the comment of the function of src/trainlet.h that it calls.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure, root, runMain } from './programs.mjs';

const COLUMNS = 120;
const MARKS = ['<!-- from abi.c, by npm run docs:exports -->', '<!-- the end of what is from abi.c -->'];
const README = join(root, 'wasm/README.md');

const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8');
const unwrapped = (/** @type {string} */ comment) => comment.replace(/\s+\*? ?/g, ' ').trim();

/** The comments of the declarations in a header: one stands for all that follow it up to a blank line. */
function commentsOf(/** @type {string} */ header) {
  const found = new Map();
  let comment = '';
  const declaration = /(?:typedef (?:enum|struct) \w+ \{[^}]*\} \w+;|[^\n/#][^;{}]*;)(?: *\/\*([\s\S]*?)\*\/)?/;
  const piece = new RegExp(`^/\\*([\\s\\S]*?)\\*/\\n|^${declaration.source}\\n|^\\n`, 'gm');
  for (const [whole, block, trailing] of header.matchAll(piece)) {
    const [, name] = /\b(trainlet_\w+)\(/.exec(whole) ?? [];
    if (block !== undefined) comment = block;
    else if (whole === '\n') comment = '';
    else if (name && (trailing || comment)) found.set(name, unwrapped(trailing ?? comment));
  }
  return found;
}

/** A C type in the words of the boundary. */
function wordOf(/** @type {string} */ type) {
  if (/^(Status)$/.test(type)) return 'status';
  if (/\bTrainlet(Session|Artifacts) \*$/.test(type)) return /Session/.test(type) ? 's' : 'a';
  if (/\bchar \*$/.test(type)) return 'text';
  if (type.endsWith('*')) return 'ptr';
  return { int: 'i32', unsigned: 'i32', size_t: 'i32', int64_t: 'i64', double: 'f64', void: '' }[type] ?? type;
}

function parameterOf(/** @type {string} */ parameter) {
  const [, type, name] = /^(.*?[ *])(\w+)$/.exec(parameter) ?? [];
  const word = wordOf((type ?? parameter).trim());
  return /^[sa]?$/.test(word) ? word : `${word} ${name}`;
}

function signatureOf(/** @type {string} */ name, /** @type {string} */ result, /** @type {string} */ parameters) {
  const given = parameters.split(/,\s*/).map(parameterOf).join(', ');
  const word = wordOf(result.trim()).replace(/^[sa]$/, (own) => `ptr ${own}`);
  return `\`${name}(${given})${word && ` → ${word}`}\``;
}

/** The sections of abi.c: a title, and exports with their signature and meaning. */
function sectionsOf(/** @type {string} */ code, /** @type {Map<string, string>} */ comments) {
  const sections = [{ title: 'errors', exports: [] }];
  const heading = /\/\* ---- ([\s\S]*?) ---- \*\//;
  const before = /(?:^\/\*(?! ----)([^/]*?)\*\/\n)?/;
  const definition = /^EXPORT\((?<call>\w+)\)\s([\w\s*]*?)\b\k<call>\(([^)]*)\) \{([\s\S]*?)\}\n/;
  const piece = new RegExp(`^${heading.source}|${before.source}${definition.source}`, 'gm');
  for (const [, title, comment, name, result, parameters, body] of code.matchAll(piece)) {
    if (title) sections.push({ title: unwrapped(title).split(':')[0], exports: [] });
    else {
      const [, forwarded] = /\b(trainlet_(?!artifacts_error|session_error)\w+)\(/.exec(body) ?? [];
      const before = sections.at(-1)?.exports.at(-1);
      const meaning = comment
        ? unwrapped(comment)
        : before && before.forwarded === forwarded
          ? before.meaning
          : comments.get(forwarded);
      if (!meaning) throw new Failure(`Neither wasm/abi.c nor src/trainlet.h says what ${name} does.`);
      sections.at(-1)?.exports.push({ signature: signatureOf(name, result, parameters), meaning, forwarded });
    }
  }
  return sections.filter(({ exports }) => exports.length);
}

/** Markdown in lines of at most 120 columns, an item's with its indent. @param {string} text */
export function wrapped(text) {
  const indent = text.startsWith('- ') ? '  ' : '';
  const lines = [''];
  for (const word of text.match(/`[^`]*`\S*|\S+/g) ?? []) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (longer.length <= COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

/**
 * The exports of a section as items, one for exports that share a meaning.
 * @param {{ signature: string, meaning: string }[]} exports
 */
function itemsOf(exports) {
  const signatures = new Map();
  for (const { signature, meaning } of exports)
    signatures.set(meaning, [...(signatures.get(meaning) ?? []), signature]);
  return [...signatures].map(([meaning, shared]) => wrapped(`- ${shared.join(', ')}: ${meaning}`));
}

/** All exports as Markdown. */
export function listOfExports() {
  const sections = sectionsOf(read('wasm/abi.c'), commentsOf(read('src/trainlet.h')));
  const capital = (/** @type {string} */ title) => title[0].toUpperCase() + title.slice(1);
  return sections.map(({ title, exports }) => [`### ${capital(title)}`, ...itemsOf(exports), ''].join('\n')).join('\n');
}

/** README.md with the list as it is now. */
export function pageOfExports() {
  const page = read('wasm/README.md');
  const [start, end] = MARKS.map((mark) => page.indexOf(mark));
  return `${page.slice(0, start)}${MARKS[0]}\n${listOfExports()}${page.slice(end)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runMain(() => writeFileSync(README, pageOfExports()));
