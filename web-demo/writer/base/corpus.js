// The text that the base learns: six novels and some thousand sayings, in paragraphs with no markup left.
//
//   node web-demo/writer/base/corpus.js     downloads the packages by apt-get, writes build/writer/{learned,aside}.json

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { root } from '../../../tools/programs.mjs';

export const FOLDER = join(root, 'build/writer');
const PACKAGES = ['fortunes', 'r-cran-janeaustenr'];
/** One of so many pieces is kept aside: neither the tokens nor the training see it. */
const ASIDE_OF = 40;
/** Files of fortunes that are left out: pictures, songs, chats, code, and fun of people for what they are. */
const NO_SAYINGS = [
  ...['ascii-art', 'debian', 'disclaimer', 'drugs', 'ethnic', 'goedel', 'knghtbrd', 'linux', 'linuxcookie'],
  ...['men-women', 'perl', 'songs-poems', 'translate-me', 'zippy'],
];
/** Shorter ones are titles, leftovers of tables and the like. */
const SHORTEST = 60;

/** The pieces of the text that were learned, and those kept aside. @returns {Record<'learned' | 'aside', string[]>} */
export function readCorpus() {
  const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
  return { learned: read('learned'), aside: read('aside') };
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

/** Sayings, without who said them. @param {string} text */
const sayings = (text) =>
  text
    .split(/^%$/m)
    .map((saying) => joined(saying.replaceAll('\t', ' ')).replace(/\s*(?:\n|\s)-- [^\n]*(?:\n.*)*$/, ''));

/**
 * The novels of R's package: compressed vectors of lines, each after the number of its bytes.
 * @param {Buffer} file @returns {string[]}
 */
function novels(file) {
  const texts = [];
  for (let at = 0; at < file.length; ) {
    const { buffer, engine } = /** @type {any} */ (inflateSync(file.subarray(at + 4), { info: true }));
    at += 4 + engine.bytesWritten;
    const lines = [];
    for (let i = 31; lines.length < buffer.readUInt32BE(27); i += 8 + buffer.readUInt32BE(i + 4))
      lines.push(buffer.toString('utf8', i + 8, i + 8 + buffer.readUInt32BE(i + 4)));
    texts.push(lines.join('\n'));
  }
  return texts;
}

/** A novel's paragraphs: without titles, and with no signs of emphasis. @param {string} text */
function chapters(text) {
  const paragraphs = text.split(/\n\s*\n/).map((one) => one.replaceAll('_', '').replace(/\s+/g, ' ').trim());
  return pieces(paragraphs.filter((one) => /[a-z].*[.!?"']$/.test(one)));
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

/** Not a title, and nothing that a printer or a broken encoding has left. @param {string} one */
const isText = (one) => one.length >= SHORTEST && !/[^\P{Cc}\n]|[\ufffdÂÃâ]/u.test(one);

function main() {
  const share = unpack();
  const austen = readFileSync(join(share, '../lib/R/site-library/janeaustenr/data/Rdata.rdb'));
  const fortunes = join(share, 'games/fortunes');
  const files = readdirSync(fortunes).filter((name) => !name.includes('.') && !NO_SAYINGS.includes(name));
  const told = novels(austen).flatMap(chapters);
  const said = files.flatMap((name) => sayings(readFileSync(join(fortunes, name), 'utf8')));
  const seen = new Set();
  const parts = { learned: /** @type {string[]} */ ([]), aside: /** @type {string[]} */ ([]) };
  let at = 0;
  for (const [kind, list] of Object.entries({ told, said })) {
    const good = list.map((one) => one.trim()).filter((one) => isText(one) && !seen.has(one) && seen.add(one));
    for (const one of good) parts[at++ % ASIDE_OF ? 'learned' : 'aside'].push(one);
    console.log(`${kind}: ${good.length} pieces, ${good.join('').length} characters`);
  }
  for (const [name, list] of Object.entries(parts)) writeFileSync(join(FOLDER, `${name}.json`), JSON.stringify(list));
}

if (process.argv[1] === import.meta.filename) main();
