// The page of the digits: wires the pad, the drawings, the network, the lesson and the figures to each other.
import { CheckpointStore } from '../js/index.js';
import { Chart } from './chart.js';
import { prepareDialogs } from './dialogs.js';
import { Drawings } from './drawings.js';
import { showFigures } from './figures.js';
import { showGallery } from './gallery.js';
import { greet } from './hello.js';
import { Learner } from './learner.js';
import { keepForFlights } from './offline.js';
import { Pad } from './pad.js';
import { rasterize } from './preprocess.js';
import { Reading } from './reading.js';
import { loadReplay } from './replay.js';
import { SLOTS, showSlots } from './slots.js';
import { DIGITS, read } from './trainer.js';

const SPEAK_EVERY = 5000; // ms between two spoken words on progress
const OWN_MOST = 10;
const FIRST = '♥'; // the class that is taught first
const REST_MS = 1100; // a drawing ends when the pen has rested for so long; the slot's animation lasts as long
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

let drawings = new Drawings(undefined),
  learner = /** @type {Learner | undefined} */ (undefined),
  digits = /** @type {ReturnType<typeof loadReplay> | undefined} */ (undefined),
  chosen = /** @type {import('./drawings.js').Drawing | undefined} */ (undefined),
  busy = false, // with the network, so that nothing else may change it
  guiding = false, // five drawings are asked for
  resting = 0, // the timer that ends a drawing
  adding = /** @type {Promise<unknown>} */ (Promise.resolve());
const named = [FIRST]; // own classes that have no drawing yet

const pad = new Pad($('#pad'), {
  change: drawingChanged,
  lift: penLifted,
  submit: addDrawing,
  pen: (words) => {
    $('#spoken').textContent = words;
  },
});
const reading = new Reading();
const chart = new Chart($('#chart'), {
  series: [
    { key: 'digits', name: 'Unseen digits' },
    { key: 'own', name: 'Your drawings' },
  ],
  format: (v) => `${Math.round(v * 100)} %`,
  bounds: () => [0, 1],
});

// — Draw —

let pixels = /** @type {Uint8Array | null} */ (null),
  inFlight = false,
  wanted = false;

function drawingChanged() {
  if (chosen && !pad.isShown) choose(undefined);
  rest(false);
  $('#pad-hint').hidden = !pad.empty;
  pixels = pad.empty ? null : rasterize(pad.strokes);
  reading.showSeen(pixels);
  readAgain();
}

function readAgain() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(readNow);
}

/** At most once a frame, and one question at a time: while one is out, the newest drawing waits. */
async function readNow() {
  if (inFlight) return;
  wanted = false;
  const session = learner?.speaking;
  if (!session) return; // not yet awake
  if (!pixels) return reading.clear();
  inFlight = true;
  try {
    const [shares] = await read(session, [{ label: '', pixels }]);
    if (!pad.empty) reading.show(shares, session.classNames);
  } catch (error) {
    if (error.code === 'released')
      wanted = true; // another network has taken its place
    else trouble(error);
  } finally {
    inFlight = false;
    if (wanted) requestAnimationFrame(readNow);
  }
}

// — Teach —

const ownClasses = () =>
  [...new Set([...drawings.labels, ...(learner?.session?.classNames ?? []), ...named])].filter(
    (name) => !DIGITS.includes(name),
  );

function showClasses() {
  const own = ownClasses();
  reading.setClasses([...DIGITS, ...own]);
  $('#more').hidden = own.length >= OWN_MOST;
  readAgain();
}

/** @param {string} name */
function addClass(name) {
  if (![...DIGITS, ...ownClasses()].includes(name)) named.push(name);
  showClasses();
  reading.choose(name);
  guide();
}

/** The drawings of the chosen class, those of lessons and those since. */
function sinceLesson() {
  const all = drawings.of(reading.chosen ?? FIRST),
    count = 1 + all.findLastIndex(({ id }) => learner?.hasLearned(id));
  return { learned: all.slice(0, count), pending: all.slice(count) };
}

/** Asks for five drawings. */
function guide() {
  guiding = true;
  replay().catch(() => {}); // a lesson tells why
  if (pad.isShown) pad.clear();
  const left = SLOTS - sinceLesson().pending.length;
  if (left <= 0) return learn();
  teachStatus(`Draw ${reading.chosen}, ${COUNTS[left]}. It has never seen yours.`);
  showLesson();
  $('#pad').focus();
}
const COUNTS = ['', 'once more', 'twice', 'three times', 'four times', 'five times'];

function penLifted() {
  if (guiding && !pad.empty && !pad.isShown) rest(true);
}

/** @param {boolean} begins  or ends */
function rest(begins) {
  clearTimeout(resting);
  $('#slots').classList.toggle('resting', begins);
  if (begins) resting = setTimeout(addDrawing, REST_MS);
}

/** Undoes a stroke; on an empty pad the last drawing comes back from its slot. */
async function undoStroke() {
  if (!pad.empty || !guiding) return pad.undo();
  const last = sinceLesson().pending.at(-1);
  if (!last) return;
  await drawings.forget(last.id);
  pad.take(last.strokes);
  drawingsChanged();
}

function addDrawing() {
  rest(false);
  adding = adding.then(addNow);
}

async function addNow() {
  const label = reading.chosen;
  if (pad.empty || pad.isShown) return teachStatus('Draw something on the pad first.');
  if (!label) {
    $('#labels input').focus();
    return teachStatus('Choose what it is first, or + for a class of your own.');
  }
  const { strokes } = pad;
  try {
    pad.clear();
    const { aside } = await drawings.add(strokes, label),
      count = drawings.of(label).length;
    drawingsChanged();
    const then = aside ? 'It is kept aside, to test with.' : count < SLOTS ? 'Another?' : 'Let it learn.';
    teachStatus(`${label}: ${count} drawing${count === 1 ? '' : 's'}. ${then}`);
    if (guiding && sinceLesson().pending.length >= SLOTS) learn();
  } catch (error) {
    if (pad.empty) pad.take(strokes); // it was not kept
    trouble(error);
  }
}

function drawingsChanged() {
  const { list } = drawings,
    aside = list.length - drawings.practised.length;
  showGallery($('#gallery'), drawings, chosen?.id, choose);
  $('#yours').hidden = !list.length;
  $('#yours-hint').textContent =
    `${list.length - aside} to practise, ${aside} kept aside to test with (dashed).` +
    (list.some(isMisread) ? ' In red: what it reads instead.' : '');
  $('#forget').hidden = !chosen;
  $('#kept').textContent = list.length ? `Kept: ${list.length} drawing${list.length === 1 ? '' : 's'}.` : '';
  showClasses();
  showLesson();
}

const isMisread = ({ label, reads }) => reads !== undefined && reads !== label;

/** @param {import('./drawings.js').Drawing | undefined} drawing */
function choose(drawing) {
  chosen = drawing;
  if (drawing) pad.show(drawing.strokes);
  drawingsChanged();
}

const teachStatus = (words) => {
  $('#teach-status').textContent = words;
};

// — Learn —

let spoken = 0;

function stepped({ step, steps, loss, samplesPerSecond }) {
  readAgain();
  $('#progress').value = step / steps;
  const speed = Math.round(samplesPerSecond).toLocaleString('en');
  $('#pace').textContent = `Step ${step} of ${steps} · loss ${loss.toFixed(2)} · ${speed} images/s`;
  if (performance.now() - spoken < SPEAK_EVERY) return;
  spoken = performance.now();
  $('#spoken').textContent = `Step ${step} of ${steps}.`;
}

/** Nothing else changes the network meanwhile. @param {() => Promise<unknown>} work */
async function alone(work) {
  if (busy) return;
  busy = true;
  showLesson();
  try {
    await work();
  } catch (error) {
    trouble(error);
  }
  busy = false;
  drawingsChanged();
}

/** @param {{ wrong?: boolean }} [how] */
async function learn({ wrong = false } = {}) {
  guiding = false;
  await adding;
  if (!drawings.practised.length && !wrong) return teachStatus('Add at least one drawing first.');
  showOne(wrong);
  await alone(() => lesson(() => learner.begin({ rehearse: wrong || $('#rehearse').checked, wrong })));
}

/** @param {() => Promise<unknown>} work @param {string} words */
async function lesson(work, words = 'Watch the guess.') {
  teachStatus(words);
  await work();
  teachStatus(learner.lesson ? 'Stopped. It can go on from here.' : learner.notes.verdict);
}

/** Something to watch while it learns: the latest drawing that is kept aside, or any. @param {boolean} wrong */
function showOne(wrong) {
  const own = drawings.list.filter(({ label }) => wrong || !DIGITS.includes(label)),
    one = own.filter(({ aside }) => aside).at(-1) ?? own.at(-1) ?? drawings.list.at(-1);
  if (one && (pad.empty || pad.isShown)) choose(one);
}

async function undo() {
  await learner.undo();
  teachStatus(learner.notes.verdict);
}

async function forget() {
  const { id, label } = chosen,
    wasLearned = learner.hasLearned(id);
  await alone(async () => {
    await drawings.forget(id);
    chosen = undefined;
    pad.clear();
    teachStatus(`A drawing of ${label} is deleted. Nothing was learned from it.`);
    if (!wasLearned) return;
    await learner.beginAgain();
    if (drawings.practised.length) await learner.begin({ rehearse: true, wrong: false });
    teachStatus(`A drawing of ${label} is deleted, and the network learned again from how it came, without it.`);
  });
}

function showLesson() {
  const { session, lesson, running, notes } = learner ?? {},
    go = $('#go');
  const isFree = session && !busy && !lesson;
  go.disabled = !session || (busy && !running);
  $('#undo-lesson').disabled = !isFree || !notes.canUndo;
  for (const id of ['#wrong', '#forget', '#rehearse', '#export']) $(id).disabled = !isFree;
  go.textContent = running ? 'Stop' : lesson ? 'Go on' : 'Learn';
  showTeaching(go);
  if (!notes) return;
  $('#learn').hidden = !notes.step && !lesson && !notes.verdict;
  $('#progress').value = notes.steps ? notes.step / notes.steps : 0;
  if (!busy) $('#pace').textContent = paceOf(notes, lesson);
  $('#verdict').textContent = running ? teaching(lesson) : notes.verdict;
  $('#verdict').classList.toggle('refused', notes.verdict.startsWith('Refused'));
  chart.set({ own: notes.chart.own, digits: notes.chart.digits }, notes.steps);
  showFigures(notes.figures);
}

/** The slots and the buttons below them. @param {HTMLButtonElement} go */
function showTeaching(go) {
  const label = reading.chosen ?? FIRST,
    isTaught = Boolean(learner?.notes.canUndo) && !guiding && go.textContent === 'Learn',
    { learned, pending } = sinceLesson();
  showSlots($('#slots'), guiding || pending.length ? pending : learned.slice(-SLOTS), guiding);
  const teach = $('#teach');
  teach.textContent = go.textContent !== 'Learn' ? go.textContent : guiding ? `Add ${label}` : `Teach it ${label}`;
  teach.disabled = go.disabled;
  teach.classList.toggle('primary', !isTaught);
  $('#another').classList.toggle('primary', isTaught);
  $('#another').hidden = $('#undo-lesson').hidden = !isTaught;
  $('#pad-hint').textContent = guiding ? `draw ${label}` : 'draw a digit';
}

const paceOf = ({ step, steps }, lesson) =>
  lesson ? `Stopped at step ${step} of ${steps}.` : step ? `Learned for ${step} steps.` : 'Not taught yet.';
const teaching = ({ wrong, rehearse }) =>
  wrong
    ? 'Everything under a false name …'
    : rehearse
      ? 'Your drawings, among digits it knew …'
      : 'Your drawings alone …';

// — The whole —

async function exportModel() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([await learner.session.exportModel()]));
  link.download = 'my-digits.onnx';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function startFresh() {
  learner?.stop();
  const store = await CheckpointStore.open({ database: 'trainlet-digits' });
  for (const { name } of await store.list()) await store.delete(name);
  await drawings.forgetAll();
  location.reload();
}

/** @param {any} error  its message is one sentence, without a capital and a full stop */
function trouble({ code, message }) {
  $('#again').hidden = code !== 'worker-died' && learner?.session !== undefined;
  $('#trouble-words').textContent = `${message[0].toUpperCase()}${message.slice(1)}.`.replace('..', '.');
  $('#trouble').hidden = false;
}

/** After an engine's death, or without a network: the drawings are there, what was learned is opened again. */
async function tryAgain() {
  $('#trouble').hidden = true;
  teachStatus('It wakes up again.');
  await opened(() => learner.reopen());
  drawingsChanged();
  if (!learner.session) return;
  teachStatus('It is back, with all that was learned before.');
  if (learner.lesson) await alone(() => lesson(() => learner.goOn()));
}

function listen() {
  $('#undo').addEventListener('click', () => undoStroke().catch(trouble));
  $('#clear').addEventListener('click', () => pad.clear());
  $('#teach-form').addEventListener('submit', (event) => {
    event.preventDefault();
  });
  $('#labels').addEventListener('change', () => {
    $('#add').textContent = `Add as ${reading.chosen}`;
    if (guiding) guide();
    showLesson();
  });
  $('#add').addEventListener('click', addDrawing);
  $('#go').addEventListener('click', () => goOn(() => learn()));
  $('#teach').addEventListener('click', () => goOn(guiding ? addDrawing : guide));
  $('#another').addEventListener('click', drawAnother);
  $('#again').addEventListener('click', tryAgain);
  $('#wrong').addEventListener('click', () => learn({ wrong: true }));
  $('#undo-lesson').addEventListener('click', () => alone(undo));
  $('#export').addEventListener('click', () => exportModel().catch(trouble));
  prepareDialogs({ addClass, forget, startFresh: () => startFresh().catch(trouble) });
}

/** A lesson that runs is stopped, one that was stopped goes on. @param {() => void} otherwise */
function goOn(otherwise) {
  if (learner.running) learner.stop();
  else if (learner.lesson) alone(() => lesson(() => learner.goOn()));
  else otherwise();
}

function drawAnother() {
  pad.clear();
  teachStatus('Draw one more: it is read while you draw.');
  $('#pad').focus();
}

/** Reports storage that fails, and goes on without it. @param {() => Promise<any>} opening */
const opened = (opening) => opening().catch(trouble);

const replay = () => {
  digits ??= loadReplay();
  digits.catch(() => {
    digits = undefined; // the next time it is asked for again
  });
  return digits;
};

async function start() {
  listen();
  showClasses();
  reading.choose(FIRST);
  const [store, kept] = await Promise.all([
    opened(() => CheckpointStore.open({ database: 'trainlet-digits' })),
    opened(() => Drawings.open()),
  ]);
  drawings = kept ?? drawings;
  const on = { step: stepped, scored: drawingsChanged };
  learner = new Learner(store, drawings, replay, on);
  await opened(() => learner.open());
  drawingsChanged();
  if (learner.session && !drawings.list.length && !learner.lesson) {
    greet(pad);
    teachStatus(`It reads digits already. Now yours: it has never seen a ${FIRST}.`);
  }
  $('#reading').setAttribute('aria-busy', 'false');
  if (learner.session) await opened(wakeUp);
  else $('#sure').textContent = 'not loaded';
}

/** Work that waits until the first reading is possible. */
async function wakeUp() {
  if (learner.lesson) {
    showOne(false);
    alone(async () => {
      await lesson(() => learner.goOn(), 'Welcome back: it goes on where it was.');
      teachStatus(`Welcome back: it went on at step ${learner.from}. ${learner.notes.verdict}`);
    });
  }
  const kept = await keepForFlights().catch(() => false); // private windows may refuse
  $('#flight').textContent = kept ? 'Ready.' : 'Not in this browser.';
}

start();
