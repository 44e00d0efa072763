// The figures of the benchmark of operators as lines of text, and as docs/measured/operator-speed.md or, of backward
// passes, docs/measured/gradient-speed.md. A page has a section for each place; a row stays until it is measured again.

import { wrapped } from '../../tools/exports.mjs';
import { disagrees, SIZES } from './operator_measure.js';

const LEAST = 0.83;
const told = (number, digits) => (Number.isFinite(number) ? number.toFixed(digits) : '–');

const lineOfTexts = (name, place, [ours, ort, ratio, rate], unit, ofLimit) =>
  name.padEnd(46) +
  place.padEnd(14) +
  `${ours.padStart(10)}${ort.padStart(10)}${ratio.padStart(7)}${rate.padStart(10)} ` +
  `${unit.padEnd(8)}  ${ofLimit}`;
export const HEADER = lineOfTexts('operator', 'place', ['ours µs', 'ort µs', 'ratio', 'rate'], '', 'of the limit');

export function lineOf(m) {
  const numbers = [told(m.ours * 1e3, 1), told(m.ort * 1e3, 1), told(m.ratio, 2), told(m.rate, 1)];
  const bandwidth = m.limit === 'read' ? `, ${told(m.limitRate, 1)} GB/s` : '';
  const share = `${told(100 * m.ofLimit, 0)} % of ${m.limit}${bandwidth}`.padStart(14);
  const line = lineOfTexts(m.name, m.place, numbers, m.unit, share);
  return disagrees(m) ? `${line}  DIFFERS by ${m.difference.toExponential(1)}` : line;
}

const lineOfGradients = (name, place, [ours, torch, ort]) =>
  `${name.padEnd(46)}${place.padEnd(14)}${ours.padStart(10)}${torch.padStart(10)}${ort.padStart(10)}`;
export const GRADIENT_HEADER = lineOfGradients('backward pass', 'place', ['ours µs', '/ PyTorch', '/ ort']);

export function lineOfGradient(m) {
  const line = lineOfGradients(m.name, m.place, [told(m.ours * 1e3, 1), told(m.torchRatio, 2), told(m.ortRatio, 2)]);
  return disagrees(m) ? `${line}  DIFFERS by ${m.difference.toExponential(1)}` : line;
}

const micros = (ms) => (Number.isFinite(ms) ? Number((ms * 1e3).toPrecision(3)).toString() : '–');
const ratioOf = (ratio) => (Number(told(ratio, 2)) < LEAST ? `**${told(ratio, 2)}**` : told(ratio, 2));
const cellsOf = (m) => [micros(m.ours), ratioOf(m.ratio), `${told(100 * m.ofLimit, 0)} ${m.limit[0]}`];

const places = Object.keys(SIZES);
const nameOf = (line) => line.slice(2, line.indexOf(' |'));

/** Counts figures of these rows, in that column of each size, that have a peer's, and those of them below 0.83. */
function counted(rows, column, columns) {
  const ratios = rows.flatMap((row) => {
    const cells = row.split(' | ').map((cell) => cell.replaceAll(' |', ''));
    return places.map((_, i) => cells[1 + column + columns * i].replaceAll('*', '')).filter((cell) => cell !== '–');
  });
  return { beside: ratios.length, below: ratios.filter((ratio) => Number(ratio) < LEAST).length };
}

/** A table's columns for each size, the cells of a figure, and the peers of its ratios. */
export const FORWARD = {
  columns: ['µs', 'ratio', 'of the limit'],
  cells: cellsOf,
  ratios: { 1: 'a peer' },
};
export const BACKWARD = {
  columns: ['µs', 'PyTorch', 'ort'],
  cells: (m) => [micros(m.ours), ratioOf(m.torchRatio), ratioOf(m.ortRatio)],
  ratios: { 1: 'PyTorch', 2: 'onnxruntime-web' },
};

/** A row of the page: its name, and the cells of each size. @param {object[]} figures of one row, a size each */
const rowOf = (figures, { cells }) => `| ${[figures[0].name, ...figures.flatMap(cells)].join(' | ')} |`;
const headOf = ({ columns }) => [
  `| row | ${places.map((place) => [`${place}: ${columns[0]}`, ...columns.slice(1)].join(' | ')).join(' | ')} |`,
  `|---|${'---:|'.repeat(columns.length * places.length)}`,
];

/** A section: when and where, how many, the rows in the order of the benchmark. */
function sectionOf(title, about, rows, all, table) {
  const sums = Object.entries(table.ratios).map(([column, peer]) => {
    const { beside, below } = counted(rows, Number(column), table.columns.length);
    return `of ${beside} figures beside ${peer}, ${below} are below ${LEAST}`;
  });
  const sum = `${rows.length} of ${all} rows are measured; ${sums.join('; ')}.`;
  return [`## ${title}`, '', wrapped(about), '', wrapped(sum), '', ...headOf(table), ...rows, ''].join('\n');
}

/**
 * The page with figures measured now in the section of that title, instead of those of the same rows there; rows that
 * are not among `names` any more go.
 */
export function pageWith(page, { title, about, names, figures, table = FORWARD }) {
  const [start, ...sections] = page.split(/^(?=## )/m);
  const kept = sections.filter((section) => !section.startsWith(`## ${title}\n`));
  const old = sections.find((section) => section.startsWith(`## ${title}\n`)) ?? '';
  const isRow = (line) => line.startsWith('| ') && !line.startsWith('| row | ');
  const lines = new Map(
    old
      .split('\n')
      .filter(isRow)
      .map((line) => [nameOf(line), line]),
  );
  for (const name of names) {
    const of = figures.filter((figure) => figure.name === name); // whole rows only
    if (of.length === places.length) lines.set(name, rowOf(of, table));
  }
  const rows = names.flatMap((name) => lines.get(name) ?? []);
  const all = [...kept, sectionOf(title, about, rows, names.length, table)].sort();
  return `${[start.trimEnd(), ...all.map((section) => section.trimEnd())].join('\n\n')}\n`;
}
