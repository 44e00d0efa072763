// Results on the page: loss and metrics, which class was read as which, and the examples that are read wrong.

import { make, tableOf } from './dom.js';
import { scrolling } from './show-model.js';
import { counted, numberText, percentText } from './words.js';

/** @typedef {import('./training.js').Judgement} Judgement @typedef {import('./data.js').Data} Data */

const MOST_WRONG = 12;
/** More classes than these make no table. */
const MOST_CLASSES = 20;

/** @param {HTMLElement} place @param {Judgement} judged @param {Data} data */
export function showResults(place, judged, data) {
  const { confusion, readings } = judged;
  const wrong = readings.filter(({ error }) => error > 0).sort((a, b) => b.error - a.error);
  place.hidden = false;
  place.replaceChildren(
    make('p', { className: 'score' }, scoreText(judged, data)),
    ...(confusion && confusion.length <= MOST_CLASSES ? [confusionOf(confusion, data.classes ?? [])] : []),
    ...(readings.length ? [make('h3', {}, headingOf(data, wrong.length)), wrongOf(wrong, data)] : []),
  );
}

/** @param {Judgement} judged @param {Data} data */
function scoreText({ loss, metrics, readings, count, isHeldOut }, { task }) {
  const whose = isHeldOut ? `${counted(count, 'example')} that it did not learn` : 'the examples that it learned';
  const right = readings.filter(({ error }) => error === 0).length;
  if (task === 'classes' && readings.length)
    return `${right} of ${whose} read right, ${percentText(metrics.accuracy)}; loss ${numberText(loss)}.`;
  const others = Object.entries(metrics).map(([name, value]) => `${name} ${numberText(value)}`);
  return `On ${whose}: ${[`loss ${numberText(loss)}`, ...others].join(', ')}.`;
}

/** @param {Data} data @param {number} wrong */
const headingOf = ({ task }, wrong) =>
  task === 'numbers' ? 'Furthest off' : wrong ? 'Read wrong, the surest first' : 'None is read wrong';

/** @param {number[][]} counts @param {readonly string[]} classes */
function confusionOf(counts, classes) {
  const rows = counts.map((row, truth) => [
    classes[truth],
    ...row.map((count, read) =>
      make('span', { className: count ? (truth === read ? 'right' : 'wrong') : '' }, String(count)),
    ),
  ]);
  return scrolling(
    'Which class was read as which',
    tableOf('Which class, in rows, was read as which, in columns', ['is / read as', ...classes], rows),
  );
}

/** @param {import('./training.js').Reading[]} wrong @param {Data} data */
function wrongOf(wrong, data) {
  const rows = wrong.slice(0, MOST_WRONG).map(({ place, truth, read }) => {
    const shown = data.example(place).slice(0, -1);
    return [...shown, truth, read];
  });
  if (!rows.length) return '';
  return scrolling(
    'Examples that are read wrong',
    tableOf('Examples that are read wrong', [...data.head.slice(0, -1), 'Is', 'Read as'], rows),
  );
}
