/** A session's LoRA adapter as the folder that Hugging Face's PEFT writes and reads. */

import { checkKeys, invalid, TrainletError } from './errors.js';
import { readSafetensors, writeSafetensors } from './safetensors.js';
import { Tensor } from './tensor.js';

/** @import { AdapterFiles, AdapterSources, ExportAdapterOptions } from './types.js' */
/** @import { TrainingSession } from './session.js' */
/** @import { Floats } from './safetensors.js' */
/**
 * @typedef {{ name: string, kind: 'linear' | 'conv' | 'embedding', weight: string, r: number, alpha: number }} Module
 */
/** @typedef {{ parameter: string, name: string, turned: boolean }} Other what trains beside the adapters */
/**
 * @typedef {{ r: number, alpha: number, dropout: number, rsLora: boolean, bias: string, modules: Module[],
 * others: Other[], modulesToSave: string[] }} Lora as the model's metadata has it
 */
/** @typedef {{ key: string, parameter: string, turned: boolean }} Entry a tensor of the file and its parameter */

const PREFIX = 'base_model.model.';
const TENSORS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';

/** @param {string} where @param {string | undefined} text @returns {Lora} */
function loraIn(where, text) {
  if (text) return JSON.parse(text);
  throw invalid(`${where}: the session has no adapter: make its artifacts with the option lora`);
}

/**
 * The file's tensors, by the names that modules have in PyTorch.
 * @param {Lora} lora @param {TrainingSession} session
 */
function entriesOf({ modules, others }, session) {
  const entries = modules.flatMap(({ name, kind }) =>
    (kind === 'embedding' ? ['lora_embedding_A', 'lora_embedding_B'] : ['lora_A.weight', 'lora_B.weight']).map(
      (end) => ({ key: `${name}.${end}`, parameter: `${name}.${end}`, turned: false }),
    ),
  );
  const adapted = new Set(modules.map(({ name }) => name));
  const rest = others.map(({ name, parameter, turned }) => ({ key: keyOf(name, adapted), parameter, turned }));
  const told = new Set([...entries, ...rest].map(({ parameter }) => parameter));
  const heads = session.parameters.filter(({ name, trainable }) => trainable && !told.has(name));
  return [...entries, ...rest, ...heads.map(({ name }) => ({ key: name, parameter: name, turned: false }))];
}

/** PEFT's layer holds the one that it adapts. @param {string} name @param {Set<string>} adapted */
function keyOf(name, adapted) {
  const dot = name.lastIndexOf('.');
  const module = name.slice(0, dot);
  return adapted.has(module) ? `${module}.base_layer${name.slice(dot)}` : name;
}

/** @param {Floats} matrix @returns {Floats} */
function transposed({ dims: [rows, columns], data }) {
  const turned = Float32Array.from(data, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]);
  return { dims: [columns, rows], data: turned };
}

/**
 * @param {TrainingSession} session @param {string | undefined} metadata @param {ExportAdapterOptions} [options]
 * @returns {Promise<AdapterFiles>}
 */
export async function exportAdapter(session, metadata, options = {}) {
  checkKeys('exportAdapter', options, ['type', 'prefix', 'baseModel']);
  const lora = loraIn('exportAdapter', metadata);
  const { type = 'float32', prefix = '', baseModel = null } = options;
  if (type !== 'float32' && type !== 'float16' && type !== 'bfloat16')
    throw invalid(`exportAdapter: type is 'float32', 'float16' or 'bfloat16', not ${String(type)}`);
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
  const config = JSON.stringify(configOf(lora, prefix, baseModel), null, 2);
  return { [TENSORS]: writeSafetensors(tensors, type), [CONFIG]: new TextEncoder().encode(config) };
}

/** @param {Lora} lora @param {string} prefix @param {string | null} baseModel */
function configOf(lora, prefix, baseModel) {
  const { r, alpha, dropout, rsLora, bias, modules, modulesToSave } = lora;
  const name = (/** @type {Module} */ module) => module.name.slice(prefix.length);
  const others = (/** @type {'r' | 'alpha'} */ key, /** @type {number} */ usual) =>
    Object.fromEntries(modules.filter((one) => one[key] !== usual).map((one) => [`${name(one)}`, one[key]]));
  return {
    peft_type: 'LORA',
    base_model_name_or_path: baseModel,
    task_type: null,
    inference_mode: true,
    r,
    lora_alpha: alpha,
    lora_dropout: dropout,
    target_modules: modules.map(name),
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

/**
 * @param {TrainingSession} session @param {string | undefined} metadata @param {AdapterSources} files
 * @param {typeof import('./source.js').readSource} readSource
 * @returns {Promise<void>}
 */
export async function loadAdapter(session, metadata, files, readSource) {
  const lora = loraIn('loadAdapter', metadata);
  checkKeys('loadAdapter', files, [TENSORS, CONFIG]);
  const { [TENSORS]: model, [CONFIG]: config } = files ?? {};
  if (model === undefined) throw invalid(`loadAdapter: wanted { '${TENSORS}': … }, the file of an adapter`);
  const { tensors } = readSafetensors(await readSource(TENSORS, model, {}), TENSORS);
  if (config !== undefined) checkScales(lora, parsed(await readSource(CONFIG, config, {})));
  const values = matched(entriesOf(lora, session), tensors, session);
  for (const [parameter, { dims, data }] of values)
    await session.setParameter(parameter, new Tensor('float32', data, dims));
}

/** @param {Uint8Array} bytes @returns {Record<string, any>} */
function parsed(bytes) {
  try {
    const config = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (config && typeof config === 'object' && !Array.isArray(config)) return config;
  } catch {
    // told below
  }
  throw new TrainletError('source-unreadable', `${CONFIG}: it is no JSON object`);
}

/**
 * A pattern is a module's name, or its end from a dot on.
 * @param {unknown} patterns @param {string} name @param {number} usual
 */
function numberFor(patterns, name, usual) {
  const found = Object.entries(patterns ?? {}).find(([key]) => name === key || name.endsWith(`.${key}`));
  return found ? Number(found[1]) : usual;
}

/**
 * What a module's branch counts for is no part of the tensors.
 * @param {Lora} lora @param {Record<string, any>} config
 */
function checkScales(lora, config) {
  const scale = (/** @type {number} */ alpha, /** @type {number} */ r, /** @type {boolean} */ rs) =>
    alpha / (rs ? Math.sqrt(r) : r);
  for (const { name, r, alpha } of lora.modules) {
    const theirs = [
      numberFor(config.alpha_pattern, name, config.lora_alpha),
      numberFor(config.rank_pattern, name, config.r),
    ];
    const [ours, wanted] = [scale(alpha, r, lora.rsLora), scale(theirs[0], theirs[1], Boolean(config.use_rslora))];
    if (Math.abs(ours - wanted) > 1e-6 * Math.abs(ours) || theirs[1] !== r)
      throw invalid(
        `loadAdapter: '${name}' has rank ${r} and alpha ${alpha} here, the adapter ${theirs[1]} and ${theirs[0]}: ` +
          `make the artifacts with lora: the adapter's own ${CONFIG}`,
      );
  }
}

/** Without PEFT's prefix. @param {string} key */
const bare = (key) => (key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key);

/**
 * Which tensor each parameter is given: the one of its name, or of one that only lacks or adds what stands before it,
 * as a wrapper's name.
 * @param {Entry[]} entries @param {Map<string, Floats>} tensors @param {TrainingSession} session
 * @returns {Map<string, Floats>}
 */
function matched(entries, tensors, session) {
  const keys = [...tensors.keys()];
  const isEnd = (/** @type {string} */ long, /** @type {string} */ short) =>
    long === short || long.endsWith(`.${short}`);
  /** @type {Map<string, Floats>} */
  const values = new Map();
  const used = new Set();
  for (const { key, parameter, turned } of entries) {
    const exact = keys.find((one) => bare(one) === key);
    const near = exact ? [exact] : keys.filter((one) => isEnd(bare(one), key) || isEnd(key, bare(one)));
    if (near.length !== 1)
      throw invalid(
        near.length
          ? `loadAdapter: '${key}' may be ${near.map((one) => `'${one}'`).join(' or ')}`
          : `loadAdapter: the file has no '${key}'; it has ${listed(keys)}`,
      );
    used.add(near[0]);
    const floats = /** @type {Floats} */ (tensors.get(near[0]));
    const wanted = session.parameters.find(({ name }) => name === parameter)?.dims ?? [];
    const value = turned && floats.dims.length === 2 ? transposed(floats) : floats;
    if (String(value.dims) !== String(wanted))
      throw invalid(`loadAdapter: '${near[0]}' is [${value.dims}], and '${parameter}' is [${wanted}]`);
    values.set(parameter, value);
  }
  const left = keys.filter((one) => !used.has(one));
  if (left.length) throw invalid(`loadAdapter: no module here takes ${listed(left)}`);
  return values;
}

/** @param {string[]} names */
const listed = (names) => `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} others` : ''}`;
