// Results of the test: each picture with its reading before the lesson and after it, and which class was read as which.

import { canvasOf } from './picture.js';

/** @import { Lesson, Test } from './learner.js' */

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The pictures of the test, as they are read before the lesson. @param {Test[]} tests */
export function showBefore(tests) {
  $('score').textContent = tests.length
    ? 'Pictures that it will not learn from, as it reads them before the lesson.'
    : 'None yet: of five pictures of a class, one is kept to test with.';
  $('proofs').replaceChildren(...tests.map(proofOf));
  $('findings').hidden = true;
}

/** @param {Lesson} lesson @param {string[]} classes */
export function showResults({ tests }, classes) {
  if (!tests.length) return showBefore(tests);
  const right = (/** @type {'before' | 'read'} */ when) => tests.filter((test) => test.truth === test[when]).length;
  $('score').textContent =
    `Of ${tests.length} pictures that it did not learn from it read ${right('before')} right before the lesson, ` +
    `and ${right('read')} after it.`;
  $('proofs').replaceChildren(...tests.map(proofOf));
  $('findings').hidden = false;
  $('confusion').replaceChildren(...tableOf(tests, classes));
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
function proofOf({ kept, truth, before, read }) {
  const item = document.createElement('li');
  item.title = `It is ${truth}.`;
  const was = cell('span', `before: ${before}`);
  item.append(canvasOf(kept.picture), was);
  if (!read) return item;
  const is = cell('span', `${read} ${read === truth ? '✓' : '✗'}`);
  is.className = read === truth ? 'right' : 'wrong';
  item.append(is);
  return item;
}
