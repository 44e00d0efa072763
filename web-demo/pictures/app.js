// The page of the pictures: what is pressed, and what is shown then.

import { prepareCode } from '../code.js';
import { keepForFlights } from '../offline.js';
import { remembered, setRemembered } from '../remembered.js';
import { Album } from './album.js';
import { cameraOn } from './camera.js';
import { showCards, takesDrops } from './cards.js';
import { EXAMPLES, exampleOf } from './examples.js';
import { Learner } from './learner.js';
import { canvasOf, pictureOf } from './picture.js';
import { showBefore, showResults } from './results.js';

/** @import { Class, Kept } from './album.js' */
/** @import { Picture } from './picture.js' */

const EXAMPLES_EACH = 15;
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
/** The last lesson's pictures: the examples on arrival, or the album. @type {'examples' | 'own' | undefined} */
let taught;
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
      const { code, message = String(error) } = /** @type {any} */ (error);
      $('trouble-words').textContent = message;
      button('again').hidden = code !== 'worker-died' && learner.ready;
      $('trouble').hidden = false;
    }
  };

// ── the cards ──

function show() {
  showCards($('classes'), album, camera.on, {
    rename: told(rename),
    remove: told(removeClass),
    addFiles: told(addFiles),
    take: told(take),
    forget: told(forget),
  });
  const enough = album.taught.length > 1;
  button('go').disabled = busy || !enough;
  if (busy || taught) return;
  $('pace').textContent = enough ? `${album.pictures.length} pictures to learn from.` : NEEDED;
}
const NEEDED = 'Two classes with pictures are needed.';

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

/** @param {Class} c */
async function take(c) {
  if (!camera.on) return void (await toggleCamera());
  await album.add(c.id, await pictureOf(video));
  show();
}

/** Forgets a picture, and what was learned from it. @param {Kept} kept */
async function forget(kept) {
  await album.forget(kept.id);
  offerUndo('A picture is forgotten.', () => album.add(kept.label, kept.picture));
  await changed();
}

/** @param {Class} c */
async function removeClass(c) {
  const [at, pictures] = [album.classes.indexOf(c), album.of(c.id)];
  await album.removeClass(c.id);
  offerUndo(`The class ${c.name} is removed.`, () => album.restoreClass(c, at, pictures));
  await changed();
}

/** @param {string} words @param {() => Promise<void>} act */
function offerUndo(words, act) {
  $('undo-words').textContent = words;
  button('undo').hidden = false;
  button('undo').onclick = told(async () => {
    closeUndo();
    await act();
    await changed();
  });
}

function closeUndo() {
  $('undo-words').textContent = '';
  button('undo').hidden = true;
}

/** The classes have changed: learns anew, or the examples again where too little is left. */
async function changed() {
  show();
  if (busy) stale = true;
  else if (taught === 'own') await train();
}

// ── learning ──

/** The album, or the examples where it has too little. */
async function train() {
  busy = true;
  show();
  $('lesson').setAttribute('aria-busy', 'true');
  try {
    do {
      stale = false;
      const isOwn = album.taught.length > 1;
      await lesson(isOwn ? album : await examples());
      taught = isOwn ? 'own' : 'examples';
      setRemembered(TRAINED, isOwn ? 'yes' : undefined);
    } while (stale && taught === 'own');
  } finally {
    busy = false;
    $('lesson').removeAttribute('aria-busy');
    show();
  }
}

/** @type {Promise<Album> | undefined} */
let madeExamples;
const examples = () => (madeExamples ??= Album.ofExamples(EXAMPLES_EACH));

/** @param {Album} from */
async function lesson(from) {
  $('pace').textContent = 'Learning …';
  const found = await learner.learn(from, {
    shows: showBefore,
    progress: (share) => {
      progress.value = share;
    },
  });
  const which = from === album ? 'pictures' : 'pictures of examples';
  $('pace').textContent = `Learned ${found.learned} ${which} in ${(found.ms / 1000).toFixed(1)} s.`;
  showResults(found, learner.classes);
  $('sure').textContent = surenessOf(learner.threshold);
  button('export').disabled = false;
  if (shown) await read(shown);
  else if (!camera.on) $('answer').textContent = 'Show it a picture';
}

/** The threshold in words, with its reason. @param {number | undefined} threshold */
const surenessOf = (threshold) =>
  threshold === undefined
    ? 'With five pictures of a class it can tell what is none of these.'
    : `“${UNKNOWN}” is what it reads below ${Math.round(100 * threshold)} %: of the pictures that it did not learn ` +
      'from, 19 of 20 that are read rightly lie above.';
const UNKNOWN = 'None of these';

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
  if (camera.on) await toggleCamera();
  shown = picture;
  $('shown').replaceChildren(canvasOf(picture));
  $('shown').setAttribute('aria-label', 'The picture that is read');
  $('drop-hint').hidden = true;
  await read(picture);
}

/** @param {Picture} picture */
async function read(picture) {
  if (!learner.ready) return;
  const { name, guesses } = await learner.guess(picture);
  const answer = name || UNKNOWN;
  if (!camera.on || $('answer').textContent !== answer) $('answer').textContent = answer;
  $('answer').classList.toggle('unsure', !name);
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
  shown = undefined; // the still goes
  $('shown').replaceChildren();
  $('shown').setAttribute('aria-label', 'No picture yet');
  $('shares').replaceChildren();
  if (!camera.on) $('answer').textContent = 'Show it a picture';
  $('drop-hint').hidden = camera.on;
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

/** The next example; after the last of a round a picture of nothing. */
const nextPicture = async () =>
  pictureOf(await exampleOf(nextExample % (EXAMPLES.length + 1), 500_000 + nextExample++));

// ── what is pressed ──

button('go').addEventListener('click', told(train));
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
  told(async () => look(await nextPicture())),
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

/** After an engine's death: what was learned is learned again, from the pictures that are kept. */
async function tryAgain() {
  $('trouble').hidden = true;
  await learner.forgetAll();
  await train();
}
button('again').addEventListener('click', told(tryAgain));
prepareCode(new URL('lesson.js', import.meta.url));

show();
document.querySelector('main')?.removeAttribute('aria-busy');
// On arrival it learns: the album where it was trained before, else the examples.
await told(async () => {
  if (!remembered(TRAINED)) await greet();
  await train();
})();
keepForFlights().catch(() => {}); // without it, the page works as long as there is a network

/** An example is there to be read as soon as it has learned. */
async function greet() {
  $('answer').textContent = 'It learns …';
  await look(await nextPicture());
}
