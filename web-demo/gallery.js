// The drawings taught so far, class by class; each is a button that puts it on the pad, and tells how it is read.
import { PIXELS, SIZE } from './preprocess.js';

/** @typedef {import('./drawings.js').Drawing} Drawing */

/**
 * @param {HTMLElement} room @param {import('./drawings.js').Drawings} drawings
 * @param {string | undefined} chosen the drawing's id
 * @param {(drawing: Drawing) => void} choose
 */
export function showGallery(room, drawings, chosen, choose) {
  room.replaceChildren(
    ...drawings.labels.map((label) => {
      const row = document.createElement('div'),
        title = document.createElement('h3'),
        list = document.createElement('ul');
      title.textContent = label;
      list.append(...drawings.of(label).map((drawing, i) => thumbnail(drawing, i + 1, drawing.id === chosen, choose)));
      row.append(title, list);
      return row;
    }),
  );
}

function thumbnail(drawing, number, isChosen, choose) {
  const { label, aside, reads, pixels } = drawing,
    wrong = reads !== undefined && reads !== label;
  const item = document.createElement('li'),
    button = document.createElement('button');
  button.type = 'button';
  button.classList.toggle('aside', aside);
  button.setAttribute('aria-pressed', String(isChosen));
  button.title = `Drawing ${number} of ${label}${aside ? ', kept aside' : ''}${wrong ? `, read as ${reads}` : ''}`;
  button.setAttribute('aria-label', button.title);
  button.append(picture(pixels));
  if (wrong) button.append(Object.assign(document.createElement('span'), { className: 'misread', textContent: reads }));
  button.addEventListener('click', () => choose(drawing));
  item.append(button);
  return item;
}

/** Ink as the page draws it: the grey is how opaque the ink is. */
export function picture(pixels) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = SIZE;
  const brush = canvas.getContext('2d'),
    image = brush.createImageData(SIZE, SIZE);
  for (let i = 0; i < PIXELS; i++) image.data[4 * i + 3] = pixels[i];
  brush.putImageData(image, 0, 0);
  return canvas;
}
