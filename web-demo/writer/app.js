// The page of the writer: what is pressed, and what is shown then.

import { Chart } from '../chart.js';
import { keepForFlights } from '../offline.js';
import { remembered, setRemembered } from '../remembered.js';
import { Ghost } from './ghost.js';
import { Learner } from './learner.js';
import { LEAST, lessonOf } from './text.js';
import { tokensOf } from './tokens.js';

/** @import { Bits, Lesson, Who } from './learner.js' */

const TEXT = 'trainlet writer: text';
const DRAFT = 'trainlet writer: draft';
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
const progress = /** @type {HTMLProgressElement} */ ($('progress'));
const radio = (/** @type {Who} */ who) =>
  /** @type {HTMLInputElement} */ (document.querySelector(`[name=who][value=${who}]`));

const ghost = new Ghost(area('draft'), $('mirror'));
const chart = new Chart(/** @type {any} */ ($('chart')), {
  series: [
    { key: 'own', name: 'Your lines' },
    { key: 'base', name: 'Text that the base knows' },
  ],
  format: (value) => value.toFixed(2),
  unit: 'round',
  bounds: (low, high) => [Math.floor(4 * low - 0.2) / 4, Math.ceil(4 * high + 0.2) / 4],
});
/** @type {Learner | undefined} */
let learner;
/** @type {{ rehearsed: string[], tested: string[] }} */
let known;
/** @type {AbortController | undefined} */
let learning;
let suggesting = new AbortController();

/**
 * Errors are told, and the page goes on.
 * @template {unknown[]} A @param {(...given: A) => Promise<unknown> | void} act
 */
const told =
  (act) =>
  async (/** @type {A} */ ...given) => {
    try {
      await act(...given);
    } catch (error) {
      $('trouble-words').textContent = error instanceof Error ? error.message : String(error);
      $('trouble').hidden = false;
    }
  };

/** That the model has learned, or is learning: then that goes on as soon as the page is opened. */
const state = {
  get: () => remembered(`trainlet writer: ${learner?.name}`),
  set: (/** @type {'begun' | 'learned'} */ now) => setRemembered(`trainlet writer: ${learner?.name}`, now),
  forget: () => setRemembered(`trainlet writer: ${learner?.name}`),
};

const isAborted = (/** @type {unknown} */ error) =>
  error instanceof Error && 'code' in error && error.code === 'aborted';
const who = () =>
  /** @type {Who} */ (/** @type {HTMLInputElement} */ (document.querySelector('[name=who]:checked')).value);

// ── learning ──

/** The text's lesson, if it is long enough. @returns {Lesson | undefined} */
function lesson() {
  const text = area('text').value;
  return text.trim().length < LEAST ? undefined : { ...lessonOf(text), ...known };
}

function showState() {
  const ready = learner !== undefined;
  const missing = LEAST - area('text').value.trim().length;
  button('go').disabled = !ready || learning !== undefined || missing > 0;
  button('stop').hidden = learning === undefined;
  button('forget').disabled = !ready || learning !== undefined || !state.get();
  /** @type {HTMLInputElement} */ for (const id of ['open-model', 'open-adapter'])
    $(id).disabled = learning !== undefined;
  button('save-adapter').disabled = button('save-model').disabled = !ready || learning !== undefined;
  radio('other').disabled = !learner?.hasOther;
  if (!ready || learning || state.get()) return;
  $('pace').textContent =
    missing > 0 ? `${missing} more characters are needed to learn from.` : 'It has not learned from this yet.';
}

async function learn() {
  const now = lesson();
  if (!learner || !now || learning) return;
  learning = new AbortController();
  state.set('begun');
  $('pace').textContent = 'Learning …';
  showState();
  const begun = performance.now();
  try {
    await follow(learner, now, learning.signal);
    state.set('learned');
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    $('pace').textContent = `Learned ${now.learned.length.toLocaleString('en')} characters in ${seconds} s.`;
  } catch (error) {
    if (!isAborted(error)) throw error;
    state.set('learned');
    showBits(await learner.bits(now, 'base'), await learner.bits(now));
    $('pace').textContent = 'Stopped; what it learned until now stays.';
  } finally {
    learning = undefined;
    showState();
  }
  await suggest();
}

/** @param {Learner} pupil @param {Lesson} now @param {AbortSignal} signal */
async function follow(pupil, now, signal) {
  const base = await pupil.bits(now, 'base');
  /** @type {Record<keyof Bits, [number, number][]>} */
  const lines = { own: [], base: [] };
  let round = 0;
  const tell = (/** @type {Bits} */ bits, /** @type {number} */ share) => {
    showBits(base, bits);
    lines.own.push([round, bits.own]);
    lines.base.push([round, bits.base]);
    chart.set(lines, round++);
    $('pace').textContent = `Learning, round ${round} …`;
    progress.value = share;
  };
  tell(await pupil.bits(now), 0);
  await pupil.learn(now, tell, signal);
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
  state.forget();
  clearFigures();
  showState();
  await suggest();
}

function clearFigures() {
  for (const cell of document.querySelectorAll('#figures td')) cell.textContent = '–';
  chart.set({}, 0);
  progress.value = 0;
}

// ── writing ──

/** Suggests a continuation once nothing has been typed for a moment. @param {number} [pauseMs] */
async function suggest(pauseMs = 0) {
  suggesting.abort();
  suggesting = new AbortController();
  const { signal } = suggesting;
  ghost.show('');
  $('spoken').textContent = '';
  if (pauseMs) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const text = area('draft').value;
  if (signal.aborted || !learner || !ghost.isAtEnd || !text.trim()) return;
  try {
    await learner.goOn(text, who(), (more) => signal.aborted || ghost.show(more), signal);
    if (ghost.more) $('spoken').textContent = `May go on: ${ghost.more}`;
  } catch (error) {
    if (!isAborted(error)) throw error;
  }
}

ghost.onChange = (more) => {
  button('take').disabled = !more;
};

// ── files ──

/** @param {Uint8Array} bytes @param {string} name */
function download(bytes, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (bytes)]));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** ONNX Runtime's one file, or PEFT's two. @param {File[]} files */
async function openAdapter(files) {
  const one = files.find(({ name }) => name.endsWith('.onnx_adapter'));
  const [weights, config] = ['.safetensors', '.json'].map((end) => files.find(({ name }) => name.endsWith(end)));
  if (!one && !(weights && config))
    throw new Error(
      'An adapter is one .onnx_adapter file, or adapter_model.safetensors and adapter_config.json together.',
    );
  const peft = { 'adapter_model.safetensors': weights, 'adapter_config.json': config };
  await learner?.takeOther(/** @type {any} */ (one ? { 'adapter.onnx_adapter': one } : peft));
  showState();
  radio('other').checked = true;
  await suggest();
}

/** @param {File[]} files */
async function openModel(files) {
  const named = (/** @type {string} */ end) => files.find(({ name }) => name.endsWith(end));
  const [model, json] = [named('.onnx'), named('.json')];
  if (!model || !json) throw new Error('Choose the .onnx file and its tokenizer.json together.');
  const tokens = tokensOf(JSON.parse(await json.text()));
  const rest = files.filter((file) => file !== model && file !== json);
  const bytes = await Promise.all(rest.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())]));
  const base = {
    model,
    name: `${model.name} ${model.size}`,
    ...(rest.length && { externalData: Object.fromEntries(bytes) }),
  };
  const next = await Learner.open(base, tokens);
  await learner?.close();
  learner = next;
  known = { rehearsed: [], tested: known.tested };
  clearFigures();
  $('model-name').textContent = `In use: ${model.name}`;
  showState();
  await suggest();
}

const chosen = (/** @type {(files: File[]) => Promise<void>} */ act) =>
  told(async (/** @type {Event} */ { target }) => {
    const input = /** @type {HTMLInputElement} */ (target);
    const files = [...(input.files ?? [])];
    input.value = '';
    if (files.length) await act(files);
  });

/** @param {string} text */
function setText(text) {
  area('text').value = text;
  textChanged();
}

function textChanged() {
  setRemembered(TEXT, area('text').value);
  showState();
}

// ── what is pressed ──

const suggestAtOnce = told(() => suggest());
button('go').addEventListener('click', told(learn));
button('stop').addEventListener('click', () => learning?.abort());
button('forget').addEventListener('click', told(forget));
button('take').addEventListener('click', () => ghost.take());
button('author').addEventListener(
  'click',
  told(async () => setText(await (await fetch(FILES.author)).text())),
);
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
$('open-adapter').addEventListener('change', chosen(openAdapter));
$('open-model').addEventListener('change', chosen(openModel));
$('text-file').addEventListener(
  'change',
  chosen(async ([file]) => setText(await file.text())),
);
area('text').addEventListener('input', textChanged);
area('text').addEventListener('drop', (event) => {
  const file = event.dataTransfer?.files[0];
  if (!file) return; // words, which the field takes itself
  event.preventDefault();
  told(async () => setText(await file.text()))();
});
area('draft').addEventListener('input', () => {
  setRemembered(DRAFT, area('draft').value);
  told(suggest)(PAUSE_MS);
});
area('draft').addEventListener('click', suggestAtOnce);
for (const each of /** @type {const} */ (['me', 'other', 'base']))
  radio(each).addEventListener('change', suggestAtOnce);
$('trouble-close').addEventListener('click', () => {
  $('trouble').hidden = true;
});

area('text').value = remembered(TEXT) ?? '';
area('draft').value = remembered(DRAFT) ?? '';
await told(async () => {
  const [json, texts] = await Promise.all(
    [FILES.tokenizer, FILES.known].map(async (file) => (await fetch(file)).json()),
  );
  known = texts;
  learner = await Learner.open({ model: FILES.base, name: 'me' }, tokensOf(json));
  showState();
  if (state.get() === 'learned') await remember(learner);
})();
document.querySelector('main')?.removeAttribute('aria-busy');
if (state.get() === 'begun') told(learn)();
suggestAtOnce();
keepForFlights().then(
  (kept) => {
    $('flight').textContent = kept ? 'All of it works in flight mode, too.' : '';
  },
  () => {}, // without it, the page works as long as there is a network
);

/** Shows what was learned before. @param {Learner} pupil */
async function remember(pupil) {
  const now = lesson();
  $('pace').textContent = 'What it learned before is here again.';
  if (now) showBits(await pupil.bits(now, 'base'), await pupil.bits(now));
}
