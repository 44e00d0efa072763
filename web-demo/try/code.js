// The same as code: the JavaScript that does what the page did, as a program that runs as it stands.

import { rowsOf } from './data.js';
import { keyOf, literal } from './literal.js';
import { HIDDEN, INPUT, SEED } from './made.js';
import { artifactOptions } from './recipe.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {import('./recipe.js').Recipe} Recipe
 * @typedef {{ imports: string[], lines: string[] }} Part of the program; it makes `data` and, where examples are held
 * out, `heldOut`
 * @typedef {{ before: string[], file: (name: string) => string, bytes: string[] }} Place where it runs: lines before
 * all others, the expression for a file, lines that make `bytesOf` a function from its name to its bytes
 */

/** Files lie beside the program: in a page their names are addresses, in Node paths. @type {Place} */
const BESIDE = {
  before: [],
  file: literal,
  bytes: [
    '// in Node: readFile in the place of bytesOf',
    'const bytesOf = async (file) => new Uint8Array(await (await fetch(file)).arrayBuffer());',
  ],
};

/** The parts that read data, by its kind. */
const PARTS = { table: tablePart, pictures: picturesPart, arrays: arraysPart, random: randomPart };

/**
 * @param {Model} model @param {Recipe} recipe @param {Data} data
 * @param {string} readers the text of npy.js, which a program with arrays needs
 * @param {Place} [place]
 */
export function codeOf(model, recipe, data, readers, place = BESIDE) {
  const isBinary = recipe.loss === 'bce-with-logits' && data.task === 'classes';
  const part = PARTS[data.kind](data, { readers, place, asLoss: isBinary ? 'asTarget' : '' });
  const network = networkPart(model, data, place);
  const imports = new Set(['generateArtifacts', 'TrainingSession', ...part.imports, ...(isBinary ? ['Tensor'] : [])]);
  return [
    `import { ${[...imports].sort((a, b) => a.localeCompare(b)).join(', ')} } from 'trainlet';`,
    ...(network.layers ? [`import { ${network.layers.join(', ')} } from 'trainlet/layers';`] : []),
    ...(model.isPackaged ? ["import { pictures } from 'trainlet/models';"] : []),
    '',
    ...place.before,
    ...(isBinary ? [BINARY] : []),
    ...part.lines,
    '',
    ...network.lines,
    `const artifacts = await generateArtifacts(${network.source}, ${optionsText(model, recipe, data)});`,
    'const session = await TrainingSession.create(artifacts); // in a worker of its own',
    ...(recipe.trains === 'head' ? ['await session.initializeHead(data);'] : []),
    `await session.fit(data, ${fitText(recipe, data)});`,
    '',
    `console.log(await session.evaluate(${data.heldOut ? 'heldOut' : 'data'}));`,
    'const trained = await session.exportModel(); // plain ONNX, for any runtime',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a line of the program
    'console.log(`the model has ${trained.length} bytes`);',
    'await session.release();',
    '',
  ].join('\n');
}

const BINARY =
  "const asTarget = ({ data }) => new Tensor('float32', Float32Array.from(data, Number), [data.length, 1]);";

/** @param {Model} model @param {Recipe} recipe @param {Data} data */
function optionsText({ externalData, weights }, recipe, data) {
  const names = Object.fromEntries(Object.keys(externalData).map((name) => [name, name]));
  return literal({
    ...artifactOptions(recipe, data.classes ?? []),
    ...(Object.keys(names).length && { externalData: names }),
    ...(weights.length && { weights: weights.map(({ name }) => name) }),
  });
}

/** @param {Recipe} recipe @param {Data} data */
const fitText = ({ epochs, batchSize }, { heldOut }) =>
  `{ epochs: ${epochs}, batchSize: ${batchSize}${heldOut ? ', validation: heldOut' : ''} }`;

/** @param {Model} model @param {Data} data @param {Place} place */
function networkPart({ name, made, isPackaged }, data, place) {
  if (isPackaged) return { lines: [], source: 'pictures' };
  if (!made) return { lines: [], source: place.file(name) };
  const isTable = data.kind === 'table';
  const layers = [
    `input([${isTable ? 'table.mean.length' : made.features}], { name: ${literal(INPUT)} })`,
    ...(isTable ? ['normalization({ mean: table.mean, variance: table.variance })'] : []),
    `dense(${HIDDEN}, { activation: 'relu' })`,
    `dense(${HIDDEN}, { activation: 'relu' })`,
    `dense(${made.outputs})`,
    ...(made.target ? ['rescaling(Math.sqrt(target.variance), { offset: target.mean })'] : []),
  ];
  return {
    lines: [
      ...(made.target ? ["const target = table.columns.find(({ role }) => role === 'target');"] : []),
      `const network = await sequential(\n  [\n${layers.map((layer) => `    ${layer},\n`).join('')}  ],`,
      `  { seed: ${SEED} },`,
      ');',
    ],
    source: 'network',
    layers: [
      ...['dense', 'input', ...(isTable ? ['normalization'] : []), ...(made.target ? ['rescaling'] : [])],
      'sequential',
    ],
  };
}

/** @param {Data} data @param {{ asLoss: string, place: Place }} model @returns {Part} */
function tablePart({ read, heldOut, classes }, { asLoss, place }) {
  const { file, options, dims } = read;
  const isReshaped = dims.length > 1;
  const name = keyOf(options.input);
  const labels = classes ? 'labels.labels' : 'labels.target';
  const reshaped = isReshaped
    ? `{ ${name}: new Tensor('float32', inputs${at(options.input)}.data, [${labels}.dims[0], ${dims.join(', ')}]) }`
    : 'inputs';
  const taken = asLoss ? `${asLoss}(${labels})` : labels;
  return {
    imports: ['readTable', ...(isReshaped ? ['Tensor'] : [])],
    lines: [
      `const table = await readTable(${place.file(file)}, ${literal(options)});`,
      `const examplesOf = ({ inputs, labels }) => ({ inputs${isReshaped ? `: ${reshaped}` : ''}, labels: ${taken} });`,
      'const data = examplesOf(table);',
      ...(heldOut ? ['const heldOut = examplesOf(table.validation);'] : []),
    ],
  };
}

/** @param {string} key */
const at = (key) => (keyOf(key) === key ? `.${key}` : `[${literal(key)}]`);

/** @param {Data} data @param {{ asLoss: string }} model @returns {Part} */
function picturesPart({ read, classes, heldOut }, { asLoss }) {
  const labels = "new Tensor('int64', BigInt64Array.from(files, (file) => BigInt(classOf(file))))";
  return {
    imports: ['Tensor'],
    lines: [
      '// addresses of the pictures, in a page; the folder of each is its class',
      `const files = ${literal(read.paths)};`,
      `const classes = ${literal(classes)};`,
      "const classOf = (file) => classes.indexOf(file.split('/').at(-2));",
      `const options = ${literal(read.options)};`,
      'const examplesOf = async (files) => ({',
      `  inputs: { ${keyOf(read.input)}: await Tensor.fromImage(files, options) },`,
      `  labels: ${asLoss ? `${asLoss}(${labels})` : labels},`,
      '});',
      ...(heldOut
        ? [
            'const data = await examplesOf(files.filter((_, i) => i % 5 !== 4));',
            'const heldOut = await examplesOf(files.filter((_, i) => i % 5 === 4)); // every fifth picture',
          ]
        : ['const data = await examplesOf(files);']),
    ],
  };
}

/** The lines that hold out every fifth of `inputs` and `labels`. @param {Data} data @param {string} asLoss */
function splitLines({ heldOut }, asLoss) {
  const labels = (/** @type {string} */ text) => (asLoss ? `${asLoss}(${text})` : text);
  if (!heldOut) return [`const data = { inputs, labels${asLoss ? `: ${labels('labels')}` : ''} };`];
  return [
    String(rowsOf),
    'const examplesOf = (places) => ({',
    '  inputs: Object.fromEntries(Object.entries(inputs).map(([name, t]) => [name, rowsOf(t, places, Tensor)])),',
    `  labels: ${labels('rowsOf(labels, places, Tensor)')},`,
    '});',
    'const places = Array.from({ length: labels.dims[0] }, (_, i) => i);',
    'const data = examplesOf(places.filter((i) => i % 5 !== 4));',
    'const heldOut = examplesOf(places.filter((i) => i % 5 === 4)); // every fifth example',
  ];
}

/** @param {Data} data @param {{ readers: string, asLoss: string, place: Place }} texts @returns {Part} */
function arraysPart(data, { readers, asLoss, place }) {
  const { files, pairs, labels, isWhole, dims } = data.read;
  const reading = files.map((/** @type {string} */ file) =>
    /\.npz$/i.test(file)
      ? `Object.assign(arrays, await parseNpz(await bytesOf(${literal(file)})));`
      : `arrays[${literal(file.replace(/\.npy$/i, ''))}] = parseNpy(await bytesOf(${literal(file)}));`,
  );
  const converted = (/** @type {any} */ { name, from, type }) => {
    const numbers = `arrays[${literal(name)}].data`;
    if (from === type) return numbers;
    if (type === 'int64') return `BigInt64Array.from(${numbers}, (n) => BigInt(Math.round(Number(n))))`;
    return `Float32Array.from(${numbers}, (n) => Number(n)${from === 'uint8' ? ' / 255' : ''})`;
  };
  const values = `Array.from(arrays[${literal(labels)}].data, ${isWhole ? 'BigInt' : 'Number'})`;
  return {
    imports: ['Tensor'],
    lines: [
      readers
        .slice(readers.indexOf('\n\n'))
        .replace(/^export /gm, '')
        .trim(),
      '',
      ...place.bytes,
      'const arrays = {};',
      ...reading,
      'const inputs = {',
      ...pairs.map(
        (/** @type {any} */ pair) =>
          `  ${keyOf(pair.input)}: new Tensor(${literal(pair.type)}, ${converted(pair)}, ${literal(pair.dims)}),`,
      ),
      '};',
      `const labels = new Tensor('${isWhole ? 'int64' : 'float32'}', ${values}, ${literal(dims)});`,
      ...splitLines(data, asLoss),
    ],
  };
}

/** @param {Data} data @param {{ asLoss: string }} model @returns {Part} */
function randomPart(data, { asLoss }) {
  const { source, seed, inputs, labels } = data.read;
  return {
    imports: ['Tensor'],
    lines: [
      source,
      `const random = randomFrom(${seed});`,
      'const inputs = {',
      ...inputs.map((/** @type {any} */ input) => `  ${keyOf(input.name)}: ${randomTensor(input)},`),
      '};',
      `const labels = ${randomTensor(labels)};`,
      ...splitLines(data, asLoss),
    ],
  };
}

/** @param {{ type: string, dims: number[], most: number }} tensor */
function randomTensor({ type, dims, most }) {
  const length = dims.reduce((a, b) => a * b, 1);
  const next = /float/.test(type) ? '2 * random() - 1' : `Math.floor(${most} * random())`;
  const value = type === 'int64' ? `BigInt(${next})` : next;
  return `new Tensor('${type}', Array.from({ length: ${length} }, () => ${value}), ${literal(dims)})`;
}
