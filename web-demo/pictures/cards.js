// The classes with their names and pictures, as cards.

import { canvasOf } from './picture.js';

/** @import { Album, Class, Kept } from './album.js' */
/**
 * @typedef {object} Wishes what a person asks for on a card
 * @property {(c: Class, name: string) => void} rename
 * @property {(c: Class) => void} remove
 * @property {(c: Class, files: Iterable<File>) => void} addFiles
 * @property {(c: Class) => void} take a picture from the camera, which it turns on first
 * @property {(kept: Kept) => void} forget
 */

const TAKE_EVERY_MS = 250;

/** @param {HTMLElement} place @param {Album} album @param {boolean} camera @param {Wishes} wishes */
export function showCards(place, album, camera, wishes) {
  const focused = focusedIn(place);
  const tested = new Set(album.split().tested);
  place.replaceChildren(
    ...album.classes.map((c) =>
      cardOf(c, album.of(c.id), tested, { camera, removable: album.classes.length > 2 }, wishes),
    ),
  );
  if (focused) /** @type {HTMLElement | null} */ (place.querySelector(`[data-key="${focused}"]`))?.focus();
}

/** Whoever works by keyboard stays where they were. @param {HTMLElement} place */
const focusedIn = (place) =>
  place.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.key : undefined;

/**
 * @param {Class} c @param {Kept[]} pictures @param {Set<Kept>} tested
 * @param {{ camera: boolean, removable: boolean }} has @param {Wishes} wishes
 */
function cardOf(c, pictures, tested, { camera, removable }, wishes) {
  const card = made('section', 'class', { 'aria-label': `Class ${c.name}` });
  card.dataset.class = c.id;
  const head = made('div', 'class-head');
  head.append(nameOf(c, wishes), takeOf(c, camera, wishes), filesOf(c, wishes));
  if (removable) head.append(buttonOf('Remove', `Remove class ${c.name}`, () => wishes.remove(c), `remove ${c.id}`));
  const thumbs = made('div', 'thumbs');
  thumbs.append(...pictures.map((kept, i) => thumbOf(c, kept, i, tested.has(kept), wishes)));
  const count = made('p', 'caption');
  count.textContent = countOf(pictures, tested);
  card.append(head, thumbs, count);
  takesDrops(card, (files) => wishes.addFiles(c, files));
  return card;
}

/** @param {Kept[]} pictures @param {Set<Kept>} tested */
function countOf(pictures, tested) {
  if (!pictures.length) return 'No pictures yet: add files, drop them here, or use the camera.';
  const count = pictures.filter((kept) => tested.has(kept)).length;
  const many = `${pictures.length} picture${pictures.length === 1 ? '' : 's'}`;
  return count ? `${many}; ${count} with a dot ${count === 1 ? 'is' : 'are'} kept for the test` : many;
}

/** @param {Class} c @param {Wishes} wishes */
function nameOf(c, wishes) {
  const input = /** @type {HTMLInputElement} */ (
    made('input', '', { type: 'text', maxlength: '40', 'aria-label': 'Name of the class', autocomplete: 'off' })
  );
  input.value = c.name;
  input.dataset.key = `name ${c.id}`;
  input.addEventListener('change', () => wishes.rename(c, input.value.trim()));
  return input;
}

/** @param {Class} c @param {Wishes} wishes */
function filesOf(c, wishes) {
  const label = made('label', 'file');
  const input = /** @type {HTMLInputElement} */ (
    made('input', '', { type: 'file', accept: 'image/*', multiple: '', 'aria-label': `Add files to ${c.name}` })
  );
  input.dataset.key = `files ${c.id}`;
  input.addEventListener('change', () => {
    wishes.addFiles(c, [...(input.files ?? [])]);
    input.value = '';
  });
  label.append('Add files', input);
  return label;
}

/**
 * Takes one picture, and goes on while it is held; turns the camera on where it is not.
 * @param {Class} c @param {boolean} camera @param {Wishes} wishes
 */
function takeOf(c, camera, wishes) {
  if (!camera) return buttonOf('Camera', `Camera for ${c.name}`, () => wishes.take(c), `take ${c.id}`);
  const button = buttonOf('Take', `Take pictures for ${c.name}`, () => {}, `take ${c.id}`);
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let held;
  const release = () => clearInterval(held);
  button.addEventListener('pointerdown', () => {
    wishes.take(c);
    clearInterval(held);
    held = setInterval(() => wishes.take(c), TAKE_EVERY_MS);
    addEventListener('pointerup', release, { once: true });
    addEventListener('pointercancel', release, { once: true });
  });
  button.addEventListener('click', ({ detail }) => detail === 0 && wishes.take(c)); // the keyboard's clicks
  return button;
}

/** @param {Class} c @param {Kept} kept @param {number} i @param {boolean} tested @param {Wishes} wishes */
function thumbOf(c, kept, i, tested, wishes) {
  const button = made('button', tested ? 'tested' : '', {
    type: 'button',
    'aria-label': `Forget picture ${i + 1} of ${c.name}${tested ? ', kept for the test' : ''}`,
    title: 'Forget this picture',
  });
  button.dataset.key = `thumb ${c.id} ${i}`;
  button.append(canvasOf(kept.picture));
  button.addEventListener('click', () => wishes.forget(kept));
  return button;
}

/** @param {string} text @param {string} label @param {() => void} press @param {string} key */
function buttonOf(text, label, press, key) {
  const button = made('button', '', { type: 'button', 'aria-label': label });
  button.textContent = text;
  button.dataset.key = key;
  button.addEventListener('click', press);
  return button;
}

/** @param {string} tag @param {string} className @param {Record<string, string>} [attributes] */
function made(tag, className, attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Files that are dropped on it. @param {HTMLElement} element @param {(files: File[]) => void} take */
export function takesDrops(element, take) {
  element.addEventListener('dragover', (event) => {
    event.preventDefault();
    element.classList.add('over');
  });
  element.addEventListener('dragleave', () => element.classList.remove('over'));
  element.addEventListener('drop', (event) => {
    event.preventDefault();
    element.classList.remove('over');
    take([...(event.dataTransfer?.files ?? [])]);
  });
}
