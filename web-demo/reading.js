// The network's reading of the drawing: the guess, how sure it is, the bar of every class, and a spoken sentence. Bars
// are also buttons that choose a class.
import { PIXELS } from './preprocess.js';

const SPEAK_AFTER = 700; // ms without a change, so that a drawing in progress is not talked over
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

export class Reading {
  #names = /** @type {string[]} */ ([]);
  #seen = $('#seen').getContext('2d');
  #timer = 0;

  /** The class that is chosen, if one is. @returns {string | undefined} */
  get chosen() {
    return $('#labels input:checked')?.value;
  }

  /** @param {string} name */
  choose(name) {
    const input = [...document.querySelectorAll('#labels input')].find((one) => one.value === name);
    if (input) input.checked = true;
    input?.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** @param {string[]} names */
  setClasses(names) {
    if (String(names) === String(this.#names)) return;
    const { chosen } = this;
    this.#names = names;
    $('#labels').replaceChildren(...names.map((name) => chip(name, name === chosen)), $('#more'));
  }

  /** @param {Uint8Array | null} pixels  shown as MNIST has them, light on dark */
  showSeen(pixels) {
    const image = new ImageData(28, 28);
    for (let i = 0; i < PIXELS; i++) image.data.set([0, 0, 0, 255].fill(pixels?.[i] ?? 0, 0, 3), 4 * i);
    this.#seen.putImageData(image, 0, 0);
  }

  /** @param {number[]} shares @param {readonly string[]} names  of the network, which may not know all classes yet */
  show(shares, names) {
    const best = names[shares.indexOf(Math.max(...shares))],
      most = Math.max(...shares);
    $('#guess').textContent = best;
    $('#guess').classList.toggle('long', best.length > 2);
    $('#sure').textContent = `${sureness(most)} ${percent(most)}`;
    this.#names.forEach((name, i) => this.#setBar(i, shares[names.indexOf(name)] ?? 0, name === best));
    this.#speakLater(`Reads ${best}, ${percent(most)} sure.`);
  }

  clear() {
    $('#guess').textContent = '?';
    $('#sure').textContent = 'nothing yet';
    this.#names.forEach((_, i) => this.#setBar(i, 0, false));
    this.#speakLater('');
  }

  #setBar(i, share, best) {
    const chip = $('#labels').children[i];
    chip.classList.toggle('best', best);
    chip.dataset.share = share.toFixed(4);
    chip.querySelector('.fill').style.setProperty('--share', share.toFixed(4));
  }

  #speakLater(words) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      $('#spoken').textContent = words;
    }, SPEAK_AFTER);
  }
}

function chip(name, checked) {
  const label = document.createElement('label'),
    input = document.createElement('input'),
    [bar, fill, words] = ['bar', 'fill', 'name'].map((kind) =>
      Object.assign(document.createElement('span'), { className: kind }),
    );
  Object.assign(input, { type: 'radio', name: 'label', value: name, checked });
  words.textContent = label.title = name;
  label.className = name.length > 5 ? 'long' : '';
  bar.append(fill);
  label.append(input, bar, words);
  return label;
}

const sureness = (p) => (p > 0.95 ? 'sure' : p > 0.7 ? 'fairly sure' : 'guessing');

/** @param {number} share 0..1 */
export function percent(share) {
  const value = share * 100;
  return `${value > 99.95 || value < 0.05 ? value.toFixed(0) : value.toFixed(1)}\u00a0%`;
}
