// The dialogs: a class of one's own, the code, and the questions before something is deleted.
import { prepareCode } from './code.js';

const IDEAS = ['♥', '★', '☺', 'A', '✓'];
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

/** @param {{ addClass: (name: string) => void, forget: () => void, startFresh: () => void }} on */
export function prepareDialogs({ addClass, forget, startFresh }) {
  for (const dialog of document.querySelectorAll('dialog'))
    for (const button of dialog.querySelectorAll('.close')) button.addEventListener('click', () => dialog.close());
  prepareClass(addClass);
  prepareCode(new URL('lesson.js', import.meta.url));
  for (const id of ['#fresh', '#trouble-fresh']) asks(id, 'fresh', startFresh);
  asks('#forget', 'forget', forget);
}

/** Does it once the dialog is answered with yes. @param {string} opener @param {string} name @param {() => void} act */
function asks(opener, name, act) {
  const dialog = $(`#${name}-dialog`);
  $(opener).addEventListener('click', () => {
    dialog.returnValue = ''; // Escape leaves what was answered before
    dialog.showModal();
    dialog.addEventListener('close', () => dialog.returnValue === name && act(), { once: true });
  });
}

function prepareClass(addClass) {
  const [dialog, input] = [$('#class-dialog'), $('#class-name')];
  const take = (name) => {
    dialog.close();
    addClass(name);
  };
  $('#ideas').append(
    ...IDEAS.map((idea) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: idea });
      button.addEventListener('click', () => take(idea));
      return button;
    }),
  );
  $('#more').addEventListener('click', () => {
    input.value = $('#class-words').textContent = '';
    dialog.showModal();
  });
  $('#class-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const name = input.value.trim();
    if (name) take(name);
    else $('#class-words').textContent = 'Type a name, such as ♥ or A.';
  });
}
