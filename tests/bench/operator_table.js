// The figures of the benchmark of operators as lines of text, and as docs/operator-speed.md: a section for each place
// where they were taken, a row of which stays until it is measured again.

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

const micros = (ms) => (Number.isFinite(ms) ? Number((ms * 1e3).toPrecision(3)).toString() : '–');
const ratioOf = (ratio) => (Number(told(ratio, 2)) < LEAST ? `**${told(ratio, 2)}**` : told(ratio, 2));
const cellsOf = (m) => [micros(m.ours), ratioOf(m.ratio), `${told(100 * m.ofLimit, 0)} ${m.limit[0]}`];

/** A row of the page: its name, and three cells for each size. @param {object[]} figures of one row, a size each */
const rowOf = (figures) => `| ${[figures[0].name, ...figures.flatMap(cellsOf)].join(' | ')} |`;

const places = Object.keys(SIZES);
const HEAD = [
  `| row | ${places.map((place) => `${place}: µs | ratio | of the limit`).join(' | ')} |`,
  `|---|${'---:|'.repeat(3 * places.length)}`,
];
const isRow = (line) => line.startsWith('| ') && line !== HEAD[0];
const nameOf = (line) => line.slice(2, line.indexOf(' |'));

/** How many figures of these rows are beside a peer's, and how many of these below 0.83. */
function counted(rows) {
  const ratios = rows.flatMap((row) => {
    const cells = row.split(' | ');
    return places.map((_, i) => cells[2 + 3 * i].replaceAll('*', '')).filter((cell) => cell !== '–');
  });
  return { beside: ratios.length, below: ratios.filter((ratio) => Number(ratio) < LEAST).length };
}

/** A section: when and where, how many, the rows in the order of the benchmark. */
function sectionOf(title, about, rows, all) {
  const { beside, below } = counted(rows);
  const sum = `${rows.length} of ${all} rows are measured; of ${beside} figures beside a peer, ${below} are below ${LEAST}.`;
  return [`## ${title}`, '', about, '', sum, '', ...HEAD, ...rows, ''].join('\n');
}

/**
 * The page with figures measured now in the section of that title, instead of those of the same rows there; rows that
 * are not among `names` any more go.
 */
export function pageWith(page, { title, about, names, figures }) {
  const [start, ...sections] = page.split(/^(?=## )/m);
  const kept = sections.filter((section) => !section.startsWith(`## ${title}\n`));
  const old = sections.find((section) => section.startsWith(`## ${title}\n`)) ?? '';
  const lines = new Map(
    old
      .split('\n')
      .filter(isRow)
      .map((line) => [nameOf(line), line]),
  );
  for (const name of names) {
    const of = figures.filter((figure) => figure.name === name); // whole rows only
    if (of.length === places.length) lines.set(name, rowOf(of));
  }
  const rows = names.flatMap((name) => lines.get(name) ?? []);
  const all = [...kept, sectionOf(title, about, rows, names.length)].sort();
  return `${[start.trimEnd(), ...all.map((section) => section.trimEnd())].join('\n\n')}\n`;
}
