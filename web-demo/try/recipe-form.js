// The form of the recipe: shows one, and reads what was chosen in its place.

import { $, listOf } from './dom.js';
import { Refusal } from './model.js';

/** @typedef {import('./recipe.js').Recipe} Recipe */

const CHOSEN = ['loss', 'optimizer', 'trains'];
/** Least and most of the numbers. @type {Record<string, [string, number, number, boolean]>} */
const NUMBERS = {
  lr: ['learning rate', 0, 10, false],
  batchSize: ['batch size', 1, 4096, true],
  epochs: ['number of epochs', 1, 10_000, true],
};

/** @param {Recipe} recipe @param {readonly string[]} why */
export function showRecipe(recipe, why) {
  for (const [key, value] of Object.entries(recipe)) $(`#${key}`).value = String(value);
  $('#why').replaceChildren(...listOf(why).children);
}

/** @returns {Recipe} */
export function chosenRecipe() {
  const chosen = CHOSEN.map((key) => [key, $(`#${key}`).value]);
  const numbers = Object.entries(NUMBERS).map(([key, [name, least, most, isWhole]]) => {
    const text = $(`#${key}`).value.trim().replace(',', '.');
    const value = Number(text);
    const fits = text !== '' && value >= least && value <= most && (!isWhole || Number.isInteger(value));
    if (!fits)
      throw new Refusal(
        `The ${name} is ${isWhole ? 'a whole number' : 'a number'} from ${least} to ${most}, not '${text}'.`,
      );
    return [key, value];
  });
  return Object.fromEntries([...chosen, ...numbers]);
}
