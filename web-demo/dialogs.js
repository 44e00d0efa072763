// The dialogs: a class of one's own, the code, and starting fresh.
const IDEAS = ['♥', '★', '☺', 'A', '✓'];
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

/** @param {{ addClass: (name: string) => void, startFresh: () => void }} on */
export function prepareDialogs({ addClass, startFresh }) {
  for (const dialog of document.querySelectorAll('dialog'))
    for (const button of dialog.querySelectorAll('.close')) button.addEventListener('click', () => dialog.close());
  prepareClass(addClass);
  $('#code').addEventListener('click', showCode);
  for (const id of ['#fresh', '#trouble-fresh']) $(id).addEventListener('click', () => $('#fresh-dialog').showModal());
  $('#fresh-dialog').addEventListener('close', () => {
    if ($('#fresh-dialog').returnValue === 'fresh') startFresh();
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

async function showCode() {
  const code = $('#code-text');
  $('#code-dialog').showModal();
  if (!code.textContent) code.textContent = await (await fetch(new URL('trainer.js', import.meta.url))).text();
}
