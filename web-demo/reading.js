// What the network reads in the drawing: the guess, how sure it is, a bar for every class, and a sentence that is
// spoken.
import { PIXELS } from './preprocess.js';

const SPEAK_AFTER = 700; // ms without a change, so that a drawing in progress is not talked over

export class Reading {
  #guess = document.querySelector('#guess');
  #sure = document.querySelector('#sure');
  #seen = document.querySelector('#seen').getContext('2d');
  #bars = document.querySelector('#bars');
  #spoken = document.querySelector('#spoken');
  #timer = 0;

  /** @param {string[]} names  one a class */
  setClasses(names) {
    this.#bars.replaceChildren(
      ...names.map((name) => {
        const bar = document.createElement('li');
        bar.innerHTML =
          '<span class="bar"><span class="fill"></span></span><span class="name"></span><span class="unseen percent"></span>';
        bar.querySelector('.name').textContent = name;
        return bar;
      }),
    );
  }

  /** @param {Uint8Array | null} pixels  shown as MNIST has them, light on dark */
  showSeen(pixels) {
    const image = new ImageData(28, 28);
    for (let i = 0; i < PIXELS; i++) image.data.set([0, 0, 0, 255].fill(pixels?.[i] ?? 0, 0, 3), 4 * i);
    this.#seen.putImageData(image, 0, 0);
  }

  /** @param {number[]} probabilities @param {string[]} names */
  show(probabilities, names) {
    const best = probabilities.indexOf(Math.max(...probabilities));
    this.#guess.textContent = names[best];
    this.#guess.classList.toggle('long', names[best].length > 1);
    this.#sure.textContent = `${sureness(probabilities[best])}, ${percent(probabilities[best])}`;
    probabilities.forEach((p, i) => this.#setBar(i, p, i === best));
    this.#speakLater(`Reads ${names[best]}, ${percent(probabilities[best])} sure.`);
  }

  clear() {
    this.#guess.textContent = '?';
    this.#sure.textContent = 'nothing yet';
    for (let i = 0; i < this.#bars.children.length; i++) this.#setBar(i, 0, false);
    this.#speakLater('');
  }

  #setBar(i, probability, best) {
    const bar = this.#bars.children[i];
    bar.classList.toggle('best', best);
    bar.dataset.probability = probability.toFixed(4);
    bar.querySelector('.fill').style.setProperty('--share', probability.toFixed(4));
    bar.querySelector('.percent').textContent = percent(probability);
  }

  #speakLater(words) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#spoken.textContent = words;
    }, SPEAK_AFTER);
  }
}

const sureness = (p) => (p > 0.95 ? 'sure' : p > 0.7 ? 'fairly sure' : 'guessing');

/** @param {number} share 0..1 */
export function percent(share) {
  const value = share * 100;
  return `${value === 100 || value < 0.05 ? value.toFixed(0) : value.toFixed(1)}\u00a0%`;
}
