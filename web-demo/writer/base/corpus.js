// The text that the base learns: running text of four of Debian's packages, in pieces with no markup left.
//
//   node web-demo/writer/base/corpus.js     downloads the packages by apt-get, writes build/writer/{learned,aside}.json

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { root } from '../../../tools/programs.mjs';

export const FOLDER = join(root, 'build/writer');
const PACKAGES = ['debian-reference-en', 'developers-reference', 'fortunes', 'manpages'];
/** One of so many pieces is kept aside: neither the tokens nor the training see it. */
const ASIDE_OF = 40;
/** Files of fortunes: not its pictures and songs, and not what makes fun of people by what they are. */
const SAYINGS = /^(?!(ascii-art|drugs|ethnic|men-women|songs-poems|translate-me|zippy)$)[\w-]+$/;
/** Shorter ones are titles, leftovers of tables and the like. */
const SHORTEST = 60;

/** The pieces of the text that were learned, and those kept aside. @returns {Record<'learned' | 'aside', string[]>} */
export function readCorpus() {
  const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
  return { learned: read('learned'), aside: read('aside') };
}

/** @param {string} path @returns {string} */
function textOf(path) {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** Unpacks what apt-get brings, in build/writer/packages. */
function unpack() {
  const folder = join(FOLDER, 'packages');
  mkdirSync(folder, { recursive: true });
  execFileSync('apt-get', ['download', ...PACKAGES], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb')))
    execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: folder });
  return join(folder, 'usr/share');
}

// ── from each format, paragraphs in one line each ──

/** Lines that were broken for their length are one again; a short one ends where it does. @param {string} text */
function joined(text) {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const out = [''];
  for (const [i, line] of lines.entries()) {
    const goesOn = i && lines[i - 1].length > 50 && line && /^\s{0,4}\S/.test(line) && !/^\s*[-*•]/.test(line);
    if (goesOn) out[out.length - 1] += ` ${line.trim()}`;
    else out.push(line.trim());
  }
  return out.join('\n').replace(/[^\S\n]+/g, ' ');
}

/** Sayings, with who said them. @param {string} text */
const sayings = (text) => text.split(/^%$/m).map((saying) => joined(saying.replaceAll('\t', ' ')));

/** Chapters as plain text: without titles, examples of code and tables. @param {string} text */
function chapters(text) {
  const paragraphs = text.split(/\n\s*\n/).filter((one) => !/[│|+]--|──|[=*~]{4}|\.{5}|^\s*\$ /m.test(one));
  return pieces(paragraphs.map(joined).filter((one) => /[a-z].*[.:;]/.test(one)));
}

const FONTS = /\\f(?:\[\w*\]|\(..|.)|\\[&/,^|%c:]|\\s[-+]?\d|\\[hv]'[^']*'/g;
const SIGNS = /** @type {Record<string, string>} */ ({ '\\-': '-', '\\e': '\\', '\\ ': ' ', '\\~': ' ', "\\'": "'" });

/** A line without what is not text. @param {string} line */
const plain = (line) =>
  line
    .replace(/\\".*$/, '')
    .replace(/\\\((?:aq|cq|oq)/g, "'")
    .replace(/\\\((?:dq|lq|rq)/g, '"')
    .replace(/\\\(em/g, ' - ')
    .replace(/\\[([]\S\S\]?|\\\*\S/g, '')
    .replace(FONTS, '')
    .replace(/\\[-e ~']/g, (sign) => SIGNS[sign]);

/** The words of a macro's line, quotes respected. @param {string} line */
const words = (line) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);

/** A manual page's text, from man's macros. @param {string} text */
function manual(text) {
  const paragraphs = [''];
  let skipping = false;
  for (const line of text.split('\n')) {
    const macro = /^[.']\s*(\w+)/.exec(line)?.[1] ?? '';
    const rest = plain(line.replace(/^[.']\s*\w*\s*/, ''));
    if (/^(nf|EX|TS)$/.test(macro)) skipping = true;
    else if (/^(fi|EE|TE)$/.test(macro)) skipping = false;
    else if (skipping) continue;
    else if (/^(PP|P|LP|TP|TQ|IP|HP|SH|SS|RS|RE|sp|br)$/.test(macro)) paragraphs.push('');
    else if (/^(B|I|SM|SB)$/.test(macro)) paragraphs[paragraphs.length - 1] += ` ${words(rest).join(' ')}`;
    else if (/^(BR|RB|IR|RI|BI|IB)$/.test(macro)) paragraphs[paragraphs.length - 1] += ` ${words(rest).join('')}`;
    else if (!macro && !/^[.']/.test(line)) paragraphs[paragraphs.length - 1] += ` ${plain(line)}`;
  }
  return pieces(paragraphs.map((one) => one.replace(/\s+/g, ' ').trim()).filter((one) => / .* .* /.test(one)));
}

/** Paragraphs, as many together as make about a screen. @param {string[]} paragraphs */
function pieces(paragraphs) {
  const out = [''];
  for (const one of paragraphs) {
    if (out[out.length - 1].length > 1000) out.push('');
    out[out.length - 1] += `${one.trim()}\n`;
  }
  return out;
}

/** All files under a folder that end so. @param {string} folder @param {RegExp} name @returns {string[]} */
const filesOf = (folder, name) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file))
    .sort()
    .map((file) => join(folder, file));

/** Not a title, and nothing that a printer or a broken encoding has left. @param {string} one */
const isText = (one) => one.length >= SHORTEST && !/[^\P{Cc}\n]|[\ufffdÂÃâ]/u.test(one);

function main() {
  const share = unpack();
  const manuals = filesOf(join(share, 'man'), /man\d\/.*\.gz$/).flatMap((file) => manual(textOf(file)));
  const books = [
    ...chapters(textOf(join(share, 'debian-reference/debian-reference.en.txt.gz'))),
    ...chapters(textOf(join(share, 'developers-reference/developers-reference.txt.gz'))),
  ];
  const said = filesOf(join(share, 'games/fortunes'), SAYINGS).flatMap((file) => sayings(textOf(file)));
  const seen = new Set();
  const parts = { learned: /** @type {string[]} */ ([]), aside: /** @type {string[]} */ ([]) };
  let at = 0;
  for (const [kind, list] of Object.entries({ manuals, books, said })) {
    const good = list.map((one) => one.trim()).filter((one) => isText(one) && !seen.has(one) && seen.add(one));
    for (const one of good) parts[at++ % ASIDE_OF ? 'learned' : 'aside'].push(one);
    console.log(`${kind}: ${good.length} pieces, ${good.join('').length} characters`);
  }
  for (const [name, list] of Object.entries(parts)) writeFileSync(join(FOLDER, `${name}.json`), JSON.stringify(list));
}

if (process.argv[1] === import.meta.filename) main();
