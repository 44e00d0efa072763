// The benchmark of operators: each alone, at three sizes, ours beside onnxruntime-web (operator_measure.js).

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { disagrees, SIZES } from './operator_measure.js';
import { ROWS } from './operator_rows.js';
import { HEADER, lineOf, pageWith } from './operator_table.js';
import { openOperators } from './places/operators.js';

const PAGE = new URL('../../docs/operator-speed.md', import.meta.url);

const SIZES_A_ROW = Object.keys(SIZES).length;

/** The rows whose name contains one of the words, all without any. */
function rowsOf(words) {
  const chosen = Object.keys(ROWS).filter((name) => !words.length || words.some((word) => name.includes(word)));
  words.forEach((word) => {
    if (!Object.keys(ROWS).some((name) => name.includes(word)))
      throw new RangeError(
        `No row of the benchmark of operators is called '${word}': ${Object.keys(ROWS).join('; ')}.`,
      );
  });
  return chosen;
}

/** Puts a row's figures into docs/operator-speed.md, at once: a run that is stopped keeps what it has. */
function write({ name, clock }, rounds, figures) {
  const about = `${name}, ${cpus()[0].model}, ${clock}, ${rounds} rounds; the last of them ${new Date().toISOString().slice(0, 10)}.`;
  const title = `In ${name.split(' ')[0]}`;
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), { title, about, names: Object.keys(ROWS), figures }));
}

/**
 * Measures and prints; with `write` into docs/operator-speed.md, too. @param {string[]} words
 * @param {{ rounds: number, json?: boolean, page?: string, write?: boolean }} options
 */
export async function benchOperators(words, { rounds, json = false, page, write: isWritten = false }) {
  const names = rowsOf(words);
  const place = await openOperators(page);
  const figures = [];
  if (!json) console.log(HEADER);
  for await (const figure of place.measured(names, rounds)) {
    figures.push(figure);
    if (!json) console.log(lineOf(figure));
    if (isWritten) write(place, rounds, figures.slice(-SIZES_A_ROW));
  }
  if (json) console.log(JSON.stringify(figures, null, 1));
  return !figures.some(disagrees);
}
