/**
 * A layer is a function: called with symbolic tensors, it gives one, and notes the ONNX nodes and the weights that
 * compute it. file.js turns what was noted into a file.
 */

import { checkKeys, checkWhole, invalid, nameOf } from '../base/errors.js';

/** @import { Initializer, InputType } from '../types/layers/index.js' */
/** @import { Attribute } from './onnx.js' */
/** @typedef {readonly (number | null)[]} Dims null: free */
/** @typedef {{ value: Value, shape: Dims, dtype?: InputType }} Result what a layer computes, the batch first */
/** @typedef {(scope: Scope, ...inputs: SymbolicTensor[]) => Result} Build */
/** @typedef {import('../types/layers/index.js').Layer & { state: LayerState }} Layer */
/**
 * @typedef {object} LayerState
 * @property {string} type Keras' name of the class
 * @property {string} title for messages: its name, or Keras' for the class
 * @property {string} [given] the name that the caller gave
 * @property {number} order in which layers were made
 * @property {readonly number[]} takes how many inputs, at least and at most
 * @property {Map<string, Weight>} weights
 * @property {number} [constants] how many of its constants Keras counts as weights
 * @property {Build} build
 *
 * @typedef {{ order: number, layer: LayerState, inputs: readonly SymbolicTensor[] }} Call
 *
 * @typedef {object} Part of a weight, as Keras has it
 * @property {readonly number[]} shape
 * @property {Initializer} initializer
 * @property {readonly number[]} [axes] Keras' axis at each of ONNX's places
 * @property {readonly number[]} [gates] Keras' gate at each of ONNX's places
 * @property {number} [forget] of the biases of so many units, those of the forget gate begin at 1
 *
 * @typedef {object} Weight
 * @property {number} order
 * @property {LayerState} layer
 * @property {string} title for messages
 * @property {string} key
 * @property {readonly number[]} dims
 * @property {boolean} trainable
 * @property {readonly Part[]} parts one after the other
 *
 * @typedef {object} NodeValue an output of a node
 * @property {number} order
 * @property {Call} call
 * @property {string} op
 * @property {readonly (Value | undefined)[]} inputs
 * @property {Record<string, Attribute>} attributes
 * @property {number} at which output it is
 *
 * @typedef {{ order: number, call: Call }} InputValue
 * @typedef {NodeValue | InputValue | Weight} Value
 */

/** Only the order of two counts. */
let made = 0;

export class SymbolicTensor {
  /** @param {Call} call @param {Value} value @param {Dims} shape @param {InputType} dtype */
  constructor(call, value, shape, dtype) {
    this.call = call;
    this.value = value;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
  }
}

/** Keras' name for a layer whose name is not given. @param {string} type */
export const snakeOf = (type) =>
  type
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase();

/**
 * Options with their defaults; others are refused.
 * @template {object} T
 * @param {string} title @param {object | undefined} options @param {T} defaults
 * @returns {T & { name?: string }}
 */
export function optionsOf(title, options, defaults) {
  if (options instanceof SymbolicTensor)
    throw invalid(`${title} wants options, a tensor came: call the layer, as ${title}()(x)`);
  checkKeys(title, options, ['name', ...Object.keys(defaults)]);
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  const all = { name: undefined, ...defaults, ...Object.fromEntries(given) };
  if (all.name !== undefined && !/^[^/]+$/.test(all.name))
    throw invalid(`${title}: a name is a text without '/', not ${nameOf(all.name)}`);
  return all;
}

/**
 * @param {string} type @param {string | undefined} given @param {readonly number[]} takes @param {Build} build
 * @returns {LayerState}
 */
export const stateOf = (type, given, takes, build) => ({
  ...{ type, given, takes, build },
  title: given ?? snakeOf(type),
  order: made++,
  weights: new Map(),
});

/**
 * @template {object} T
 * @param {string} type Keras' name of the class
 * @param {object | undefined} options
 * @param {T} defaults of all options
 * @param {(options: T, title: string) => Build} make checks the options
 * @param {readonly number[]} [takes] how many inputs, at least and at most
 * @returns {Layer}
 */
export function layerOf(type, options, defaults, make, takes = [1, 1]) {
  const title = snakeOf(type);
  const all = optionsOf(title, options, defaults);
  const state = stateOf(type, all.name, takes, make(all, all.name ?? title));
  return Object.assign((/** @type {any[]} */ ...inputs) => apply(state, inputs.flat()), { state });
}

/** @param {LayerState} layer @param {SymbolicTensor[]} inputs @param {string} [title] for messages */
export function apply(layer, inputs, title = layer.title) {
  const [least, most] = layer.takes;
  for (const x of inputs)
    if (!(x instanceof SymbolicTensor))
      throw invalid(`${title} wants tensors as input(…) and other layers give them, ${nameOf(x)} came`);
  if (inputs.length < least || inputs.length > most)
    throw invalid(`${title} wants ${least}${most > least ? ' or more inputs' : ' input'}, ${inputs.length} came`);
  const call = { order: made++, layer, inputs };
  const scope = new Scope(call, title);
  const { value, shape, dtype = inputs[0].dtype } = layer.build(scope, ...inputs);
  const own = 'call' in value && value.call === call ? value : scope.node('Identity', [value]);
  return new SymbolicTensor(call, own, shape, dtype);
}

/** The call of a layer, which notes what it needs. */
export class Scope {
  /** @param {Call} call @param {string} title */
  constructor(call, title) {
    this.call = call;
    this.title = title;
  }

  /**
   * @param {string} op @param {readonly (Value | undefined)[]} inputs
   * @param {Record<string, Attribute>} [attributes] @param {number} [at] which output
   * @returns {NodeValue}
   */
  node(op, inputs, attributes = {}, at = 0) {
    return { order: made++, call: this.call, op, inputs, attributes, at };
  }

  /** A list of whole numbers. @param {readonly number[]} numbers */
  ints(...numbers) {
    return this.node('Constant', [], { value: { dims: [numbers.length], data: BigInt64Array.from(numbers, BigInt) } });
  }

  /** Numbers that never train. @param {readonly number[]} dims @param {readonly number[] | Float32Array} numbers */
  floats(dims, numbers) {
    return this.node('Constant', [], { value: { dims, data: Float32Array.from(numbers) } });
  }

  /**
   * A weight in ONNX's dims: the same at each call of the layer.
   * @param {string} key @param {readonly Part[]} parts
   * @param {readonly number[]} [dims] default: those of the first part
   * @returns {Weight}
   */
  keep(key, parts, dims = parts[0].axes?.map((axis) => parts[0].shape[axis]) ?? parts[0].shape, trainable = true) {
    const { title } = this;
    const { layer } = this.call;
    const before = layer.weights.get(key);
    if (before && `${before.dims}` !== `${dims}`)
      throw invalid(`${title} has a ${key} of (${before.dims.join(', ')}), this call wants (${dims.join(', ')})`);
    const weight = before ?? { order: made++, layer, title, key, dims, trainable, parts };
    layer.weights.set(key, weight);
    return weight;
  }

  /** @param {string} key @param {readonly number[]} shape @param {Initializer} initializer */
  weight(key, shape, initializer, trainable = true) {
    return this.keep(key, [{ shape, initializer }], shape, trainable);
  }

  /** @param {Result} x @param {readonly number[]} order of its axes, the batch's too */
  transpose({ value, shape }, order) {
    return { value: this.node('Transpose', [value], { perm: order }), shape: order.map((axis) => shape[axis]) };
  }

  /** Refuses an input. @param {string} wanted @param {{ shape: Dims }} x @returns {never} */
  refuse(wanted, x) {
    throw invalid(`${this.title} wants ${wanted}, ${shapeText(x)} came`);
  }

  /** A dim of an input that must be a number. @param {Result} x @param {number} axis @param {string} what */
  size(x, axis, what) {
    return x.shape.at(axis) ?? this.refuse(`an input whose number of ${what} is known`, x);
  }

  /**
   * An axis counted from the front.
   * @param {{ shape: Dims }} x @param {number} axis the batch is 0; negative: from the end
   */
  axis(x, axis) {
    const rank = x.shape.length;
    const found = axis < 0 ? axis + rank : axis;
    return x.shape[found] !== undefined && found ? found : this.refuse(`an input that has an axis ${axis}`, x);
  }

  /** @param {SymbolicTensor} x @param {string[]} axes their names, without the batch */
  checkAxes(x, ...axes) {
    if (x.shape.length !== axes.length + 1) this.refuse(`an input of (${axes.join(', ')})`, x);
  }
}

/** Without the batch. @param {{ shape: Dims }} x */
export const shapeText = ({ shape }) =>
  `(${shape
    .slice(1)
    .map((d) => d ?? 'free')
    .join(', ')})`;

/**
 * One number for each axis, from one for all or a list.
 * @param {string} where @param {number | readonly number[]} value @param {number} count @param {number} [least]
 */
export function perAxis(where, value, count, least = 1) {
  const all = Array.isArray(value) ? value : Array(count).fill(value);
  if (all.length !== count) throw invalid(`${where} must be a number or a list of ${count}, not of ${all.length}`);
  for (const one of all) checkWhole(where, one, least);
  return /** @type {number[]} */ (all);
}

/** Refuses a number that is not from 0 up to 1. @param {string} where @param {number} rate */
export function checkRate(where, rate) {
  if (!(rate >= 0 && rate < 1)) throw invalid(`${where} must be from 0 up to 1, not ${nameOf(rate)}`);
}

/** @param {string} where @param {unknown} value @param {readonly unknown[]} known */
export function checkOneOf(where, value, known) {
  if (!known.includes(value)) throw invalid(`${where}: there is no ${nameOf(value)}; there are ${known.join(', ')}`);
}
