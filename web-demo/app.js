// The page: wires the pad, the notebook, the network, the training and the figures to each other.
import { CheckpointStore } from '../js/index.js';
import { Chart } from './chart.js';
import { showGallery } from './gallery.js';
import { Network } from './model.js';
import { DIGITS, Notebook, SYMBOLS } from './notebook.js';
import { Pad } from './pad.js';
import { rasterize } from './preprocess.js';
import { percent, Reading } from './reading.js';
import { loadReplay } from './replay.js';
import { readDrawings, score, train } from './trainer.js';

const SPEAK_EVERY = 5000; // ms between two spoken words on progress
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

/** @type {CheckpointStore | undefined} */ let store;
/** @type {Notebook} */ let notebook = new Notebook(undefined);
/** @type {Network | undefined} */ let network;
/** @type {ReturnType<typeof loadReplay>} */ let digits;
/** @type {AbortController | undefined} */ let training;

const pad = new Pad($('#pad'), {
  change: drawingChanged,
  submit: addDrawing,
  pen: (words) => {
    $('#spoken').textContent = words;
  },
});
const reading = new Reading();
const accuracyChart = new Chart($('#accuracy-chart'), {
  series: [
    { key: 'held-out', name: 'Unseen MNIST' },
    { key: 'own', name: 'Your drawings' },
  ],
  format: (v) => `${Math.round(v * 100)} %`,
  bounds: (low) => [low < 0.5 ? 0 : 0.5, 1],
});
const lossChart = new Chart($('#loss-chart'), {
  series: [{ key: 'loss', name: 'Loss' }],
  format: (v) => v.toFixed(1),
  bounds: (_, high) => [0, Math.max(0.2, Math.ceil(high * 5) / 5)],
});

// — Draw —

let pixels = /** @type {Uint8Array | null} */ (null),
  inFlight = false,
  wanted = false;

function drawingChanged() {
  $('#pad-hint').hidden = !pad.empty;
  mark();
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(readDrawing);
}

/** At most once a frame, and one question at a time: while one is out, the newest drawing waits. */
async function readDrawing() {
  if (inFlight) return;
  wanted = false;
  pixels = pad.empty ? null : rasterize(pad.strokes);
  reading.showSeen(pixels);
  if (!pixels || !network) return reading.clear();
  inFlight = true;
  try {
    const names = classNames(),
      probabilities = await network.read(pixels, names.length);
    if (!pad.empty) reading.show(probabilities, names);
  } catch (error) {
    trouble(error);
  } finally {
    inFlight = false;
    if (wanted) requestAnimationFrame(readDrawing);
  }
}

const classNames = () => Array.from({ length: notebook.classes }, (_, i) => notebook.nameOf(i));

// — Teach —

function addDrawing() {
  const chosen = $('#labels input:checked');
  if (pad.empty) return teachStatus('Draw something on the pad first.');
  if (!chosen) {
    $('#labels input').focus();
    return teachStatus('Choose what the drawing is first.');
  }
  const label = Number(chosen.value),
    name = notebook.nameOf(label);
  notebook.drawings.push({ label, pixels: rasterize(pad.strokes) });
  pad.clear();
  drawingsChanged();
  const count = notebook.drawings.filter((d) => d.label === label).length;
  teachStatus(`Added drawing ${count} of ${name}. ${count < 5 ? 'Draw another.' : 'Ready to train when you are.'}`);
}

function removeDrawing(i) {
  const [{ label }] = notebook.drawings.splice(i, 1);
  drawingsChanged();
  $('#gallery button, #add').focus();
  teachStatus(`Removed a drawing of ${notebook.nameOf(label)}.`);
}

function addSymbol(event) {
  event.preventDefault();
  const name = $('#symbol').value.trim();
  if (!name) return teachStatus('Type a name for the symbol, such as ★ or A.');
  const known = classNames().indexOf(name);
  if (known < 0) notebook.symbols.push(name);
  $('#symbol').value = '';
  showClasses();
  $(`#labels input[value="${known < 0 ? notebook.classes - 1 : known}"]`).checked = true;
  keep();
  teachStatus(`Now draw ${name} on the pad and add it.`);
  $('#pad').focus();
}

function showClasses() {
  const chosen = $('#labels input:checked')?.value;
  $('#labels').replaceChildren(
    ...classNames().map((name, i) => {
      const label = document.createElement('label'),
        input = document.createElement('input'),
        words = document.createElement('span');
      Object.assign(input, { type: 'radio', name: 'label', value: String(i), checked: String(i) === chosen });
      words.textContent = name;
      label.append(input, words);
      return label;
    }),
  );
  const room = DIGITS + SYMBOLS - notebook.classes;
  $('#symbol').disabled = $('#symbol-form button').disabled = room === 0;
  $('#symbol-room').textContent = room === SYMBOLS ? '' : room ? `room for ${room} more` : 'both places are taken';
  reading.setClasses(classNames());
  drawingChanged();
}

async function drawingsChanged() {
  showGallery($('#gallery'), notebook, removeDrawing);
  mark();
  keep();
  if (!network || !notebook.course.now) return;
  try {
    notebook.course.now.own = await readDrawings(network, notebook);
    showScores();
  } catch (error) {
    trouble(error);
  }
}

const teachStatus = (words) => {
  $('#teach-status').textContent = words;
};

// — Train —

async function startTraining() {
  const { course } = notebook;
  if (!notebook.drawings.length) {
    $('#pad').focus();
    return teachStatus('Add at least one drawing before training.');
  }
  if (course.step >= course.target) {
    course.target = course.step + Number($('#length').value);
    course.before = null;
  }
  training = new AbortController();
  showProgress();
  let spoken = 0;
  const onStep = (event) => {
    showPace(event);
    showCharts();
    if (performance.now() - spoken < SPEAK_EVERY) return;
    spoken = performance.now();
    $('#train-spoken').textContent = `Step ${course.step} of ${course.target}, loss ${event.loss.toFixed(2)}.`;
  };
  try {
    const run = {
      network,
      notebook,
      digits: await digits,
      store,
      signal: training.signal,
      onStep,
      onScore: showScores,
    };
    await score(network, notebook, run.digits.test);
    course.before ??= course.now;
    showScores();
    await train(run);
  } catch (error) {
    trouble(error);
  }
  training = undefined;
  showProgress();
  showScores();
  drawingChanged();
  $('#train-spoken').textContent = `${$('#pace').textContent} ${$('#verdict').textContent}`;
}

const finished = () => notebook.course.step >= notebook.course.target;

function showPace({ loss, samplesPerSecond, etaMs }) {
  const { step, target } = notebook.course,
    left = Math.ceil(etaMs / 1000);
  $('#progress').value = step / target;
  const speed = Math.round(samplesPerSecond).toLocaleString('en');
  $('#pace').textContent = `Step ${step} of ${target} · loss ${loss.toFixed(2)} · ${speed} samples/s · ${left} s left`;
}

function showProgress() {
  const { step, target } = notebook.course,
    go = $('#go');
  go.disabled = $('#export').disabled = !network;
  go.textContent = training ? 'Stop' : finished() ? (step ? 'Train again' : 'Train') : 'Continue';
  $('#length').disabled = Boolean(training) || !finished();
  $('#progress').value = target ? step / target : 0;
  if (training) $('#pace').textContent = 'Reading everything once, for the figures before …';
  else if (!step) $('#pace').textContent = 'Not trained yet.';
  else $('#pace').textContent = finished() ? `Trained for ${step} steps.` : `Stopped at step ${step} of ${target}.`;
  mark();
}

// — Results —

function showCharts() {
  const { loss, own, heldOut, target } = notebook.course;
  accuracyChart.set({ own, 'held-out': heldOut }, target);
  lossChart.set({ loss }, target);
}

function showScores() {
  const { before, now } = notebook.course,
    taught = notebook.drawings.length;
  $('#own-count').textContent = taught ? `${taught} taught` : '';
  for (const [id, key] of [
    ['own', 'own'],
    ['held-out', 'heldOut'],
  ]) {
    $(`#${id}-before`).textContent = figure(before?.[key]);
    $(`#${id}-now`).textContent = figure(now?.[key]);
  }
  if (before && now && notebook.course.step && !training) $('#verdict').textContent = verdict(before, now);
  showGallery($('#gallery'), notebook, removeDrawing);
  showCharts();
}

const figure = (share) => (share == null ? '–' : percent(share));

function verdict(before, now) {
  const gained = (now.own - before.own) * 100,
    lost = (before.heldOut - now.heldOut) * 100;
  const learned =
    gained > 0
      ? `It reads ${gained.toFixed(0)} points more of your drawings`
      : 'It reads your drawings no better than before';
  if (lost > 0.05) return `${learned}, and forgot ${lost.toFixed(1)} points of MNIST.`;
  return `${learned}, and forgot nothing of MNIST.`;
}

async function exportModel() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([await network.export()]));
  link.download = 'my-digits.onnx';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function startFresh() {
  training?.abort();
  await Promise.all([Network.forget(store), Notebook.forget(store)]);
  location.reload();
}

// — The whole —

/** The step to take next is the one that stands out. */
function mark() {
  const { drawings, course } = notebook;
  const next =
    training || (drawings.length >= 5 && !course.step) || !finished() ? 'train' : pad.empty ? 'draw' : 'teach';
  for (const id of ['draw', 'teach', 'train']) $(`#${id}`).classList.toggle('next', id === next);
}

const keep = () => notebook.save().catch(trouble);

/** @param {any} error  its message is one sentence, without a capital and a full stop */
function trouble({ message }) {
  $('#trouble-words').textContent = `${message[0].toUpperCase()}${message.slice(1)}.`.replace('..', '.');
  $('#trouble').hidden = false;
}

async function start() {
  $('#go').addEventListener('click', () => (training ? training.abort() : startTraining()));
  $('#undo').addEventListener('click', () => pad.undo());
  $('#clear').addEventListener('click', () => pad.clear());
  $('#teach-form').addEventListener('submit', (event) => {
    event.preventDefault();
    addDrawing();
  });
  $('#symbol-form').addEventListener('submit', addSymbol);
  $('#export').addEventListener('click', () => exportModel().catch(trouble));
  for (const id of ['#fresh', '#trouble-fresh']) $(id).addEventListener('click', () => $('#fresh-dialog').showModal());
  $('#fresh-dialog').addEventListener('close', () => {
    if ($('#fresh-dialog').returnValue === 'fresh') startFresh().catch(trouble);
  });
  showClasses();
  digits = loadReplay();
  digits.catch(trouble);
  try {
    store = await CheckpointStore.open({ database: 'trainlet-demo' });
    notebook = await Notebook.open(store);
    network = await Network.open(store);
    notebook.course.step = network.steps;
    await score(network, notebook, (await digits).test);
    $('#kept').textContent = 'Kept in this browser, through reloads.';
  } catch (error) {
    trouble(error);
  }
  showClasses();
  $('#reading').setAttribute('aria-busy', 'false');
  showProgress();
  showScores();
}

start();
