/**
 * A trial of a model's use on an engine: the results must be the same to the bit from a build that was shrunk
 * for it, and the engine tells which operators it took.
 */

import { createHash } from 'node:crypto';
import { arrayOf, pack, sizeOf } from '../../base/tensor.js';
import { Core } from '../../engine/core.js';
import { instanceFor, seenBy } from '../../engine/engine.js';
import { warn } from '../terminal.js';

/** @import { Kind } from './keep.js' */
/** @import { Outputs, Part, SessionInfo } from '../../engine/protocol.js' */
/** @import { ValueInfo } from '../../types.js' */

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {Part[]} parts of a training directory, or a model alone
 * @property {import('../../engine/protocol.js').ExternalFile[]} external
 * @property {import('../../engine/protocol.js').PackedFeeds} [constants] inputs that are always the same
 */
/**
 * @typedef {object} Wanted
 * @property {(feature: string) => boolean} isKept
 * @property {number[]} sizes of the first dim, where it is free
 * @property {Map<string, number[]>} shapes of inputs by name, whatever the size
 */

/** Two steps: the second begins from moments that are not 0. */
const STEPS = 2;

/**
 * @param {WebAssembly.Module} module
 * @param {Subject} subject
 * @param {Wanted} wanted
 * @returns {Promise<{ outcome: string[], seen: [Kind, string][] }>} `seen`: what it took, if the engine tells
 */
export async function tryOut(module, subject, wanted) {
  const made = await instanceFor({ module, threads: 1 });
  const core = new Core(made.instance, made.pool);
  const { info } = load(core, subject, subject.parts);
  warn(info.warnings);
  const outcome = info.train ? train(core, info, wanted) : infer(core, info, wanted);
  if (info.train && wanted.isKept('save-checkpoint')) {
    const checkpoint = core.save({ optimizerState: true, format: 'trainlet', fit: '' });
    outcome.push(`checkpoint ${hash(checkpoint)}`);
    const others = subject.parts.filter(({ which }) => which !== 'checkpoint');
    const parts = [...others, { which: /** @type {const} */ ('checkpoint'), bytes: checkpoint }];
    const again = await instanceFor({ module, threads: 1 });
    const resumed = new Core(again.instance, again.pool);
    load(resumed, subject, parts);
    outcome.push(...train(resumed, info, { ...wanted, sizes: wanted.sizes.slice(0, 1) }));
  }
  if (info.eval && wanted.isKept('export')) {
    const bytes = core.export({ outputs: undefined, trainingInfo: wanted.isKept('training-info'), types: false });
    outcome.push(`export ${hash(bytes)}`);
  }
  const lines = seenBy(made).split('\n').filter(Boolean);
  return { outcome, seen: lines.map((line) => /** @type {[Kind, string]} */ (line.split(' '))) };
}

/** @param {Core} core @param {Subject} subject @param {Part[]} parts */
const load = (core, { external, constants }, parts) =>
  core.load({ parts, external: [...external], constants, maxMemoryBytes: 0 });

/** @param {Core} core @param {SessionInfo} info @param {Wanted} wanted */
function train(core, info, wanted) {
  const inputs = info.train?.inputs ?? [];
  const outcome = [];
  for (const size of wanted.sizes) {
    const feeds = feedsOf(inputs, size, wanted);
    if (info.outside) outcome.push(stepOutside(core, info.outside.outputs, feeds));
    else if (info.optimizer)
      for (let i = 0; i < STEPS; i++) outcome.push(`loss ${core.step({ feeds: pack(feeds), optimize: true }).loss}`);
    else outcome.push(hashOf(core.run({ graph: 'train', feeds: pack(feeds) })));
    if (info.eval)
      outcome.push(hashOf(core.run({ graph: 'eval', feeds: pack(feedsOf(info.eval.inputs, size, wanted)) })));
  }
  if (wanted.isKept('set-trainable') && info.optimizer && !info.outside) {
    const feeds = feedsOf(inputs, wanted.sizes[0], wanted);
    for (const patterns of [info.parameters.slice(-1).map(({ name }) => name), ['*']]) {
      core.setTrainable(patterns);
      outcome.push(`loss ${core.step({ feeds: pack(feeds), optimize: true }).loss}`);
    }
  }
  return outcome;
}

/**
 * A step whose loss is outside: its gradients are what the outputs are.
 * @param {Core} core @param {string[]} names @param {Feed[]} feeds
 */
function stepOutside(core, names, feeds) {
  const { run, outputs } = core.forward({ feeds: pack(feeds) });
  const gradients = names.map((name) => /** @type {Feed} */ ([name, outputs[name]]));
  const towards = core.backward({ run, gradients: pack(gradients), inputs: [] });
  core.optimize();
  core.resetGrad();
  return hashOf({ ...outputs, ...towards });
}

/** @param {Core} core @param {SessionInfo} info @param {Wanted} wanted */
function infer(core, info, wanted) {
  const feeds = wanted.sizes.map((size) => feedsOf(info.model?.inputs ?? [], size, wanted));
  return feeds.map((it) => hashOf(core.run({ graph: 'model', feeds: pack(it) })));
}

/** @typedef {[string, any]} Feed */

/**
 * The same in every run. @param {readonly ValueInfo[]} inputs @param {number} size @param {Wanted} wanted
 * @returns {Feed[]}
 */
function feedsOf(inputs, size, { shapes }) {
  return inputs.map(({ name, type, dims, sequence, sampleWeight }) => {
    const shape = shapes.get(name) ?? dims.map((d, i) => (typeof d === 'number' ? d : i === 0 ? size : 1));
    const tensor = madeUp(type, shape);
    if (sampleWeight) tensor.data.fill(/** @type {never} */ (1));
    return [name, sequence ? [tensor] : tensor];
  });
}

/**
 * Floats around 0; whole numbers, which may be classes or indices, are 0.
 * @param {string} type @param {number[]} dims
 */
function madeUp(type, dims) {
  if (type === 'string') return { type, data: Array(sizeOf(dims)).fill(''), dims };
  const data = new (arrayOf(type))(sizeOf(dims));
  if (type === 'float32' || type === 'float64') for (let i = 0; i < data.length; i++) data[i] = Math.sin(i * 1.7) / 2;
  return { type, data, dims };
}

/** @param {Uint8Array} bytes */
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

/** @param {Outputs} outputs */
const hashOf = (outputs) =>
  hash(Buffer.from(JSON.stringify(outputs, (_, value) => (ArrayBuffer.isView(value) ? base64(value) : value))));

/** @param {ArrayBufferView} view */
const base64 = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString('base64');
