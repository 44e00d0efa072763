// The drawings taught so far, class by class; each is a button that removes it and tells how the network reads it.
import { PIXELS, SIZE } from './preprocess.js';

/** @param {HTMLElement} room @param {import('./notebook.js').Notebook} notebook @param {(i: number) => void} remove */
export function showGallery(room, notebook, remove) {
  const rows = [];
  for (let label = 0; label < notebook.classes; label++) {
    const own = notebook.drawings.flatMap((d, i) => (d.label === label ? [i] : []));
    if (!own.length) continue;
    const row = document.createElement('div'),
      title = document.createElement('h3'),
      list = document.createElement('ul');
    title.textContent = notebook.nameOf(label);
    list.append(...own.map((i, n) => thumbnail(notebook, i, n + 1, remove)));
    row.append(title, list);
    rows.push(row);
  }
  if (notebook.drawings.some(misread)) {
    const legend = document.createElement('p');
    legend.className = 'caption';
    legend.textContent = 'In red: what the network reads instead.';
    rows.push(legend);
  }
  room.replaceChildren(...rows);
}

const misread = ({ label, reads }) => reads !== undefined && reads !== label;

function thumbnail(notebook, i, number, remove) {
  const { label, reads, pixels } = notebook.drawings[i],
    wrong = misread(notebook.drawings[i]),
    name = notebook.nameOf(label);
  const item = document.createElement('li'),
    button = document.createElement('button');
  button.type = 'button';
  button.title = `Remove drawing ${number} of ${name}${wrong ? `, read as ${notebook.nameOf(reads)}` : ''}`;
  button.setAttribute('aria-label', button.title);
  button.append(picture(pixels));
  if (wrong) button.append(mark(notebook.nameOf(reads)));
  button.addEventListener('click', () => remove(i));
  item.append(button);
  return item;
}

/** Ink as the page draws it: the grey is how opaque the ink is. */
function picture(pixels) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = SIZE;
  const brush = canvas.getContext('2d'),
    image = brush.createImageData(SIZE, SIZE);
  for (let i = 0; i < PIXELS; i++) image.data[4 * i + 3] = pixels[i];
  brush.putImageData(image, 0, 0);
  return canvas;
}

function mark(name) {
  const badge = document.createElement('span');
  badge.className = 'misread';
  badge.textContent = name;
  return badge;
}
