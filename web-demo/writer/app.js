// The page of the writer: what is pressed, and what is shown then.

import { Chart } from '../chart.js';
import { prepareCode } from '../code.js';
import { keepForFlights } from '../offline.js';
import { remembered, setRemembered } from '../remembered.js';
import { adapterOf, download, modelOf, onChosen } from './files.js';
import { Learner } from './learner.js';
import { Pace } from './pace.js';
import { Sides } from './sides.js';
import { LEAST, lessonOf } from './text.js';
import { tokensOf } from './tokens.js';

/** @import { Base, Bits, Lesson, Who } from './learner.js' */
/** @import { Tokens } from './tokens.js' */

const TEXT = 'trainlet writer: text';
const DRAFT = 'trainlet writer: draft';
const BEGINNING = 'I saw that';
const PAUSE_MS = 120;
/** Named so that sw.js finds them, and keeps what was never opened. */
const FILES = {
  base: new URL('base.onnx', import.meta.url),
  tokenizer: new URL('tokenizer.json', import.meta.url),
  known: new URL('known.json', import.meta.url),
  author: new URL('preacher.txt', import.meta.url),
};

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const button = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ ($(id));
const area = (/** @type {string} */ id) => /** @type {HTMLTextAreaElement} */ ($(id));

const pace = new Pace($('pace'), /** @type {HTMLProgressElement} */ ($('progress')));
const sides = new Sides($('sides'), (more) => {
  area('draft').focus();
  area('draft').value += more;
  area('draft').dispatchEvent(new Event('input'));
});
const chart = new Chart(/** @type {any} */ ($('chart')), {
  series: [
    { key: 'own', name: 'Your lines' },
    { key: 'base', name: 'Text that the base knows' },
  ],
  format: (value) => value.toFixed(2),
  unit: 'look',
  bounds: (low, high) => [Math.floor(4 * low - 0.2) / 4, Math.ceil(4 * high + 0.2) / 4],
});
/** @type {Learner | undefined} */
let learner;
/** The page's own model, or one that was opened. @type {{ base: Base, tokens: Tokens } | undefined} */
let model;
/** @type {{ rehearsed: string[], tested: string[] }} */
let known = { rehearsed: [], tested: [] };
let example = '';
/** @type {AbortController | undefined} */
let learning;
let comparing = new AbortController();

/**
 * Errors are told, and the page goes on; after an engine's death, or without a network, from a new start.
 * @template {unknown[]} A @param {(...given: A) => Promise<unknown> | void} act
 */
const told =
  (act) =>
  async (/** @type {A} */ ...given) => {
    try {
      await act(...given);
    } catch (error) {
      const { code, message = String(error) } = /** @type {any} */ (error);
      if (code === 'aborted') return;
      $('trouble-words').textContent =
        code === 'worker-died' ? `The engine was ended. Your text is kept. (${message})` : message;
      button('again').hidden = code !== 'worker-died' && learner !== undefined;
      $('trouble').hidden = false;
    }
  };

/** That the model has learned, or is learning: then that goes on as soon as the page is opened. */
const state = {
  key: () => `trainlet writer: ${model?.base.name}`,
  get: () => remembered(state.key()),
  set: (/** @type {'begun' | 'learned' | undefined} */ now) => setRemembered(state.key(), now),
};

// ── learning ──

/** The text's lesson, if it is long enough. @returns {Lesson | undefined} */
function lesson() {
  const text = area('text').value;
  return text.trim().length < LEAST ? undefined : { ...lessonOf(text), ...known };
}

function showState() {
  const idle = learner !== undefined && !learning;
  const missing = LEAST - area('text').value.trim().length;
  button('go').hidden = learning !== undefined;
  button('forget').hidden = learning !== undefined || !state.get();
  button('go').disabled = !idle || missing > 0;
  button('go').textContent = state.get() ? 'Learn more' : 'Learn';
  button('stop').hidden = !learning;
  button('forget').disabled = !idle || !state.get();
  for (const id of ['open-model', 'open-adapter', 'save-adapter', 'save-model']) button(id).disabled = !idle;
  sides.setThere('other', learner?.hasOther ?? false);
  if (!idle || state.get()) return;
  if (missing > 0) $('pace').textContent = `${missing} more characters are needed to learn from.`;
  else if (area('text').value === example) $('pace').textContent = 'An old author is here as an example: press Learn.';
  else $('pace').textContent = 'It has not learned from your text yet.';
}

async function learn() {
  const now = lesson();
  if (!learner || !now || learning) return;
  learning = new AbortController();
  const { signal } = learning;
  state.set('begun');
  pace.start();
  showState();
  try {
    const [base, bits] = await follow(learner, now, signal);
    const fewer = Math.round(100 * (1 - bits.own / base.own));
    const better = fewer > 0 ? ` It guesses your lines kept aside ${fewer} % better.` : '';
    end(`Learned ${now.learned.length.toLocaleString('en')} characters in ${pace.seconds.toFixed(0)} s.${better}`);
  } catch (error) {
    const died = /** @type {any} */ (error).code !== 'aborted';
    if (died) pace.end('It did not end: what it learned until its last save is kept.');
    if (died) throw error;
    pace.end('Stopping …');
    showBits(await learner.bits(now, 'base'), await learner.bits(now));
    end('Stopped. What it learned until now stays.');
  } finally {
    learning = undefined;
    showState();
  }
  await compare();
}

/** @param {string} words */
function end(words) {
  state.set('learned');
  pace.end(words);
  $('told').textContent = words;
}

/** @param {Learner} pupil @param {Lesson} now @param {AbortSignal} signal */
async function follow(pupil, now, signal) {
  const base = await pupil.bits(now, 'base');
  signal.throwIfAborted();
  /** @type {Record<keyof Bits, [number, number][]>} */
  const lines = { own: [], base: [] };
  let at = 0;
  const round = async (/** @type {Bits} */ bits) => {
    showBits(base, bits);
    lines.own.push([at, bits.own]);
    lines.base.push([at, bits.base]);
    setChart(lines, at++);
    if (at > 1) await compare(0, ['me']);
  };
  await round(await pupil.bits(now));
  signal.throwIfAborted();
  await pupil.learn(now, { round, step: (step, steps, share) => pace.step(step, steps, share) }, signal);
  const bits = await pupil.bits(now);
  await round(bits);
  return [base, bits];
}

/** @param {Bits} base @param {Bits} now */
function showBits(base, now) {
  for (const row of /** @type {const} */ (['own', 'base'])) {
    const cells = document.querySelectorAll(`tr[data-row=${row}] td`);
    const change = Math.round(1000 * (now[row] / base[row] - 1)) / 10;
    cells[0].textContent = base[row].toFixed(2);
    cells[1].textContent = `${now[row].toFixed(2)} (${change > 0 ? '+' : change < 0 ? '−' : '±'}${Math.abs(change)} %)`;
  }
}

async function forget() {
  await learner?.forget();
  state.set(undefined);
  clearFigures();
  showState();
  await compare();
}

/** @param {Partial<Record<keyof Bits, [number, number][]>>} lines @param {number} last */
function setChart(lines, last) {
  /** @type {HTMLElement} */ ($('chart').parentElement).hidden = !lines.own;
  chart.set(/** @type {any} */ (lines), last);
}

function clearFigures() {
  for (const cell of document.querySelectorAll('#figures td')) cell.textContent = '–';
  setChart({}, 0);
  /** @type {HTMLProgressElement} */ ($('progress')).value = 0;
}

// ── writing ──

/**
 * Lets writers go on with the beginning, once nothing has been typed for a moment.
 * @param {number} [pauseMs] @param {Who[]} [some] all of them by default
 */
async function compare(pauseMs = 0, some = undefined) {
  comparing.abort();
  comparing = new AbortController();
  const { signal } = comparing;
  if (pauseMs) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const text = area('draft').value;
  if (signal.aborted || !learner) return;
  /** @type {Who[]} */
  const writers = some ?? ['base', ...(state.get() ? [ME] : []), ...(learner.hasOther ? [OTHER] : [])];
  if (!state.get()) sides.explain('me', 'Nothing yet: press Learn.');
  for (const who of writers) if (!text.trim()) sides.explain(who, 'Begin a sentence above.');
  $('spoken').textContent = '';
  if (!text.trim()) return;
  try {
    for (const who of writers)
      await learner.goOn(text, who, (more) => signal.aborted || sides.show(who, text, more), signal);
    $('spoken').textContent = writers.map((who) => `${NAMES[who]}: ${sides.moreOf(who)}`).join('. ');
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'aborted') throw error;
  }
}
const [ME, OTHER] = /** @type {Who[]} */ (['me', 'other']);
/** @type {Record<Who, string>} */
const NAMES = { base: 'The base', me: 'Taught by you', other: 'Another’s' };

/** A text in place of another, which can be undone. @param {string} text @param {string} words */
function setText(text, words) {
  const before = area('text').value;
  area('text').value = text;
  textChanged();
  if (!before || before === text) return;
  $('undo-words').textContent = words;
  button('undo').hidden = false;
  button('undo').onclick = () => {
    area('text').value = before;
    textChanged();
    area('text').focus();
  };
}

function textChanged() {
  $('undo-words').textContent = '';
  button('undo').hidden = true;
  setRemembered(TEXT, area('text').value);
  showState();
}

// ── what is pressed ──

button('go').addEventListener('click', told(learn));
button('stop').addEventListener('click', () => learning?.abort());
button('forget').addEventListener('click', () => {
  const dialog = /** @type {HTMLDialogElement} */ ($('forget-dialog'));
  dialog.returnValue = ''; // Escape leaves what was answered before
  dialog.showModal();
  dialog.addEventListener('close', () => dialog.returnValue === 'forget' && told(forget)(), { once: true });
});
button('clear').addEventListener('click', () => {
  setText('', 'The text is cleared.');
  area('text').focus();
});
button('author').addEventListener('click', () => setText(example, 'The example is in its place.'));
button('save-adapter').addEventListener(
  'click',
  told(async () => {
    if (learner) download(await learner.adapterFile(), 'adapter.onnx_adapter');
  }),
);
button('save-model').addEventListener(
  'click',
  told(async () => {
    if (learner) download(await learner.model(), 'writer.onnx');
  }),
);
onChosen(
  $('open-adapter'),
  told(async (/** @type {File[]} */ files) => {
    await learner?.takeOther(adapterOf(files));
    showState();
    await compare();
  }),
);
onChosen(
  $('open-model'),
  told(async (/** @type {File[]} */ files) => {
    const chosen = await modelOf(files);
    const next = await Learner.open(chosen.base, chosen.tokens);
    await learner?.close();
    [learner, model] = [next, chosen];
    known = { rehearsed: [], tested: known.tested };
    clearFigures();
    $('model-name').textContent = `In use: ${files.find(({ name }) => name.endsWith('.onnx'))?.name}`;
    showState();
    await compare();
  }),
);
const openText = told(async (/** @type {File[]} */ [file]) =>
  setText(await file.text(), `${file.name} is in its place.`),
);
onChosen($('text-file'), openText);
area('text').addEventListener('input', textChanged);
area('text').addEventListener('drop', (event) => {
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!files.length) return; // words, which the field takes itself
  event.preventDefault();
  openText(files);
});
area('draft').addEventListener('input', () => {
  setRemembered(DRAFT, area('draft').value);
  told(compare)(PAUSE_MS);
});
$('trouble-close').addEventListener('click', () => {
  $('trouble').hidden = true;
});
button('again').addEventListener('click', () => {
  $('trouble').hidden = true;
  wake();
});
prepareCode(new URL('lesson.js', import.meta.url));

// ── on arrival, and after an engine's death ──

/** @param {URL} file */
async function fetched(file) {
  const answer = await fetch(file).catch(() => undefined);
  if (!answer?.ok) throw new Error(`${file.pathname.replace(/.*\//, '')} cannot be loaded now.`);
  return answer;
}

async function load() {
  const [json, texts, author] = await Promise.all([
    fetched(FILES.tokenizer).then((answer) => answer.json()),
    fetched(FILES.known).then((answer) => answer.json()),
    fetched(FILES.author).then((answer) => answer.text()),
  ]);
  [known, example] = [texts, author];
  if (remembered(TEXT) === undefined) area('text').value = example;
  return { base: { model: FILES.base, name: 'novels' }, tokens: tokensOf(json) };
}

/** Opens the model with what it has learned; a lesson that was not ended goes on. */
const wake = told(async () => {
  $('pace').textContent = 'The model is loading …';
  const last = learner;
  learner = undefined;
  showState();
  last?.close().catch(() => {}); // it may be dead
  model ??= await load();
  learner = await Learner.open(model.base, model.tokens);
  showState();
  const now = lesson();
  if (state.get() === 'learned') {
    $('pace').textContent = 'What it learned before is here again.';
    if (now) showBits(await learner.bits(now, 'base'), await learner.bits(now));
  }
  if (state.get() === 'begun') told(learn)();
  else await compare();
});

area('text').value = remembered(TEXT) ?? '';
area('draft').value = remembered(DRAFT) ?? BEGINNING;
await wake();
document.querySelector('main')?.removeAttribute('aria-busy');
keepForFlights().then(
  (kept) => {
    $('flight').textContent = kept ? 'All of it works in flight mode, too.' : '';
  },
  () => {}, // without it, the page works as long as there is a network
);
