/**
 * Weights of other files in the place of a model's own: tensors of safetensors, by the names that PyTorch gives them.
 *
 *     names of parameters ┬▶ prefix ─▶ tensor of each ─▶ one by one: float32, transposed, the parameter's type
 *     names of tensors ───┘
 */

import { checkSignal, invalid, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { locate } from '../base/platform.js';
import { floatsOf, openSafetensors, toBrain, toHalf } from '../formats/safetensors.js';
import { readSource } from './source.js';
import { foldedRecipe, isNumbered, moduleOf, moduleOfNode, recurrentRecipe, stepsOf } from './computed-weights.js';

/** @import { Client } from '../engine/client.js' */
/** @import { EngineOptions, ModelParameter, Source } from '../types.js' */
/** @import { Place } from '../formats/safetensors.js' */
/** @import { Ranges } from './external-data.js' */
/** @typedef {Place & { file: Ranges, start: number }} Stored a tensor, and where it lies */
/** @typedef {Float32Array<ArrayBuffer>} Floats */
/**
 * One tensor, or several from which `make` computes the parameter's values.
 * @typedef {{ tensors: Stored[], turned?: boolean, make?: (parts: Floats[]) => Floats, warning?: string }} Match
 */
/** @typedef {Map<string, Stored>} Tensors */
/** @typedef {import('./computed-weights.js').Notes} Notes */
/** @typedef {(source: Source) => Promise<Ranges>} Open */

/**
 * Hands over what the files have of the model that `client` was given.
 * @param {Client} client
 * @param {Source | readonly Source[]} sources
 * @param {{ late: Set<string>, notes: Notes }} model `late`: parameters whose own values have not come, taken last
 * @param {EngineOptions} options
 * @param {Open} open
 * @returns {Promise<{ taken: Set<string>, warnings: string[] }>}
 */
export async function handWeights(client, sources, { late, notes }, options, open) {
  const tensors = await tensorsIn(await partsOf(sources, options), open);
  const parameters = (await client.ask('weights', undefined)).filter(({ type }) => type in ARRAYS);
  const matches = matched(parameters, tensors, notes);
  const inOrder = [...matches].sort(([a], [b]) => Number(late.has(a.name)) - Number(late.has(b.name)));
  const totalBytes = inOrder.reduce((sum, [, [match]]) => sum + bytesOf(match), 0);
  let loadedBytes = 0;
  for (const [parameter, [first, ...others]] of inOrder) {
    checkSignal(options.signal);
    const data = await floatsIn(first);
    for (const other of others) checkEqual(parameter, first, data, other, await floatsIn(other));
    const bytes = bytesAs(parameter.type, data);
    await client.ask('weight', { name: parameter.name, bytes }, [bytes.buffer]);
    loadedBytes += bytesOf(first);
    options.onProgress?.({ source: 'weights', loadedBytes, totalBytes });
  }
  return { taken: new Set(inOrder.map(([{ name }]) => name)), warnings: leftOver(parameters, tensors, matches) };
}

/**
 * Resolves an index of parts (model.safetensors.index.json) to the files that it names, which lie beside it.
 * @param {Source | readonly Source[]} sources @param {EngineOptions} options
 * @returns {Promise<readonly Source[]>}
 */
async function partsOf(sources, options) {
  if (Array.isArray(sources)) return sources;
  const source = /** @type {string | URL} */ (sources);
  const named = isKind(source, 'URL') ? source.pathname : source;
  if (typeof named !== 'string' || !/\.json$/.test(named)) return [source];
  const bytes = await readSource('weights', source, { ...options, integrity: {} });
  const [, map = '{}'] = /"weight_map"\s*:\s*(\{[^{}]*\})/.exec(new TextDecoder().decode(bytes)) ?? [];
  const names = [...new Set(/** @type {string[]} */ (Object.values(JSON.parse(map))))];
  if (!names.length || !names.every((name) => /^\w[\w.-]*$/.test(name)))
    throw new TrainletError('source-unreadable', `weights: ${source} is no index of safetensors files`);
  const base = await locate(source);
  return names.map((name) => new URL(name, base));
}

/** @param {readonly Source[]} sources @param {Open} open */
async function tensorsIn(sources, open) {
  /** @type {Tensors} */
  const tensors = new Map();
  for (const source of sources) {
    const file = await open(source);
    const { places, start } = await openSafetensors(file, 'weights');
    for (const place of places) {
      if (tensors.has(place.name))
        throw new TrainletError('source-unreadable', `weights: tensor '${place.name}' is in two of the files`);
      tensors.set(place.name, { ...place, file, start });
    }
  }
  return tensors;
}

// ── which tensor is whose ──

/**
 * For each parameter the tensors that have one of its names: the first is taken, the others must be equal.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Notes} notes
 * @returns {Map<ModelParameter, Match[]>}
 */
function matched(parameters, tensors, notes) {
  const inFile = renaming(prefixOf(parameters, tensors), tensors);
  const named = (/** @type {string} */ name) => tensors.get(inFile(name));
  const has = (/** @type {string} */ name) => named(name) !== undefined;
  const tensorOf = (/** @type {ModelParameter} */ { name }) => named(name);
  // an exporter that keeps names keeps the order of dims; one that does not shows it where they differ
  const reverses = parameters.some(
    (parameter) => parameter.transposed && waysOf(parameter, tensorOf(parameter)) === 'turned',
  );
  const owned = new Set(parameters.map(tensorOf));
  /** @param {ModelParameter} parameter @param {string} name @returns {Match[]} */
  const plain = (parameter, name) => {
    const tensor = named(name);
    const isOwn = tensor === tensorOf(parameter);
    const ways = waysOf(parameter, tensor);
    const turned = ways === 'turned' || (ways === 'both' && parameter.transposed && (!isOwn || reverses));
    if (tensor && ways) return [{ tensors: [tensor], turned }];
    if (!tensor || (!isOwn && parameter.dims.length < 2)) return []; // a number that the module computes with
    throw invalid(`weights: '${name}' is [${tensor.dims}], and '${parameter.name}' of the model [${parameter.dims}]`);
  };
  /** @param {ModelParameter} parameter @returns {Match[]} */
  const matchesOf = (parameter) => {
    const recipe = recurrentRecipe(parameter, parameters, notes) ?? foldedRecipe(parameter, has);
    if (recipe?.names.every(has)) return [{ ...recipe, tensors: recipe.names.map((name) => stored(named(name))) }];
    const origins = notes.origins.get(parameter.name);
    if (origins) return foldedFrom(parameter, origins, named, reverses);
    // a mask that is read as a weight has the name of its module's weight, too
    const isOther = (/** @type {string} */ name) => has(parameter.name) && owned.has(named(name));
    const names = parameter.names.filter((name) => name === parameter.name || !isOther(name));
    const found = [...new Set(names)].flatMap((name) => plain(parameter, name));
    if (found.length && isNumbered(parameter.name) && !(parameter.transposed && found.some(({ turned }) => turned)))
      throw computed(parameter, found[0].tensors);
    return found;
  };
  const found = new Map(parameters.map((parameter) => /** @type {const} */ ([parameter, matchesOf(parameter)])));
  for (const [parameter, matches] of found) if (!matches.length) found.delete(parameter);
  if (!found.size)
    throw invalid(
      `weights: none of the ${tensors.size} tensors, as '${[...tensors.keys()][0]}', has the name of ` +
        `a parameter of the model, as '${parameters[0]?.names.at(-1)}'`,
    );
  checkNorms(found, tensors);
  checkRest(parameters, tensors, found, notes);
  return found;
}

const stored = (/** @type {Stored | undefined} */ tensor) => /** @type {Stored} */ (tensor);

/**
 * Undoes the folding of dynamo's exporter: a tensor in another layout, or functions of its elements. Refuses the rest.
 * @param {ModelParameter} parameter @param {string[]} origins @param {(name: string) => Stored | undefined} named
 * @param {boolean} reverses
 * @returns {Match[]}
 */
function foldedFrom(parameter, origins, named, reverses) {
  const from = [...new Set(origins.flatMap((name) => named(name) ?? []))];
  if (!from.length) return [];
  const between = origins.filter((name) => !named(name));
  const ways = from.length === 1 ? waysOf(squeezed(parameter), squeezed(from[0])) : '';
  const steps = ways && stepsOf(parameter.name, between, String(from[0].dims) === String(parameter.dims));
  if (!steps) throw computed(parameter, from);
  const turned = ways === 'turned' || (ways === 'both' && isTurned(parameter, between, reverses));
  const make = (/** @type {Floats[]} */ [x]) => steps.reduce((y, step) => y.map(step), x);
  return [{ tensors: from, turned, ...(steps.length ? { make } : {}) }];
}

/**
 * True if an exporter that folds has transposed a square matrix.
 * @param {ModelParameter} parameter @param {string[]} between @param {boolean} reverses
 */
function isTurned({ name, transposed }, between, reverses) {
  const turns = [name, ...between].filter((value) =>
    /^(t|numpy_t|mt|transpose|permute|swapaxes|movedim)(_\d+)?$/.test(value),
  );
  return turns.length % 2 === 1 || (isNumbered(name) && !turns.length && (transposed || reverses));
}

/** Without dims of 1. @template {{ dims: readonly number[] }} T @param {T} tensor @returns {T} */
const squeezed = (tensor) => ({ ...tensor, dims: tensor.dims.filter((d) => d !== 1) });

/** @param {ModelParameter} parameter @param {readonly Stored[]} from */
function computed({ name, readers: [reader] }, from) {
  const what = reader ? `${reader.op} '${reader.node}' reads what` : `'${name}' is what`;
  return invalid(
    `weights: ${what} the exporter has computed from ${listed(from.map((tensor) => tensor.name))}, and the model ` +
      'does not say how: export it with optimize=False, or by TorchScript with do_constant_folding=False',
  );
}

/**
 * TorchScript's exporter notes nothing. A constant without a name of its own may follow from a tensor of its module
 * that has no place in the model.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Map<ModelParameter, Match[]>} found
 * @param {Notes} notes
 */
function checkRest(parameters, tensors, found, { origins }) {
  const rest = unusedIn(tensors, found).filter(({ count }) => count > 1);
  const isWithin = (/** @type {string} */ a, /** @type {string} */ b) => a === b || (!!b && a.endsWith(`.${b}`));
  for (const parameter of parameters) {
    const { name, size } = parameter;
    if (!name.startsWith('onnx::') || size < 2 || origins.has(name)) continue;
    const modules = parameter.readers.map(({ node }) => moduleOfNode(node));
    const isNear = (/** @type {Stored} */ { name: tensor, count }) =>
      modules.some((module) => isWithin(moduleOf(tensor), module) || isWithin(module, moduleOf(tensor))) ||
      (!found.has(parameter) && modules.includes('') && size % count === 0);
    const from = rest.filter(isNear);
    if (from.length) throw computed(parameter, from);
  }
}

/** The orientations in which a tensor fits: as it is, transposed, both, or none ('').
 * @param {ModelParameter} parameter @param {Stored | undefined} tensor
 */
function waysOf({ dims }, tensor) {
  const isMatrix = dims.length === 2;
  const [is, wanted] = [String(tensor?.dims), String(dims)];
  const turns = isMatrix && is === String([...dims].reverse());
  if (!tensor?.isFloat) return '';
  return is === wanted ? (turns ? 'both' : 'same') : turns ? 'turned' : '';
}

/**
 * The prefix to add to the model's names ('+model.') or to remove ('-model.') so that most names match the files'.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors
 */
function prefixOf(parameters, tensors) {
  const names = new Set(parameters.flatMap((parameter) => parameter.names));
  const counts = new Map([['', 0]]);
  const count = (/** @type {string} */ prefix) => counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  for (const [sign, all, others] of /** @type {const} */ ([
    ['-', names, tensors],
    ['+', tensors, names],
  ]))
    for (const name of all.keys()) {
      if (sign === '-' && others.has(name)) count('');
      for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
        if (others.has(name.slice(dot + 1))) count(sign + name.slice(0, dot + 1));
    }
  const [[best, most], [second, next] = ['', 0]] = [...counts].sort(([, a], [, b]) => b - a);
  if (best && second && most === next)
    throw invalid(`weights: names fit with '${best.slice(1)}' before them, and with '${second.slice(1)}' as well`);
  return best && most > /** @type {number} */ (counts.get('')) ? best : '';
}

/** @param {string} prefix @param {Tensors} tensors @returns {(name: string) => string} */
function renaming(prefix, tensors) {
  const text = prefix.slice(1);
  const other = (/** @type {string} */ name) =>
    prefix[0] === '+' ? text + name : name.startsWith(text) ? name.slice(text.length) : name;
  return (name) => (tensors.has(other(name)) ? other(name) : name);
}

/**
 * An exporter that folds BatchNormalization into other layers has computed these.
 * @param {Map<ModelParameter, Match[]>} found @param {Tensors} tensors
 */
function checkNorms(found, tensors) {
  const statistics = [...tensors.keys()].filter((name) => name.endsWith('.running_mean'));
  const taken = takenBy(found);
  if (statistics.length && !statistics.some((name) => taken.has(name)))
    throw invalid(
      `weights: '${statistics[0]}' is of a BatchNormalization, of which the model has none: ` +
        'its exporter has folded them into other layers, so export it after model.train()',
    );
}

/** @param {Map<ModelParameter, Match[]>} found */
const takenBy = (found) =>
  new Set([...found.values()].flatMap((matches) => matches.flatMap(({ tensors }) => tensors.map(({ name }) => name))));

/**
 * Names of unused float tensors; integers such as counts of batches are ignored.
 * @param {Tensors} tensors @param {Map<ModelParameter, Match[]>} found
 */
function unusedIn(tensors, found) {
  const taken = takenBy(found);
  return [...tensors.values()].filter(({ name, isFloat }) => isFloat && !taken.has(name));
}

/**
 * A sentence for what neither side takes from the other, and for what no file tells.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Map<ModelParameter, Match[]>} found
 */
function leftOver(parameters, tensors, found) {
  const unused = unusedIn(tensors, found).map(({ name }) => name);
  const isLearned = (/** @type {ModelParameter} */ { dims, readers }) =>
    dims.length > 1 && readers.some(({ as }) => as !== 'operand');
  const missing = parameters.filter((parameter) => isLearned(parameter) && !found.has(parameter));
  const names = missing.map(({ name, names: all }) => all.find((known) => !isNumbered(known)) ?? name);
  const norms = new Set([...found.values()].flatMap((matches) => matches.flatMap(({ warning }) => warning ?? [])));
  return [
    ...(unused.length ? [`weights: the model has no parameter for ${listed(unused)}`] : []),
    ...(missing.length ? [`weights: there is no tensor for ${listed(names)}: the model's own values stay`] : []),
    ...(norms.size
      ? [`weights: ${listed([...norms])} is folded into the layer before, with PyTorch's default eps of 1e-5`]
      : []),
  ];
}

/** @param {string[]} names */
function listed(names) {
  const first = names.slice(0, 3).map((name) => `'${name}'`);
  const more = names.length - first.length;
  return first.join(', ') + (more ? ` and ${more} more` : '');
}

// ── values ──

/** @param {Match} match */
const bytesOf = ({ tensors }) => tensors.reduce((sum, { from, to }) => sum + to - from, 0);

/** @param {Match} match */
async function floatsIn({ tensors, turned, make }) {
  const parts = await Promise.all(tensors.map(readFloats));
  const [rows, columns] = tensors[0].dims.filter((d) => d !== 1);
  const data = make ? make(parts) : parts[0];
  return turned ? transposed(data, rows, columns) : data;
}

/** @param {Stored} tensor */
async function readFloats({ file, start, from, to, dtype, count }) {
  const { buffer } = await file.read(start + from, to - from);
  return floatsOf(new DataView(buffer), dtype, 0, count);
}

/** @param {Float32Array<ArrayBuffer>} data @param {number} rows @param {number} columns */
function transposed(data, rows, columns) {
  const turned = new Float32Array(data.length);
  for (let i = 0; i < rows; i++) for (let k = 0; k < columns; k++) turned[k * rows + i] = data[i * columns + k];
  return turned;
}

/**
 * @param {ModelParameter} parameter
 * @param {Match} a @param {Float32Array} x @param {Match} b @param {Float32Array} y
 */
function checkEqual({ name }, a, x, b, y) {
  if (!x.every((number, i) => Object.is(number, y[i])))
    throw invalid(
      `weights: '${a.tensors[0].name}' and '${b.tensors[0].name}' differ, and the model has only '${name}' for both`,
    );
}

/** @param {string} type of the parameter @param {Float32Array<ArrayBuffer>} data */
const bytesAs = (type, data) => new Uint8Array(ARRAYS[type](data).buffer);

/**
 * Arrays for the types that a parameter may have.
 * @type {Record<string, (data: Float32Array<ArrayBuffer>) => { buffer: ArrayBuffer }>}
 */
const ARRAYS = {
  float32: (data) => data,
  float64: (data) => Float64Array.from(data),
  float16: (data) => Uint16Array.from(data, toHalf),
  bfloat16: (data) => Uint16Array.from(data, toBrain),
};
