// The page of a model of one's own: takes files, and shows what becomes of them, step by step.

import { codeOf } from './code.js';
import { $, listOf, make, say } from './dom.js';
import { flowers, things } from './examples.js';
import { chosenIn, droppedIn, sorted } from './files.js';
import { makeNetwork } from './made.js';
import { adviceFor, modelOf, openModel, Refusal, tryRecipe, weightsOf } from './model.js';
import { likelyScale, SCALES } from './pictures.js';
import { playgroundCode, playgroundLink } from './playground.js';
import { readData } from './read-data.js';
import { propose } from './recipe.js';
import { chosenRecipe, showRecipe } from './recipe-form.js';
import { showData, wantedText } from './show-data.js';
import { planText, showModel } from './show-model.js';
import { columnsOf } from './table.js';
import { download, TrainCard } from './train-card.js';
import { messageOf, namesText } from './words.js';

/**
 * @typedef {import('./model.js').Model} Model
 * @typedef {import('./read-data.js').Raw} Raw
 */

/**
 * @type {{ model?: Model, waiting?: File, raw?: Raw, choices: import('./read-data.js').Choices,
 *   data?: import('./data.js').Data, readers?: string }} waiting: a model that lacks its other files
 */
const state = { choices: {} };
/** Counts what was begun, so that what is overtaken by something newer shows nothing. */
let newest = 0;
const card = new TrainCard(() => state.model && state.data && { model: state.model, data: state.data });

/** Takes whatever was dropped or chosen. @param {readonly import('./files.js').Dropped[]} dropped */
async function take(dropped) {
  if (!dropped.length) return;
  const files = await sorted(dropped);
  const of = (/** @type {string} */ kind) => files.filter((file) => file.kind === kind);
  const [model] = of('model');
  const beside = of('weights').map(({ file }) => file);
  const [foreign] = of('foreign');
  if (model) await useFile(model.file, beside);
  else if (beside.length && state.waiting) await useFile(state.waiting, beside);
  else if (beside.length && !of('table').length)
    refuse(`${namesText(beside.map(({ name }) => name))} holds weights without the network: drop the .onnx file, too.`);
  for (const kind of /** @type {const} */ (['table', 'arrays', 'pictures'])) {
    const found = of(kind === 'pictures' ? 'picture' : kind);
    if (found.length) return await useData({ kind, files: found });
  }
  if (foreign && !model) refuse(`'${foreign.file.name}' ${foreign.words}`, foreign.guide);
}

// — Model —

/** @param {File} file @param {readonly File[]} beside */
function useFile(file, beside) {
  return useModel(file.name, () => openModel(file, beside));
}

/**
 * Opens a model, and keeps the one before where that fails.
 * @param {string} name @param {() => Promise<Model>} open
 */
async function useModel(name, open) {
  const mine = ++newest;
  say($('#model-words'));
  say($('#model-status'), `Reading ${name} …`);
  try {
    const model = await open();
    if (mine !== newest) return;
    Object.assign(state, { model, waiting: undefined, data: undefined, choices: {} });
    await card.reset();
    showModel($('#model-facts'), model);
    const canTrain = !model.trouble && weightsOf(model) > 0;
    $('#data-card').hidden = !canTrain;
    say($('#wanted'), wantedText(model));
    for (const id of ['#train-card', '#code-card', '#data-shown', '#data-choices', '#ignore-field'])
      $(id).hidden = true;
    if (state.raw && canTrain) return await readRaw(mine);
    await proposeAndTry(mine);
  } catch (error) {
    if (mine !== newest) return;
    state.waiting = error.waits ?? state.waiting;
    refuse(wordsOf(error));
  } finally {
    if (mine === newest) say($('#model-status'), '');
  }
}

/** @param {any} error */
const wordsOf = (error) => (error instanceof Refusal ? error.message : adviceFor(error));

/**
 * Proposes a recipe for the model and the data there are, and tries it on random numbers.
 * @param {number} mine
 */
async function proposeAndTry(mine) {
  const { model, data } = state;
  for (const id of ['#plan', '#warnings']) $(id).hidden = true;
  if (!model || model.trouble || !weightsOf(model)) return;
  const { recipe, why } = propose(model.onnx, weightsOf(model), data);
  showRecipe(recipe, why);
  showCode();
  await tryChosen(mine, why);
}

/** @param {number} mine @param {readonly string[]} why */
async function tryChosen(mine, why) {
  const { model, data } = state;
  if (!model) return;
  const recipe = chosenRecipe();
  const classes = data?.classes ?? ['0', '1'];
  say($('#model-status'), 'Trying a step on random numbers …');
  const tried = await tryRecipe(model, recipe, classes).catch(async (error) => {
    if (error.code !== 'unsupported-op' || recipe.trains === 'head') throw error;
    const head = /** @type {const} */ ({ ...recipe, trains: 'head' });
    const result = await tryRecipe(model, head, classes);
    const words = `Not all layers can train: ${messageOf(error)} A new last layer can.`;
    showRecipe(head, [...why.slice(0, 1), words, ...why.slice(2)]);
    showCode();
    return { ...result, warnings: [words, ...result.warnings] };
  });
  if (mine !== newest) return;
  say($('#model-status'), '');
  say($('#plan'), planText(tried, recipe.batchSize));
  $('#warnings').hidden = !tried.warnings.length;
  $('#warnings').replaceChildren(listOf(tried.warnings));
}

/** @param {string} words @param {string} [guide] a page of the site */
function refuse(words, guide) {
  say($('#model-words'), words);
  if (guide) $('#model-words').append(' ', make('a', { href: `../guides/${guide}.html` }, 'The guide says more'), '.');
}

// — Data —

/** @param {Raw} raw */
async function useData(raw) {
  if (!state.model || $('#data-card').hidden)
    return refuse('Drop a model first, or take an example: data are read for it.');
  Object.assign(state, { raw, choices: {} });
  await readRaw(++newest);
}

/** Reads the data for the model; what was read before stays where that fails. @param {number} mine */
async function readRaw(mine) {
  const { raw, choices, model } = state;
  if (!raw || !model) return;
  say($('#data-words'));
  say($('#data-status'), 'Reading …');
  try {
    await showChoices(raw, model);
    const read = await readData(raw, choices, model, (words) => mine === newest && say($('#data-status'), words));
    if (mine !== newest) return;
    Object.assign(state, read);
    await card.reset();
    if (read.model !== model) showModel($('#model-facts'), read.model);
    showData($('#data-shown'), read.data);
    if (raw.kind === 'table') $('#target').value = read.data.read.options.target;
    $('#train-card').hidden = $('#code-card').hidden = false;
    await proposeAndTry(mine);
  } catch (error) {
    if (mine === newest) say($('#data-words'), wordsOf(error));
  } finally {
    if (mine === newest) say($('#data-status'), '');
  }
}

/** The choices that a kind of data has. @param {Raw} raw @param {Model} model */
async function showChoices({ kind, files }, model) {
  const isTable = kind === 'table';
  const isPictures = kind === 'pictures';
  $('#data-choices').hidden = !isTable && !isPictures;
  $('#target-field').hidden = $('#task-field').hidden = $('#ignore-field').hidden = !isTable;
  $('#scale-field').hidden = !isPictures;
  if (isPictures) {
    const { dims } = model.onnx.inputs[0];
    $('#scale').value = state.choices.scale ?? (dims.length === 4 ? likelyScale(model) : 'unit');
  }
  if (!isTable || state.choices.target) return;
  const { names } = await columnsOf(files[0].file);
  $('#target').replaceChildren(...names.map((name) => make('option', { value: name }, name)));
  $('#task').value = '';
  $('#ignore').replaceChildren(
    ...names.map((name) =>
      make('label', { className: 'switch' }, make('input', { type: 'checkbox', value: name }), name),
    ),
  );
}

/** Reads the data anew with what was chosen. */
function chooseAgain() {
  const ignored = [...$('#ignore').querySelectorAll('input:checked')].map((box) => box.value);
  state.choices =
    state.raw?.kind === 'table'
      ? { target: $('#target').value, task: $('#task').value || undefined, ignore: ignored }
      : { scale: $('#scale').value };
  readRaw(++newest);
}

// — Code —

async function showCode() {
  const { model, data } = state;
  if (!model || !data) return;
  state.readers ??= await (await fetch(new URL('npy.js', import.meta.url))).text();
  const isExample = Boolean(state.raw?.isExample && data.kind === 'table');
  $('#save-data').hidden = !isExample;
  $('#code-note').hidden = !(state.raw?.isExample && data.kind === 'pictures');
  try {
    const recipe = chosenRecipe();
    $('#code').textContent = codeOf(model, recipe, data, state.readers);
    const table = isExample ? await state.raw?.files[0].file.text() : undefined;
    const code = playgroundCode(model, recipe, data, state.readers, table);
    $('#play').hidden = !code;
    if (code) $('#play').href = await playgroundLink(code);
  } catch {
    // a number that is none is told where it trains
  }
}

// — What one presses —

for (const input of [$('#model-files'), $('#data-files'), $('#data-folder')])
  input.addEventListener('change', () => {
    const files = chosenIn(input);
    input.value = ''; // the same file may be chosen again
    take(files);
  });
$('#example-small').addEventListener('click', () => {
  const made = { features: 4, outputs: 3 };
  useModel('the example', async () => modelOf('small.onnx', await makeNetwork(made), made));
});
$('#example-pictures').addEventListener('click', () =>
  useModel('the example', async () => {
    const response = await fetch(new URL('../models/pictures.onnx', import.meta.url)).catch(() => undefined);
    if (!response?.ok)
      throw new Refusal('The example cannot be loaded: the server does not have it, or is not reached.');
    return { ...(await openModel(new File([await response.blob()], 'pictures.onnx'), [])), isPackaged: true };
  }),
);
$('#example-data').addEventListener('click', async () => {
  const isPictures = state.model?.onnx.inputs[0]?.dims.length === 4;
  if (!isPictures)
    return useData({ kind: 'table', files: [{ file: flowers(), path: 'flowers.csv' }], isExample: true });
  say($('#data-status'), 'Drawing pictures …');
  useData({ kind: 'pictures', files: await things(), isExample: true });
});
$('#random-data').addEventListener('click', () => useData({ kind: 'random', files: [] }));
for (const id of ['#target', '#task', '#ignore', '#scale']) $(id).addEventListener('change', chooseAgain);
$('#scale').append(...Object.entries(SCALES).map(([value, { name }]) => make('option', { value }, name)));
$('#recipe').addEventListener('submit', (/** @type {Event} */ event) => event.preventDefault());
$('#recipe').addEventListener('change', () => {
  card.reset();
  showCode();
  const mine = ++newest;
  tryChosen(mine, []).catch((error) => {
    if (mine !== newest) return;
    say($('#model-status'), '');
    say($('#train-words'), wordsOf(error));
  });
});
$('#copy').addEventListener('click', async () => {
  const copied = await navigator.clipboard.writeText($('#code').textContent).then(
    () => true,
    () => false,
  );
  say($('#copied'), copied ? 'Copied.' : 'The browser does not let this page copy: select the text and copy it.');
});
$('#save-data').addEventListener('click', async () => {
  const file = state.raw?.files[0]?.file;
  if (file) download(file.name, file);
});
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
