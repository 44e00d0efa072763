// Weighs the rows and compares them with the committed table.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { root } from '../../tools/programs.mjs';

export const TABLE = join(root, 'tests/sizes/table.json');
export const readTable = () => JSON.parse(readFileSync(TABLE, 'utf8'));

/** A row may grow by less than this share of what the table says. */
export const GROWTH = 0.02;
const TOLD = 10;
const TAKEN_OVER = 'where that is wanted: npm run sizes -- --take';
const KINDS = ['raw', 'gzip', 'brotli'];

/** @returns {Promise<{ files: number, raw: number, gzip: number, brotli: number, parts: Record<string, number> }>} */
export async function weigh({ measure }) {
  const { files, parts } = await measure();
  const sum = (size) => files.reduce((all, bytes) => all + size(bytes), 0);
  return {
    files: files.length,
    raw: sum((bytes) => bytes.length),
    gzip: sum((bytes) => gzipSync(bytes, { level: 9 }).length),
    brotli: sum((bytes) => brotliCompressSync(bytes).length),
    parts,
  };
}

/** Fault of a row, in a sentence; '' where there is none. */
export function complaintOf({ name, most = Infinity, mostFiles = Infinity }, now, before) {
  if (!before) return `${name} is not in the table: npm run sizes -- --take`;
  const grown = KINDS.filter((kind) => now[kind] >= before[kind] * (1 + GROWTH));
  const tooMuch = now.brotli > most ? [`${name} has ${now.brotli} bytes by brotli; at most ${most} are allowed`] : [];
  const tooFast = grown.map(
    (kind) => `${name} grew by ${percent(now[kind], before[kind])} (${kind}: ${before[kind]} → ${now[kind]} bytes)`,
  );
  const tooMany = now.files > mostFiles ? [`${name} is ${now.files} files; at most ${mostFiles} are allowed`] : [];
  const told = [...tooMuch, ...tooMany, ...tooFast];
  return told.length ? [...told, ...partsThatGrew(now.parts, before.parts), TAKEN_OVER].join('\n') : '';
}

const percent = (now, before) => `${((100 * (now - before)) / before).toFixed(1)} %`;

/** Parts that grew most, a line each. */
function partsThatGrew(now, before) {
  return Object.entries(now)
    .map(([part, size]) => ({ part, size, by: size - (before[part] ?? 0) }))
    .filter(({ by }) => by > 0)
    .sort((a, b) => b.by - a.by)
    .slice(0, TOLD)
    .map(
      ({ part, size, by }) => `  ${part}: ${by === size ? `${size} bytes, not in the table` : `+${by}, ${size} bytes`}`,
    );
}
