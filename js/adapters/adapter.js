/** A session's LoRA adapters: which there are and which is in use; as the folder that Hugging Face's PEFT has. */

import { checkKeys, invalid, nameOf, TrainletError } from '../base/errors.js';
import { Tensor } from '../base/tensor.js';
import { readSafetensors, writeSafetensors } from '../formats/safetensors.js';
import { readSource } from '../sources/source.js';
import { loraIn, nameOfJson, pairOf } from './metadata.js';
import { lackingFor } from './peft-config.js';

/** @import { AdapterFiles, Adapters, AdapterSources, ExportAdapterOptions, PredictOptions } from '../types.js' */
/** @import { Ask, SessionInfo } from '../engine/protocol.js' */
/** @import { FitPosition } from '../fit/position.js' */
/** @import { TrainingSession } from '../session/training.js' */
/** @import { Floats } from '../formats/safetensors.js' */
/** @import { Lora, Module } from './metadata.js' */
/** @typedef {{ key: string, parameter: string, turned: boolean }} Entry a tensor of the file and its parameter */

const PREFIX = 'base_model.model.';
const TENSORS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';
const ONNX = 'adapter.onnx_adapter';

/** @param {Pick<Lora, 'modules'>} lora @returns {Entry[]} by the names of .onnx_adapter files */
const matricesOf = ({ modules }) =>
  modules.flatMap(pairOf).map((name) => ({ key: name, parameter: name, turned: false }));

/** @param {Pick<Lora, 'modules'>} lora */
const adaptedIn = ({ modules }) => new Set(modules.map(({ name }) => name));

/**
 * The file's tensors, by the names that modules have in PyTorch.
 * @param {Lora} lora @param {TrainingSession} session
 */
function entriesOf({ modules, others }, session) {
  const adapted = adaptedIn({ modules });
  const entries = modules.flatMap((module) => {
    const keys = pairOf({ ...module, name: keyOf(module.name, adapted) });
    return pairOf(module).map((parameter, i) => ({ key: keys[i], parameter, turned: false }));
  });
  const rest = others.map(({ name, parameter, turned }) => ({ key: keyOf(name, adapted), parameter, turned }));
  const named = new Set([...entries, ...rest].map(({ parameter }) => parameter));
  const heads = session.parameters.filter(({ name, trainable }) => trainable && !named.has(name));
  return [...entries, ...rest, ...heads.map(({ name }) => ({ key: name, parameter: name, turned: false }))];
}

/** PEFT's layer holds the one that it adapts, with all within. @param {string} name @param {Set<string>} adapted */
const keyOf = (name, adapted) =>
  name.replace(/\./g, (dot, /** @type {number} */ at) => (adapted.has(name.slice(0, at)) ? `.base_layer${dot}` : dot));

/** The adapted module that it is within. @param {string} name @param {Set<string>} adapted */
const holderOf = (name, adapted) => [...adapted].find((module) => name.startsWith(`${module}.`));

/** @param {Floats} matrix @returns {Floats} */
function transposed({ dims: [rows, columns], data }) {
  const turned = Float32Array.from(data, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]);
  return { dims: [columns, rows], data: turned };
}

/**
 * @param {TrainingSession} session @param {Inside} inside @param {ExportAdapterOptions} [options]
 * @returns {Promise<Partial<AdapterFiles> | { [ONNX]: Uint8Array<ArrayBuffer> }>}
 */
export async function exportAdapter(session, inside, options = {}) {
  checkKeys('exportAdapter', options, ['format', 'type', 'prefix', 'baseModel']);
  const lora = loraIn('exportAdapter', inside.lora, session.parameters);
  if (options.format === 'onnx') return await onnxAdapterOf(session, lora, options);
  if (options.format !== undefined && options.format !== 'peft')
    throw invalid(`exportAdapter: format is 'peft' or 'onnx', not ${nameOf(options.format)}`);
  const { type = 'float32', prefix = '', baseModel = null } = options;
  if (type !== 'float32' && type !== 'float16' && type !== 'bfloat16')
    throw invalid(`exportAdapter: type is 'float32', 'float16' or 'bfloat16', not ${nameOf(type)}`);
  if (typeof prefix !== 'string') throw invalid(`exportAdapter: prefix is a string, not ${nameOf(prefix)}`);
  if (baseModel !== null && typeof baseModel !== 'string')
    throw invalid(`exportAdapter: baseModel is a string, not ${nameOf(baseModel)}`);
  const entries = entriesOf(lora, session);
  const stray = entries.find(({ key }) => !key.startsWith(prefix));
  if (stray) throw invalid(`exportAdapter: '${stray.key}' does not begin with the prefix '${prefix}'`);
  /** @type {Map<string, Floats>} */
  const tensors = new Map();
  for (const { key, parameter, turned } of entries) {
    const { data, dims } = await session.getParameter(parameter);
    const floats = { dims: [...dims], data: /** @type {Float32Array} */ (data) };
    tensors.set(PREFIX + key.slice(prefix.length), turned ? transposed(floats) : floats);
  }
  if (type === 'float16') checkHalves(tensors);
  const config = JSON.stringify(configOf(lora, prefix, baseModel), null, 2);
  return { [TENSORS]: writeSafetensors(tensors, type), [CONFIG]: new TextEncoder().encode(config) };
}

/** The largest number of float16 that a float32 may round to, 65504, and half the distance to the next. */
const MOST_HALF = 65520;

/** @param {Map<string, Floats>} tensors */
function checkHalves(tensors) {
  for (const [name, { data }] of tensors) {
    const large = data.findIndex((x) => Number.isFinite(x) && Math.abs(x) >= MOST_HALF);
    if (large >= 0)
      throw invalid(
        `exportAdapter: '${name}' has ${data[large]} at ${large}, more than float16 holds (65504): use another type`,
      );
  }
}

/**
 * The inputs of exportModel({ adapters: 'inputs' }), in which alpha / r is a part of the model.
 * @param {TrainingSession} session @param {Lora} lora @param {ExportAdapterOptions} options
 */
async function onnxAdapterOf(session, lora, { type, prefix, baseModel }) {
  if ([type, prefix, baseModel].some((option) => option !== undefined))
    throw invalid("exportAdapter: type, prefix and baseModel are not for the format 'onnx'");
  const matrices = new Set(matricesOf(lora).map(({ parameter }) => parameter));
  const other = entriesOf(lora, session).find(({ parameter }) => !matrices.has(parameter));
  if (other)
    throw invalid(
      `exportAdapter: '${other.parameter}' trains whole, and is no input of exportModel({ adapters: 'inputs' }): ` +
        "an .onnx_adapter cannot hold it, PEFT's folder can",
    );
  /** @type {Map<string, Floats>} */
  const tensors = new Map();
  for (const name of matrices) {
    const { data, dims } = await session.getParameter(name);
    tensors.set(name, { dims: [...dims], data: /** @type {Float32Array} */ (data) });
  }
  const { writeOnnxAdapter } = await import('./onnx.js');
  return { [ONNX]: writeOnnxAdapter(tensors) };
}

/** @param {Lora} lora @param {string} prefix @param {string | null} baseModel */
function configOf(lora, prefix, baseModel) {
  const { r, alpha, dropout, rsLora, bias, modules, modulesToSave } = lora;
  const name = (/** @type {Module} */ module) => module.name.slice(prefix.length);
  const adapted = adaptedIn(lora);
  const others = (/** @type {'r' | 'alpha'} */ key, /** @type {number} */ usual) =>
    Object.fromEntries(
      modules.filter((module) => module[key] !== usual).map((module) => [`${name(module)}`, module[key]]),
    );
  return {
    peft_type: 'LORA',
    base_model_name_or_path: baseModel,
    task_type: null,
    inference_mode: true,
    r,
    lora_alpha: alpha,
    lora_dropout: dropout,
    target_modules: modules.filter((module) => !holderOf(module.name, adapted)).map(name),
    exclude_modules: null,
    use_rslora: rsLora,
    use_dora: false,
    rank_pattern: others('r', r),
    alpha_pattern: others('alpha', alpha),
    bias,
    fan_in_fan_out: false,
    init_lora_weights: true,
    modules_to_save: modulesToSave.length ? modulesToSave : null,
  };
}

// ── and back ──

/** @param {TrainingSession} session @param {Inside} inside @param {AdapterSources} files */
export async function loadAdapter(session, inside, files) {
  await Promise.all(written(session, await valuesIn(session, inside, files)));
}

/**
 * Finds each parameter's values in the files of an adapter.
 * @param {TrainingSession} session @param {Inside} inside @param {AdapterSources} files
 */
async function valuesIn(session, { lora: metadata }, files) {
  const lora = loraIn('loadAdapter', metadata, session.parameters);
  checkKeys('loadAdapter', files, [TENSORS, CONFIG, ONNX]);
  const { [TENSORS]: model, [CONFIG]: config, [ONNX]: onnx } = files ?? {};
  if ((model === undefined) === (onnx === undefined))
    throw invalid(`loadAdapter: wanted { '${TENSORS}': … } or { '${ONNX}': … }, the file of an adapter`);
  if (config !== undefined) await checkScales(lora, parsed(await readSource(CONFIG, config, {})));
  if (model) {
    const { tensors } = readSafetensors(await readSource(TENSORS, model, {}), TENSORS);
    checkPrefix([...tensors.keys()]);
    return matched(entriesOf(lora, session), tensors, session);
  }
  const { readOnnxAdapter } = await import('./onnx.js');
  const tensors = readOnnxAdapter(await readSource(ONNX, /** @type {any} */ (onnx), {}), ONNX);
  return matched(matricesOf(lora), tensors, session);
}

// ── several over one base ──

/**
 * @typedef {{ ask: Ask, info: SessionInfo, lora?: string, position: () => Partial<FitPosition> | undefined }} Inside
 * `position`: that of the session's fit; none while it runs
 */

/** @param {Adapters} adapters @returns {Adapters} */
const frozen = ({ names, active }) => Object.freeze({ names: Object.freeze(names), active: Object.freeze(active) });

/** @param {string} where @param {unknown} name @returns {string} */
function nameIn(where, name) {
  if (typeof name === 'string' && name && !name.includes('\0')) return name;
  throw invalid(`${where}: wanted the name of an adapter, not ${nameOf(name)}`);
}

/** @param {TrainingSession} session @param {Inside} inside @param {string} name @param {AdapterSources} [files] */
export async function addAdapter(session, inside, name, files) {
  const { ask } = inside;
  nameIn('addAdapter', name);
  const values = files ? await valuesIn(session, inside, files) : new Map();
  await ask('tell', ['add_adapter', name]);
  const lent = () => [ask('tell', ['lend_adapter', name]), ...written(session, values), returned(ask)];
  if (values.size) await Promise.all(lent());
  const { names, active } = session.adapters;
  session.adapters = frozen({ names: [...names, name], active });
}

/** @param {Ask} ask */
const returned = (ask) => ask('tell', ['return_adapter']);

/** Asks for it at once. @param {TrainingSession} session @param {Map<string, Floats>} values */
const written = (session, values) =>
  [...values].map(([name, { dims, data }]) => session.setParameter(name, new Tensor('float32', data, dims)));

/**
 * @param {TrainingSession} session @param {Inside} inside
 * @param {string | null | Readonly<Record<string, number>>} adapter
 */
export async function useAdapter(session, { ask, info, lora, position: positionOf }, adapter) {
  const isSum = typeof adapter === 'object' && adapter !== null;
  const active = isSum ? { ...adapter } : adapter === null ? null : nameIn('useAdapter', adapter);
  const values = isSum ? await sumOf('useAdapter', session, { ask, info, lora }, { ...adapter }) : new Map();
  const position = positionOf();
  if (!position) throw invalid('useAdapter: a fit of this session is running already');
  const use = ask('tell', ['use_adapter', typeof adapter === 'string' ? adapter : 0]);
  await Promise.all([use, ...written(session, values)]);
  await ask('dropGrad', undefined);
  position.saved = undefined; // left by a fit that was cut short, with another adapter
  session.adapters = frozen({ names: session.adapters.names, active });
}

/**
 * Asks with another adapter, or a sum of some, in the place of the one in use, nothing coming in between.
 * @param {TrainingSession} session @param {Pick<Inside, 'ask' | 'info'>} inside
 * @param {NonNullable<PredictOptions['adapter']> | null} adapter
 * @returns {Ask}
 */
export function lending(session, { ask, info }, adapter) {
  const inside = { ask, info, lora: info.eval?.lora };
  const isSum = typeof adapter === 'object' && adapter !== null;
  /** @type {ReturnType<typeof sumOf> | undefined} */
  let sum;
  const asking = async (/** @type {Parameters<Ask>} */ ...args) => {
    if (isSum) sum ??= sumOf('adapter', session, inside, { ...adapter });
    const values = sum ? await sum : new Map();
    const lend = ask('tell', ['lend_adapter', isSum || adapter === null ? 0 : String(adapter)]);
    const lent = [lend, ...written(session, values)];
    const answer = ask(...args);
    await Promise.all([...lent, answer, returned(ask)]);
    return await answer;
  };
  return /** @type {any} */ (asking);
}

/** @param {TrainingSession} session @param {Inside} inside @param {string} name */
export async function deleteAdapter(session, { ask }, name) {
  await ask('tell', ['delete_adapter', nameIn('deleteAdapter', name)]);
  const { names, active } = session.adapters;
  session.adapters = frozen({ names: names.filter((other) => other !== name), active });
}

/**
 * The parameters of a weighted sum of adapters.
 * @param {string} where @param {TrainingSession} session @param {Pick<Inside, 'ask' | 'info' | 'lora'>} inside
 * @param {Record<string, number>} weights
 * @returns {Promise<Map<string, Floats>>}
 */
async function sumOf(where, session, { ask, info, lora }, weights) {
  const { modules } = loraIn(where, lora, session.parameters);
  const wrong = Object.entries(weights).find(([, weight]) => !Number.isFinite(weight));
  if (wrong) throw invalid(`${where}: the weight of '${wrong[0]}' is a number, not ${nameOf(wrong[1])}`);
  if (!Object.keys(weights).length) throw invalid(`${where}: a sum is of at least one adapter, { name: weight }`);
  const indices = /** @type {number[]} */ (info.adapted);
  /** @param {string | 0} adapter */
  const valuesOf = async (adapter) => {
    const lend = ask('tell', ['lend_adapter', adapter]);
    const values = indices.map((index) => ask('getParameter', index));
    await Promise.all([lend, ...values, returned(ask)]);
    return (await Promise.all(values)).map(({ data }) => /** @type {Float32Array} */ (data));
  };
  const [first, ...each] = await Promise.all([valuesOf(0), ...Object.keys(weights).map(valuesOf)]);
  const { sumOfRank, sumOfValues } = await import('./sum.js');
  const numbers = Object.values(weights);
  const at = new Map(indices.map((index, i) => [info.parameters[index].name, i]));
  const of = (/** @type {string} */ name) => each.map((values) => values[/** @type {number} */ (at.get(name))]);
  const sums = new Map(
    [...at].map(([name, i]) => {
      const dims = session.parameters[indices[i]].dims;
      return [name, { dims: [...dims], data: sumOfValues(first[i], of(name), numbers) }];
    }),
  );
  for (const module of modules) {
    const [a, b] = pairOf(module);
    const pairs = of(a).map((matrix, i) => ({ a: matrix, b: of(b)[i] }));
    const sum = sumOfRank(pairs, numbers, module.r);
    Object.assign(/** @type {Floats} */ (sums.get(a)), { data: sum.a });
    Object.assign(/** @type {Floats} */ (sums.get(b)), { data: sum.b });
  }
  return sums;
}

/** @param {Uint8Array} bytes @returns {Record<string, any>} */
function parsed(bytes) {
  try {
    const config = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    if (config && typeof config === 'object' && !Array.isArray(config)) return config;
  } catch {
    // refused below
  }
  throw new TrainletError('source-unreadable', `${CONFIG}: it is no JSON object`);
}

/** Entries that choose modules, which the tensors' names show. */
const CHOOSE = ['layers_to_transform', 'layers_pattern'];

/** @param {string} key @param {unknown} value of a configuration */
function numberIn(key, value) {
  if (Number.isFinite(value)) return /** @type {number} */ (value);
  throw invalid(`loadAdapter: ${CONFIG}: ${key} is ${nameOfJson(value)}, not a number`);
}

/**
 * The number of each module, the usual one where no pattern matches its name.
 * @param {'rank_pattern' | 'alpha_pattern'} key @param {Record<string, any>} config @param {string[]} names
 * @param {number} usual
 * @returns {Promise<(name: string) => number>}
 */
async function numbersBy(key, { [key]: patterns = {} }, names, usual) {
  if (!Object.keys(patterns).length) return () => usual;
  const { entriesFor } = await import('./options.js');
  const entries = entriesFor(patterns, names, (why) => invalid(`loadAdapter: ${CONFIG}: ${key} ${why}`));
  return (name) => {
    const found = entries.get(name) ?? entries.get(holderOf(name, new Set(names)) ?? name);
    return found ? numberIn(`${key}['${found[0]}']`, found[1]) : usual;
  };
}

/**
 * Refuses what PEFT makes no adapter of: lists that choose no module here, or one that trains whole beside it.
 * @param {Lora} lora @param {Record<string, any>} config
 */
function checkChoice({ modules }, { target_modules: targets, exclude_modules: excluded, modules_to_save: saved }) {
  const has = (/** @type {unknown} */ ends, /** @type {string} */ name) =>
    Array.isArray(ends) && ends.some((end) => isEnd(name, end) || isEnd(end, name));
  if (Array.isArray(targets) && !modules.some(({ name }) => has(targets, name) && !has(excluded, name)))
    throw invalid(`loadAdapter: ${CONFIG}: target_modules names no module that is here: ${modules[0]?.name}, …`);
  const whole = [saved ?? []].flat();
  const twice = modules.find(({ name }) => whole.some((end) => name.endsWith(end)));
  if (twice) throw invalid(`loadAdapter: ${CONFIG}: modules_to_save has '${twice.name}', which has an adapter`);
}

/**
 * Compares the scales of the modules' branches, which the tensors do not contain.
 * @param {Lora} lora @param {Record<string, any>} config
 */
async function checkScales(lora, config) {
  const lacking = lackingFor(config, CHOOSE);
  if (lacking) throw invalid(`loadAdapter: ${CONFIG}: ${lacking}`);
  const { r: usualRank = 8, lora_alpha: usualAlpha = 8 } = config; // PEFT's defaults
  const names = lora.modules.map(({ name }) => name);
  const rankOf = await numbersBy('rank_pattern', config, names, usualRank);
  const alphaOf = await numbersBy('alpha_pattern', config, names, usualAlpha);
  const scale = (/** @type {number} */ alpha, /** @type {number} */ r, /** @type {boolean} */ rs) =>
    alpha / (rs ? Math.sqrt(r) : r);
  checkChoice(lora, config);
  for (const { name, r, alpha } of lora.modules) {
    const [theirRank, theirAlpha] = [rankOf(name), alphaOf(name)];
    const [ours, wanted] = [scale(alpha, r, lora.rsLora), scale(theirAlpha, theirRank, Boolean(config.use_rslora))];
    if (!(Math.abs(ours - wanted) <= 1e-6 * Math.abs(ours)) || theirRank !== r)
      throw invalid(
        `loadAdapter: '${name}' has rank ${r} and alpha ${alpha} here, the adapter ${theirRank} and ${theirAlpha}: ` +
          `make the artifacts with lora: the adapter's own ${CONFIG}`,
      );
  }
}

/** PEFT's files have it in all names, others in none. @param {string[]} keys */
function checkPrefix(keys) {
  const without = keys.filter((key) => !key.startsWith(PREFIX));
  if (without.length && without.length < keys.length)
    throw invalid(`loadAdapter: the name '${without[0]}' does not begin with '${PREFIX}', as the others do`);
}

/** @param {string} long @param {string} short */
const isEnd = (long, short) => long === short || long.endsWith(`.${short}`);

/** Without PEFT's prefix. @param {string} key */
const bare = (key) => (key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key);

/**
 * The tensor of each parameter: the one of its name, or of a name that only lacks or adds a prefix,
 * as a wrapper's name.
 * @param {Entry[]} entries @param {Map<string, Floats>} tensors @param {TrainingSession} session
 * @returns {Map<string, Floats>}
 */
function matched(entries, tensors, session) {
  const keys = [...tensors.keys()];
  /** @type {Map<string, Floats>} */
  const values = new Map();
  const used = new Set();
  const dims = new Map(session.parameters.map((parameter) => [parameter.name, parameter.dims]));
  for (const { key, parameter, turned } of entries) {
    const exact = keys.find((other) => bare(other) === key);
    const near = exact ? [exact] : keys.filter((other) => isEnd(bare(other), key) || isEnd(key, bare(other)));
    if (near.length !== 1)
      throw invalid(
        near.length
          ? `loadAdapter: '${key}' may be ${near.map((other) => `'${other}'`).join(' or ')}`
          : `loadAdapter: the file has no '${key}'; it has ${listed(keys)}`,
      );
    used.add(near[0]);
    const floats = /** @type {Floats} */ (tensors.get(near[0]));
    const wanted = dims.get(parameter);
    const value = turned && floats.dims.length === 2 ? transposed(floats) : floats;
    if (String(value.dims) !== String(wanted))
      throw invalid(`loadAdapter: '${near[0]}' is [${value.dims}], and '${parameter}' is [${wanted}]`);
    values.set(parameter, value);
  }
  const left = keys.filter((key) => !used.has(key));
  if (left.length) throw invalid(`loadAdapter: no module here takes ${listed(left)}`);
  return values;
}

/** @param {string[]} names */
const listed = (names) => `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} others` : ''}`;
