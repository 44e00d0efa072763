// The page of the pictures: what is pressed, and what is shown then.

import { keepForFlights } from '../offline.js';
import { remembered, setRemembered } from '../remembered.js';
import { Album } from './album.js';
import { cameraOn } from './camera.js';
import { showCards, takesDrops } from './cards.js';
import { EXAMPLES, exampleOf } from './examples.js';
import { Learner } from './learner.js';
import { canvasOf, pictureOf } from './picture.js';
import { showResults } from './results.js';

/** @import { Class, Kept } from './album.js' */
/** @import { Picture } from './picture.js' */

const EXAMPLES_EACH = 20;
const LOOK_EVERY_MS = 200;
/** That it was trained: then it is again, as soon as the page is opened. */
const TRAINED = 'trainlet pictures: trained';

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const button = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ ($(id));
const video = /** @type {HTMLVideoElement} */ ($('video'));
const progress = /** @type {HTMLProgressElement} */ ($('progress'));

const album = await Album.open();
const learner = new Learner();
const camera = cameraOn(video);
let busy = false;
/** Set while a training runs: the pictures are others by now. */
let stale = false;
let nextExample = 0;

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

// ── the cards ──

function show() {
  showCards($('classes'), album, camera.on, {
    rename: told(rename),
    remove: told(async (c) => {
      await album.removeClass(c.id);
      await changed();
    }),
    addFiles: told(addFiles),
    take: told(async (c) => add(c, await pictureOf(video))),
    forget: told(forget),
  });
  const enough = album.taught.length > 1;
  button('go').disabled = busy || !enough;
  if (!enough) $('pace').textContent = 'Two classes with pictures are needed.';
  else if (!busy && !learner.ready) $('pace').textContent = `${album.pictures.length} pictures to learn from.`;
}

/** @param {Class} c @param {string} name */
async function rename(c, name) {
  if (!name || album.classes.some((other) => other.id !== c.id && other.name === name)) {
    show();
    throw new Error(name ? `There is a class '${name}' already.` : 'A class needs a name.');
  }
  album.rename(c.id, name);
  await changed();
}

/** @param {Class} c @param {Iterable<File>} files */
async function addFiles(c, files) {
  for (const file of files) await album.add(c.id, await pictureOf(file));
  show();
}

/** @param {Class} c @param {Picture} picture */
async function add(c, picture) {
  await album.add(c.id, picture);
  show();
}

/** Forgets a picture, and what was learned from it. @param {Kept} kept */
async function forget(kept) {
  await album.forget(kept.id);
  await changed();
}

/** The classes have changed: learns anew, or forgets what it learned. */
async function changed() {
  show();
  if (busy) stale = true;
  else if (learner.ready && album.taught.length > 1) await train();
  else if (learner.ready) await forgetLessons();
}

async function forgetLessons() {
  setRemembered(TRAINED);
  await learner.forgetAll();
  $('findings').hidden = true;
  $('answer').textContent = 'Nothing learned yet';
  $('shares').replaceChildren();
  button('export').disabled = true;
}

async function fill() {
  const classes = album.exampleClasses();
  for (let i = 0; i < EXAMPLES_EACH; i++)
    for (const [which, { id }] of classes.entries())
      await album.add(id, await pictureOf(await exampleOf(which, 1000 * which + i)));
  show();
}

// ── learning ──

async function train() {
  busy = true;
  show();
  $('lesson').setAttribute('aria-busy', 'true');
  try {
    do {
      stale = false;
      await lesson();
    } while (stale && album.taught.length > 1);
  } finally {
    busy = false;
    $('lesson').removeAttribute('aria-busy');
    show();
  }
}

async function lesson() {
  $('pace').textContent = 'Learning …';
  const found = await learner.learn(album, (share) => {
    progress.value = share;
  });
  $('pace').textContent = `Learned ${found.learned} pictures in ${(found.ms / 1000).toFixed(1)} s.`;
  showResults($('findings'), found, learner.classes);
  button('export').disabled = false;
  setRemembered(TRAINED, 'yes');
  if (!camera.on) $('answer').textContent = 'Show it a picture';
  if (shown) await read(shown);
}

async function exportModel() {
  const bytes = await learner.export();
  if (!bytes) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes]));
  link.download = 'pictures.onnx';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// ── looking ──

/** The picture that was shown last. @type {Picture | undefined} */
let shown;

/** @param {Picture} picture */
async function look(picture) {
  shown = picture;
  $('shown').replaceChildren(canvasOf(picture));
  $('shown').setAttribute('aria-label', 'The picture that is read');
  $('drop-hint').hidden = true;
  await read(picture);
}

/** @param {Picture} picture */
async function read(picture) {
  if (!learner.ready) return;
  const guesses = await learner.guess(picture);
  if (!camera.on || $('answer').textContent !== guesses[0].name) $('answer').textContent = guesses[0].name;
  $('shares').replaceChildren(...guesses.map(barOf));
}

/** @param {{ name: string, share: number }} guess */
function barOf({ name, share }) {
  const [row, title, bar, figure] = ['li', 'span', 'progress', 'output'].map((tag) => document.createElement(tag));
  title.textContent = name;
  bar.setAttribute('aria-label', name);
  bar.setAttribute('value', String(share));
  figure.textContent = `${Math.round(100 * share)} %`;
  row.append(title, bar, figure);
  return row;
}

async function toggleCamera() {
  if (camera.on) camera.stop();
  else await camera.start();
  video.hidden = !camera.on;
  $('drop-hint').hidden = camera.on || shown !== undefined;
  button('camera').textContent = camera.on ? 'Stop the camera' : 'Use the camera';
  show();
  if (camera.on) watch();
}

/** Reads what the camera shows, as long as it is on. */
async function watch() {
  while (camera.on) {
    if (learner.ready && !busy && !document.hidden) await told(async () => read(await pictureOf(video)))();
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

// ── what is pressed ──

button('go').addEventListener('click', told(train));
button('fill').addEventListener('click', told(fill));
button('export').addEventListener('click', told(exportModel));
button('camera').addEventListener('click', told(toggleCamera));
button('add-class').addEventListener('click', () => {
  let n = album.classes.length;
  const nameAt = (/** @type {number} */ i) => (i < 26 ? String.fromCharCode(65 + i) : `Class ${i + 1}`);
  while (album.classes.some(({ name }) => name === nameAt(n))) n++;
  album.addClass(nameAt(n));
  show();
});
button('example').addEventListener(
  'click',
  told(async () => look(await pictureOf(await exampleOf(nextExample % EXAMPLES.length, 500_000 + nextExample++)))),
);
$('try').addEventListener(
  'change',
  told(async (/** @type {Event} */ { target }) => {
    const input = /** @type {HTMLInputElement} */ (target);
    const [file] = input.files ?? [];
    if (file) await look(await pictureOf(file));
    input.value = '';
  }),
);
takesDrops(
  /** @type {HTMLElement} */ (document.querySelector('.scene')),
  told(async ([file]) => file && look(await pictureOf(file))),
);
$('trouble-close').addEventListener('click', () => {
  $('trouble').hidden = true;
});

show();
document.querySelector('main')?.removeAttribute('aria-busy');
if (remembered(TRAINED) && album.taught.length > 1) await told(train)();
keepForFlights().catch(() => {}); // without it, the page works as long as there is a network
