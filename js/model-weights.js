/**
 * Weights of other files in the place of a model's own: tensors of safetensors, by the names that PyTorch gives them.
 *
 *     names of parameters ┬▶ prefix ─▶ which tensor is whose ─▶ one after the other: float32, transposed, the parameter's type
 *     names of tensors ───┘
 */

import { floatsOf, openSafetensors, toBrain, toHalf } from './safetensors.js';

/** @import { Client } from './client.js' */
/** @import { EngineOptions, ModelParameter, Source } from './types.js' */
/** @import { Place } from './safetensors.js' */
/** @import { Ranges, Tools } from './pieces.js' */
/** @typedef {Place & { file: Ranges, start: number }} Stored a tensor, and where it lies */
/** @typedef {{ tensor: Stored, turned: boolean }} Match */
/** @typedef {Map<string, Stored>} Tensors */
/** @typedef {(source: Source) => Promise<Ranges>} Open */

/**
 * Hands over what the files have of the model that `client` was given.
 * @param {Client} client
 * @param {Source | readonly Source[]} sources
 * @param {Set<string>} late parameters whose own values have not come: these are taken last
 * @param {EngineOptions} options
 * @param {Tools} tools
 * @param {Open} open
 * @returns {Promise<{ taken: Set<string>, warnings: string[] }>}
 */
export async function handWeights(client, sources, late, options, tools, open) {
  const tensors = await tensorsIn(await partsOf(sources, options, tools), open, tools);
  const parameters = (await client.ask('weights', undefined)).filter(({ type }) => type in ARRAYS);
  const matches = matched(parameters, tensors, tools);
  const inOrder = [...matches].sort(([a], [b]) => Number(late.has(a.name)) - Number(late.has(b.name)));
  const totalBytes = inOrder.reduce((sum, [, [{ tensor }]]) => sum + tensor.to - tensor.from, 0);
  let loadedBytes = 0;
  for (const [parameter, [first, ...others]] of inOrder) {
    tools.checkSignal(options.signal);
    const data = await floatsIn(first);
    for (const other of others) checkEqual(parameter, first, data, other, await floatsIn(other), tools);
    const bytes = bytesAs(parameter.type, data);
    await client.ask('weight', { name: parameter.name, bytes }, [bytes.buffer]);
    loadedBytes += first.tensor.to - first.tensor.from;
    options.onProgress?.({ source: 'weights', loadedBytes, totalBytes });
  }
  return { taken: new Set(inOrder.map(([{ name }]) => name)), warnings: leftOver(parameters, tensors, matches) };
}

/**
 * Of an index of parts (model.safetensors.index.json) those that it names, which lie beside it.
 * @param {Source | readonly Source[]} sources @param {EngineOptions} options @param {Tools} tools
 * @returns {Promise<readonly Source[]>}
 */
async function partsOf(sources, options, { locate, readSource, TrainletError }) {
  if (Array.isArray(sources)) return sources;
  const source = /** @type {string | URL} */ (sources);
  if (!/\.json$/.test(source instanceof URL ? source.pathname : String(source))) return [source];
  const bytes = await readSource('weights', source, { ...options, integrity: {} });
  const [, map = '{}'] = /"weight_map"\s*:\s*(\{[^{}]*\})/.exec(new TextDecoder().decode(bytes)) ?? [];
  const names = [...new Set(/** @type {string[]} */ (Object.values(JSON.parse(map))))];
  if (!names.length || !names.every((name) => /^\w[\w.-]*$/.test(name)))
    throw new TrainletError('source-unreadable', `weights: ${source} is no index of safetensors files`);
  const base = await locate(source);
  return names.map((name) => new URL(name, base));
}

/** @param {readonly Source[]} sources @param {Open} open @param {Tools} tools */
async function tensorsIn(sources, open, { TrainletError }) {
  /** @type {Tensors} */
  const tensors = new Map();
  for (const source of sources) {
    const file = await open(source);
    const { places, start } = await openSafetensors(file, 'weights', TrainletError);
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
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Tools} tools
 * @returns {Map<ModelParameter, Match[]>}
 */
function matched(parameters, tensors, { invalid }) {
  const inFile = renaming(prefixOf(parameters, tensors, invalid), tensors);
  const own = (/** @type {ModelParameter} */ { names }) => tensors.get(inFile(names[0]));
  // an exporter that keeps names keeps the order of dims; one that does not shows it where they differ
  const reverses = parameters.some((one) => one.transposed && waysOf(one, own(one)) === 'turned');
  const matchesOf = (/** @type {ModelParameter} */ parameter) =>
    [...new Set(parameter.names.map(inFile))].flatMap((name) => {
      const tensor = tensors.get(name);
      const isOwn = tensor === own(parameter);
      const ways = waysOf(parameter, tensor);
      const turned = ways === 'turned' || (ways === 'both' && parameter.transposed && (!isOwn || reverses));
      if (tensor && ways) return [{ tensor, turned }];
      if (!tensor || (!isOwn && parameter.dims.length < 2)) return []; // a number that the module computes with
      const { dims } = tensor;
      throw invalid(`weights: '${name}' is [${dims}], and '${parameter.name}' of the model [${parameter.dims}]`);
    });
  const found = new Map(parameters.map((one) => /** @type {const} */ ([one, matchesOf(one)])));
  for (const [parameter, matches] of found) if (!matches.length) found.delete(parameter);
  if (!found.size)
    throw invalid(
      `weights: none of the ${tensors.size} tensors, as '${[...tensors.keys()][0]}', has the name of a parameter of the ` +
        `model, as '${parameters[0]?.names.at(-1)}'`,
    );
  checkNorms(found, tensors, invalid);
  return found;
}

/** How a tensor fits: as it is, turned, both ways, or not ('').
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
 * What to put before the model's names ('+model.'), or to take from them ('-model.'), so that most are the files'.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Tools['invalid']} invalid
 */
function prefixOf(parameters, tensors, invalid) {
  const names = new Set(parameters.flatMap((one) => one.names));
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
 * @param {Map<ModelParameter, Match[]>} found @param {Tensors} tensors @param {Tools['invalid']} invalid
 */
function checkNorms(found, tensors, invalid) {
  const statistics = [...tensors.keys()].filter((name) => name.endsWith('.running_mean'));
  const taken = new Set([...found.values()].flatMap((matches) => matches.map(({ tensor }) => tensor.name)));
  if (statistics.length && !statistics.some((name) => taken.has(name)))
    throw invalid(
      `weights: '${statistics[0]}' is of a BatchNormalization, of which the model has none: its exporter has folded them ` +
        'into other layers, so export it after model.train()',
    );
}

/**
 * A sentence for what neither side takes from the other.
 * @param {readonly ModelParameter[]} parameters @param {Tensors} tensors @param {Map<ModelParameter, Match[]>} found
 */
function leftOver(parameters, tensors, found) {
  const taken = new Set([...found.values()].flatMap((matches) => matches.map(({ tensor }) => tensor.name)));
  const unused = [...tensors.keys()].filter((name) => !taken.has(name));
  const missing = parameters.filter((one) => one.dims.length > 1 && !found.has(one)).map(({ name }) => name);
  return [
    ...(unused.length ? [`weights: the model has no parameter for ${listed(unused)}`] : []),
    ...(missing.length ? [`weights: there is no tensor for ${listed(missing)}: the model's own values stay`] : []),
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
async function floatsIn({ tensor: { file, start, from, to, dtype, dims, count }, turned }) {
  const { buffer } = await file.read(start + from, to - from);
  const data = floatsOf(new DataView(buffer), dtype, 0, count);
  return turned ? transposed(data, dims[0], dims[1]) : data;
}

/** @param {Float32Array<ArrayBuffer>} data @param {number} rows @param {number} columns */
function transposed(data, rows, columns) {
  const turned = new Float32Array(data.length);
  for (let i = 0; i < rows; i++) for (let k = 0; k < columns; k++) turned[k * rows + i] = data[i * columns + k];
  return turned;
}

/** @param {ModelParameter} parameter @param {Match} a @param {Float32Array} x @param {Match} b @param {Float32Array} y @param {Tools} tools */
function checkEqual({ name }, a, x, b, y, { invalid }) {
  if (!x.every((number, i) => Object.is(number, y[i])))
    throw invalid(
      `weights: '${a.tensor.name}' and '${b.tensor.name}' differ, and the model has only '${name}' for both`,
    );
}

/** @param {string} type of the parameter @param {Float32Array<ArrayBuffer>} data */
const bytesAs = (type, data) => new Uint8Array(ARRAYS[type](data).buffer);

/** Of the types that a parameter may have. @type {Record<string, (data: Float32Array<ArrayBuffer>) => { buffer: ArrayBuffer }>} */
const ARRAYS = {
  float32: (data) => data,
  float64: (data) => Float64Array.from(data),
  float16: (data) => Uint16Array.from(data, toHalf),
  bfloat16: (data) => Uint16Array.from(data, toBrain),
};
