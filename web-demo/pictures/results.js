// Results of the test: how many are right, which class was read as which, and the pictures that were misread.

import { canvasOf } from './picture.js';

/** @import { Lesson, Test } from './learner.js' */

/** @param {HTMLElement} place @param {Lesson} lesson @param {string[]} classes */
export function showResults(place, { tests }, classes) {
  const part = (/** @type {string} */ id) => /** @type {HTMLElement} */ (place.querySelector(id));
  place.hidden = false;
  const right = tests.filter(({ truth, read }) => truth === read).length;
  part('#score').textContent = tests.length
    ? `${right} of ${tests.length} read right, ${Math.round((100 * right) / tests.length)} %.`
    : 'None yet: of five pictures of a class, one is kept for the test.';
  part('#confusion').replaceChildren(...(tests.length ? tableOf(tests, classes) : []));
  part('#misread').replaceChildren(...tests.filter(({ truth, read }) => truth !== read).map(figureOf));
}

/** @param {Test[]} tests @param {string[]} classes */
function tableOf(tests, classes) {
  const caption = document.createElement('caption');
  caption.className = 'unseen';
  caption.textContent = 'Which class, in rows, was read as which, in columns';
  const head = document.createElement('thead');
  head.append(rowOf([cell('th', 'is / read as'), ...classes.map((name) => heading(name, 'col'))]));
  const body = document.createElement('tbody');
  body.append(
    ...classes.map((truth) => {
      const counts = classes.map((read) => tests.filter((t) => t.truth === truth && t.read === read).length);
      return rowOf([heading(truth, 'row'), ...counts.map((count, i) => countCell(count, classes[i] === truth))]);
    }),
  );
  return [caption, head, body];
}

/** @param {number} count @param {boolean} right */
function countCell(count, right) {
  const made = cell('td', String(count));
  if (count) made.className = right ? 'right' : 'wrong';
  return made;
}

/** @param {string} text @param {string} scope */
function heading(text, scope) {
  const made = cell('th', text);
  made.setAttribute('scope', scope);
  made.title = text;
  return made;
}

/** @param {string} tag @param {string} text */
function cell(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

/** @param {HTMLElement[]} cells */
function rowOf(cells) {
  const row = document.createElement('tr');
  row.append(...cells);
  return row;
}

/** @param {Test} test */
function figureOf({ kept, truth, read }) {
  const figure = document.createElement('figure');
  figure.append(canvasOf(kept.picture), cell('figcaption', `${truth}, read as ${read}`));
  return figure;
}
