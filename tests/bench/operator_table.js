// The figures of the benchmark of operators as lines of text, and as docs/measured/operator-speed.md or, of backward
// passes, docs/measured/gradient-speed.md. A page has a section for each place with a plot and the lowest ratios; all
// rows are in a CSV file beside it, where a row stays until it is measured again.

import { wrapped } from '../../tools/exports.mjs';
import { disagrees, SIZES } from './operator_measure.js';
import { curvesOf } from './operator_plot.js';

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
const cellsOf = (m) => [micros(m.ours), told(m.ratio, 2), `${told(100 * m.ofLimit, 0)} ${m.limit[0]}`];

const places = Object.keys(SIZES);
const WORST = 12;

/** A table's columns for each size, the cells of a figure, and the peers of its ratios. */
export const FORWARD = {
  columns: ['µs', 'ratio', 'of the limit'],
  cells: cellsOf,
  ratios: { 1: 'a peer' },
};
export const BACKWARD = {
  columns: ['µs', 'PyTorch', 'ort'],
  cells: (m) => [micros(m.ours), told(m.torchRatio, 2), told(m.ortRatio, 2)],
  ratios: { 1: 'PyTorch', 2: 'onnxruntime-web' },
};

const quoted = (cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const csvOf = ({ columns }, rows) => {
  const head = ['row', ...places.flatMap((place) => columns.map((column) => `${place}: ${column}`))];
  return [head, ...rows].map((cells) => `${cells.map(quoted).join(',')}\n`).join('');
};
/** The rows of such a file, without its head; a row is its name and its cells. @param {string} csv */
const rowsIn = (csv) =>
  csv
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)])
    .map((cells) => cells.map(([, long, short]) => long?.replaceAll('""', '"') ?? short));

/** Figures of these rows that have this peer's: row, size, microseconds, ratio. */
function figuresBeside(rows, column, { columns }) {
  const at = (i) => 1 + columns.length * i;
  const all = rows.flatMap((cells) =>
    places.map((place, i) => ({ name: cells[0], place, us: cells[at(i)], ratio: Number(cells[at(i) + column]) })),
  );
  return all.filter(({ ratio }) => Number.isFinite(ratio));
}

/** The lowest ratios first. */
const lowest = (figures) => [...figures].sort((a, b) => a.ratio - b.ratio).slice(0, WORST);

/** A section: when and where, how many, the plot, the lowest ratios, and where all rows are. */
function sectionOf(title, about, rows, all, table, file) {
  const peers = Object.entries(table.ratios).map(([column, peer]) => ({
    peer,
    figures: figuresBeside(rows, Number(column), table),
  }));
  const sums = peers.map(({ peer, figures }) => {
    const below = figures.filter(({ ratio }) => ratio < LEAST).length;
    return `of ${figures.length} figures beside ${peer}, ${below} are below ${LEAST}`;
  });
  const sum = `${rows.length} of ${all} rows are measured; ${sums.join('; ')}. All rows: [${file}.csv](${file}.csv).`;
  const worst = peers.flatMap(({ peer, figures }) =>
    lowest(figures).map((f) => `| ${f.name} | ${f.place} | ${f.us} | ${peer} | ${f.ratio.toFixed(2)} |`),
  );
  const head = ['| the lowest ratios | size | µs | beside | ratio |', '|---|---|---:|---|---:|'];
  const plot = `![Ratios of all rows, sorted](${file}.svg)`;
  const lines = [`## ${title}`, '', wrapped(about), '', wrapped(sum), '', plot, '', ...head, ...worst, ''];
  return {
    text: lines.join('\n'),
    svg: curvesOf(peers.map(({ peer, figures }) => ({ peer, figures, places }))),
  };
}

/**
 * The page with the section of that title made anew, the section's CSV file and its plot. Rows measured now replace
 * those of the same names in `csv`; rows that are not among `names` any more go.
 * `file`: the name of CSV and plot, without their ends.
 */
export function pageWith(page, { title, about, names, figures, csv = '', file, table = FORWARD }) {
  const lines = new Map(rowsIn(csv).map((cells) => [cells[0], cells]));
  for (const name of names) {
    const measured = figures.filter((figure) => figure.name === name); // whole rows only
    if (measured.length === places.length) lines.set(name, [name, ...measured.flatMap(table.cells)]);
  }
  const rows = names.flatMap((name) => (lines.has(name) ? [lines.get(name)] : []));
  const [start, ...sections] = page.split(/^(?=## )/m);
  const kept = sections.filter((section) => !section.startsWith(`## ${title}\n`));
  const { text, svg } = sectionOf(title, about, rows, names.length, table, file);
  const all = [...kept, text].sort();
  const whole = `${[start.trimEnd(), ...all.map((section) => section.trimEnd())].join('\n\n')}\n`;
  return { page: whole, csv: csvOf(table, rows), svg };
}
