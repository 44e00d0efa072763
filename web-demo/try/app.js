// The page of a model of one's own: takes files, and shows what becomes of them, step by step.

import { $, listOf, make, say } from './dom.js';
import { chosenIn, droppedIn, sorted } from './files.js';
import { makeNetwork } from './made.js';
import { adviceFor, modelOf, openModel, Refusal, tryRecipe, weightsOf } from './model.js';
import { propose } from './recipe.js';
import { planText, showModel } from './show-model.js';
import { messageOf, namesText } from './words.js';

/** @type {{ model?: import('./model.js').Model, waiting?: File, recipe?: import('./recipe.js').Recipe }} */
const state = {};
/** Counts what was begun, so that what is overtaken by something newer shows nothing. */
let newest = 0;

/** Takes whatever was dropped or chosen. @param {readonly import('./files.js').Dropped[]} dropped */
async function take(dropped) {
  if (!dropped.length) return;
  const files = await sorted(dropped);
  const [model] = files.filter(({ kind }) => kind === 'model');
  const beside = files.filter(({ kind }) => kind === 'weights').map(({ file }) => file);
  const foreign = files.find(({ kind }) => kind === 'foreign');
  if (model) return await useFile(model.file, beside);
  if (beside.length && state.waiting) return await useFile(state.waiting, beside);
  if (foreign) return refuse(`'${foreign.file.name}' ${foreign.words}`, foreign.guide);
  if (beside.length)
    return refuse(
      `${namesText(beside.map(({ name }) => name))} holds weights without the network: drop the .onnx file, too.`,
    );
}

/** @param {File} file @param {readonly File[]} beside */
function useFile(file, beside) {
  return use(file.name, () => openModel(file, beside));
}

/**
 * Opens a model, and keeps the one before where that fails.
 * @param {string} name @param {() => Promise<import('./model.js').Model>} open
 */
async function use(name, open) {
  const mine = ++newest;
  say($('#model-words'));
  say($('#model-status'), `Reading ${name} …`);
  try {
    const model = await open();
    if (mine !== newest) return;
    Object.assign(state, { model, waiting: undefined });
    showModel($('#model-facts'), model);
    await proposeAndTry(mine);
  } catch (error) {
    if (mine !== newest) return;
    state.waiting = error.waits ?? state.waiting;
    refuse(error instanceof Refusal ? error.message : adviceFor(error));
  } finally {
    if (mine === newest) say($('#model-status'), '');
  }
}

/** @param {number} mine */
async function proposeAndTry(mine) {
  const { model } = state;
  for (const id of ['#plan', '#warnings']) $(id).hidden = true;
  if (!model || model.trouble || !weightsOf(model)) return;
  state.recipe = propose(model.onnx, weightsOf(model)).recipe;
  say($('#model-status'), 'Trying a step on random numbers …');
  const tried = await tryRecipe(model, state.recipe, ['0', '1']).catch(async (error) => {
    if (error.code !== 'unsupported-op') throw error;
    Object.assign(state, { recipe: { ...state.recipe, trains: 'head' } });
    const head = await tryRecipe(model, state.recipe, ['0', '1']);
    return {
      ...head,
      warnings: [`Not all layers can train: ${messageOf(error)} A new last layer can.`, ...head.warnings],
    };
  });
  if (mine !== newest) return;
  say($('#plan'), planText(tried, state.recipe.batchSize));
  $('#warnings').hidden = !tried.warnings.length;
  $('#warnings').replaceChildren(listOf(tried.warnings));
}

/** @param {string} words @param {string} [guide] a page of the site */
function refuse(words, guide) {
  say($('#model-words'), words);
  if (guide) $('#model-words').append(' ', make('a', { href: `../guides/${guide}.html` }, 'The guide says more'), '.');
}

for (const input of [$('#model-files')])
  input.addEventListener('change', () => {
    const files = chosenIn(input);
    input.value = ''; // the same file may be chosen again
    take(files);
  });
$('#example-small').addEventListener('click', () =>
  use('the example', async () =>
    modelOf('small.onnx', await makeNetwork({ features: 4, outputs: 3 }), { features: 4, outputs: 3 }),
  ),
);
$('#example-pictures').addEventListener('click', () =>
  use('the example', async () => {
    const response = await fetch(new URL('../models/pictures.onnx', import.meta.url));
    if (!response.ok)
      throw new Refusal('The example cannot be loaded: the server does not have it, or is not reached.');
    return await openModel(new File([await response.blob()], 'pictures.onnx'), []);
  }),
);
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('over');
});
addEventListener('dragleave', () => document.body.classList.remove('over'));
addEventListener('drop', async (event) => {
  event.preventDefault();
  document.body.classList.remove('over');
  if (event.dataTransfer) await take(await droppedIn(event.dataTransfer));
});
