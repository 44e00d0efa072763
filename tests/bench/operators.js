// The benchmark of operators: each alone, at three sizes, ours beside onnxruntime-web (operator_measure.js), or its
// backward pass beside PyTorch's, too (gradient_measure.js).

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename } from 'node:path';
import { gradientRows } from './gradient_rows.js';
import { disagrees, SIZES } from './operator_measure.js';
import { ROWS } from './operator_rows.js';
import { BACKWARD, FORWARD, GRADIENT_HEADER, HEADER, lineOf, lineOfGradient, pageWith } from './operator_table.js';
import { openOperators } from './places/operators.js';

const KINDS = {
  forward: {
    rows: () => Object.keys(ROWS),
    page: new URL('../../docs/measured/operator-speed.md', import.meta.url),
    table: FORWARD,
    header: HEADER,
    line: lineOf,
  },
  gradients: {
    rows: gradientRows,
    page: new URL('../../docs/measured/gradient-speed.md', import.meta.url),
    table: BACKWARD,
    header: GRADIENT_HEADER,
    line: lineOfGradient,
  },
};

const SIZES_A_ROW = Object.keys(SIZES).length;

/** Names that contain one of the words; all names without words. */
function chosenOf(names, words) {
  words.forEach((word) => {
    if (!names.some((name) => name.includes(word)))
      throw new RangeError(`No row of the benchmark of operators is called '${word}': ${names.join('; ')}.`);
  });
  return names.filter((name) => !words.length || words.some((word) => name.includes(word)));
}

/** Puts a row's figures into the page of its kind, at once: a run that is stopped keeps what it has. */
function write({ name, clock }, rounds, figures, { page, rows, table }) {
  const today = new Date().toISOString().slice(0, 10);
  const about = `${name}, ${cpus()[0].model}, ${clock}, ${rounds} rounds; the last of them ${today}.`;
  const place = name.split(' ')[0];
  const file = `${basename(page.pathname, '.md')}-${place.toLowerCase()}`;
  const beside = (/** @type {string} */ end) => new URL(`${file}.${end}`, page);
  const csv = existsSync(beside('csv')) ? readFileSync(beside('csv'), 'utf8') : '';
  const section = { title: `In ${place}`, about, names: rows(), figures, csv, file, table };
  const made = pageWith(readFileSync(page, 'utf8'), section);
  writeFileSync(beside('csv'), made.csv);
  writeFileSync(beside('svg'), made.svg);
  writeFileSync(page, made.page);
}

/**
 * Measures and prints; with `write` also into docs/measured/operator-speed.md or docs/measured/gradient-speed.md.
 * @param {string[]} words
 * @param {{ rounds: number, json?: boolean, page?: string, write?: boolean, gradients?: boolean }} options
 */
export async function benchOperators(
  words,
  { rounds, json = false, page, write: isWritten = false, gradients = false },
) {
  const kind = KINDS[gradients ? 'gradients' : 'forward'];
  const names = chosenOf(kind.rows(), words);
  const place = await openOperators(page, gradients);
  const figures = [];
  if (!json) console.log(kind.header);
  for await (const figure of place.measured(names, rounds)) {
    figures.push(figure);
    if (!json) console.log(figure.error ? `${figure.name}, ${figure.place}: ${figure.error}` : kind.line(figure));
    const row = figures.filter(({ name }) => name === figure.name);
    if (isWritten && row.length === SIZES_A_ROW && !row.some(({ error }) => error)) write(place, rounds, row, kind);
  }
  if (json) console.log(JSON.stringify(figures, null, 1));
  return !figures.some(disagrees);
}
