// The pictures that the backbone learns from: each emoji of Debian's fonts-noto-color-emoji (skin tones once) and each
// icon of fonts-font-awesome, drawn by Chromium into 96 × 96 pixels of red, green, blue and opacity.
//
//   node web-demo/pictures/backbone/glyphs.js     writes build/pictures/glyphs.bin and glyphs.json

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, findChromium, root } from '../../../tools/programs.mjs';

export const FOLDER = join(root, 'build/pictures');
export const SIDE = 96;
export const GLYPH_BYTES = SIDE * SIDE * 4;
const EMOJI = '/usr/share/unicode/emoji/emoji-test.txt';
const ICONS = '/usr/share/fonts-font-awesome/fonts/FontAwesome.otf';
const PACKAGES = [
  ['/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf', 'fonts-noto-color-emoji'],
  [EMOJI, 'unicode-data'],
  [ICONS, 'fonts-font-awesome'],
  ['/usr/bin/fc-query', 'fontconfig'],
];
/** One of ten families of glyphs is kept aside. */
const ASIDE = 10;
/** So many icons side by side are one family: a font has an arrow to the left beside that to the right. */
const ICON_FAMILY = 8;
/** In words of which emoji differ as one person does from another, not as one thing does from another. */
const PERSON = /\b(?:person|people|man|men|woman|women|boy|girl|child|male|female)\b:? ?/g;

/** @typedef {{ name: string, text: string, kind: 'emoji' | 'icon', family: string }} Glyph */

function installPackages() {
  const missing = PACKAGES.filter(([file]) => !existsSync(file)).map(([, name]) => name);
  if (!missing.length) return;
  if (process.getuid?.() !== 0)
    throw new Failure(`these Debian packages are missing: apt-get install ${missing.join(' ')}`);
  execFileSync('apt-get', ['install', '-y', '--no-install-recommends', ...missing], { stdio: 'inherit' });
}

/** @returns {Glyph[]} */
function emoji() {
  const row = /^([0-9A-F ]+?) +; fully-qualified +# \S+ E[\d.]+ (.+)$/gm;
  return [...readFileSync(EMOJI, 'utf8').matchAll(row)]
    .filter(([, , name]) => !/skin tone/.test(name))
    .map(([, codes, name]) => ({
      name,
      text: String.fromCodePoint(...codes.split(' ').map((code) => Number.parseInt(code, 16))),
      kind: 'emoji',
      family: name.replaceAll(PERSON, '').trim() || 'person',
    }));
}

/** Glyphs of the private use area, where such fonts have them. @returns {Glyph[]} */
function icons() {
  const ranges = execFileSync('fc-query', ['--format', '%{charset}', ICONS], { encoding: 'utf8' }).split(' ');
  const codes = ranges.flatMap((range) => {
    const [first, last = first] = range.split('-').map((code) => Number.parseInt(code, 16));
    return Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((code) => code >= 0xf000);
  });
  return codes.map((code, i) => ({
    name: `icon ${code.toString(16)}`,
    text: String.fromCodePoint(code),
    kind: 'icon',
    family: `icons ${Math.floor(i / ICON_FAMILY)}`,
  }));
}

/** The same ones each time, on every machine. @param {string} family */
const isAside = (family) => createHash('sha256').update(family).digest().readUInt32LE() % ASIDE === 0;

/** Runs in the page: each text as large as fits, in the middle. @param {[string, string[], number]} given */
function draw([font, texts, side]) {
  const canvasOf = (/** @type {number} */ size) => {
    const context = new OffscreenCanvas(size, size).getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('no canvas');
    return context;
  };
  const [large, small] = [canvasOf(2 * side), canvasOf(side)];
  large.font = `${side}px ${font}`;
  large.textAlign = 'center';
  large.textBaseline = 'middle';
  return texts.map((text) => {
    large.clearRect(0, 0, 2 * side, 2 * side);
    large.fillText(text, side, side);
    const { data } = large.getImageData(0, 0, 2 * side, 2 * side);
    let [left, top, right, bottom] = [2 * side, 2 * side, -1, -1];
    for (let i = 0; i < 4 * side * side; i++)
      if (data[4 * i + 3]) {
        const [x, y] = [i % (2 * side), Math.floor(i / (2 * side))];
        [left, top] = [Math.min(left, x), Math.min(top, y)];
        [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
      }
    if (right < 0) return '';
    const [width, height] = [right - left, bottom - top];
    const scale = (side - 4) / Math.max(width, height);
    const [w, h] = [width * scale, height * scale];
    small.clearRect(0, 0, side, side);
    small.imageSmoothingQuality = 'high';
    small.drawImage(large.canvas, left, top, width, height, (side - w) / 2, (side - h) / 2, w, h);
    let pixels = '';
    for (const byte of small.getImageData(0, 0, side, side).data) pixels += String.fromCharCode(byte);
    return btoa(pixels);
  });
}

/** @param {import('playwright-core').Page} page @param {string} font @param {Glyph[]} glyphs */
async function drawn(page, font, glyphs) {
  const made = [];
  for (let i = 0; i < glyphs.length; i += 100) {
    const part = glyphs.slice(i, i + 100);
    const pixels = await page.evaluate(draw, [font, part.map(({ text }) => text), SIDE]);
    part.forEach((glyph, j) => {
      made.push({ ...glyph, pixels: Buffer.from(pixels[j], 'base64') });
    });
  }
  return made;
}

/**
 * Some flags are drawn alike, and what a font lacks is drawn as nothing.
 * @template {{ pixels: Buffer }} T @param {T[]} all
 */
function distinct(all) {
  const seen = new Set();
  return all.filter(({ pixels }) => {
    const hash = createHash('sha256').update(pixels).digest('hex');
    return pixels.length === GLYPH_BYTES && !seen.has(hash) && seen.add(hash);
  });
}

async function main() {
  installPackages();
  const { chromium } = await import('playwright-core'); // 25 MB that who only reads the glyphs does without
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage();
  const all = [...(await drawn(page, '"Noto Color Emoji"', emoji())), ...(await drawn(page, 'FontAwesome', icons()))];
  await browser.close();
  const glyphs = distinct(all);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'glyphs.bin'), Buffer.concat(glyphs.map(({ pixels }) => pixels)));
  const rows = glyphs.map(({ name, text, kind, family }) => ({ name, text, kind, aside: isAside(family) }));
  writeFileSync(join(FOLDER, 'glyphs.json'), JSON.stringify(rows, null, 1));
  const aside = rows.filter((row) => row.aside).length;
  console.log(`${rows.length} glyphs of ${all.length}, ${aside} of them kept aside, in ${FOLDER}`);
}

/** @returns {{ name: string, text: string, kind: 'emoji' | 'icon', aside: boolean, pixels: Uint8Array }[]} */
export function readGlyphs() {
  const bytes = readFileSync(join(FOLDER, 'glyphs.bin'));
  const rows = JSON.parse(readFileSync(join(FOLDER, 'glyphs.json'), 'utf8'));
  return rows.map((/** @type {any} */ row, /** @type {number} */ i) => ({
    ...row,
    pixels: bytes.subarray(i * GLYPH_BYTES, (i + 1) * GLYPH_BYTES),
  }));
}

if (process.argv[1] === import.meta.filename) await main();
