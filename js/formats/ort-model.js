/**
 * ONNX Runtime's own format of models (.ort: FlatBuffers, identifier ORTM), made of an ONNX file in which the engine
 * has told the type of every value. Field numbers: ONNX's onnx.proto, ONNX Runtime's ort.fbs.
 *
 *   InferenceSession ─▶ Model ─▶ Graph ─▶ initializers, node_args (types of values), nodes, edges between these
 *                    ─▶ resolver: by the types of which inputs and outputs a kernel is found
 */

import { TrainletError } from '../base/errors.js';
import { flatFile, float32, int8, int32, int64, list, table, text, vector } from './flatbuffer.js';
import { operatorOf } from './ort-operators.js';
import { Message, textOf } from './protobuf.js';

/** @import { Artifacts, ExportOptions } from '../types.js' */
/** @import { Field } from './flatbuffer.js' */
/** @import { Operator } from './ort-operators.js' */
/**
 * @typedef {object} Node
 * @property {Message[]} attributes
 * @property {number} index
 * @property {string} name
 * @property {string} domain
 * @property {string} type
 * @property {string[]} inputs
 * @property {string[]} outputs
 * @property {Operator} operator
 * @property {string} [like] the value whose type its output has, where the model tells none
 */

/** The first with the resolver; later ones add what our files do not have. */
const FORMAT_VERSION = '5';
const STRING = 8;
const [FLOAT, INT, TEXT, TENSOR, FLOATS, INTS, TEXTS] = [1, 2, 3, 4, 6, 7, 8];
/** In ONNX Runtime's Attribute. @type {Record<number, number>} */
const FIELD_OF_KIND = { [FLOAT]: 3, [INT]: 4, [TEXT]: 5, [TENSOR]: 6, [FLOATS]: 8, [INTS]: 9, [TEXTS]: 10 };
const ALIGNMENT = 16;

/** @param {Uint8Array} onnx @returns {Uint8Array<ArrayBuffer>} */
export function ortFormatOf(onnx) {
  const model = new Message(onnx);
  const graph = /** @type {Message} */ (model.message(7));
  const opsets = model.messages(8).map((opset) => ({ domain: opset.text(1), version: Number(opset.number(2)) }));
  const messages = graph.messages(1);
  const versionOf = (/** @type {string} */ domain) => opsets.find((opset) => opset.domain === domain)?.version ?? 1;
  const taken = namesOf(graph, messages);
  const nodes = messages
    .filter((node) => node.text(4) !== 'Constant')
    .flatMap((node) => nodesOf(node, versionOf(node.text(7)), taken))
    .map((node, index) => ({ ...node, index }));
  const tensors = [...graph.messages(5), ...constantsOf(messages)];
  const used = opsets.filter(({ domain }) => !domain || nodes.some((node) => node.domain === domain));
  const root = table(
    text(FORMAT_VERSION),
    table(
      int64(model.number(1)),
      list(used.map(({ domain, version }) => table(text(domain), int64(BigInt(version))))),
      text('trainlet'),
      undefined,
      undefined,
      undefined,
      undefined,
      graphOf(graph, nodes, tensors),
      undefined,
      list(model.messages(14).map((entry) => table(text(entry.text(1)), text(entry.text(2))))),
    ),
    undefined,
    resolverOf(nodes),
  );
  return flatFile('ORTM', root, onnx.length + 1024 * (1 + nodes.length));
}

/**
 * The same training, its models in this format.
 * @param {Artifacts} made
 * @returns {Artifacts}
 */
export function artifactsOf(made) {
  const { trainModel, evalModel, optimizerModel } = made;
  return {
    ...made,
    trainModel: ortFormatOf(trainModel),
    evalModel: ortFormatOf(evalModel),
    optimizerModel: ortFormatOf(optimizerModel),
  };
}

/**
 * Converts an exported model to the requested format.
 * @param {Uint8Array<ArrayBuffer>} model
 * @param {ExportOptions} options
 */
export function inFormat(model, { format, trainingInfo }) {
  if (format === 'onnx') return model;
  if (format === 'ort' && !trainingInfo) return ortFormatOf(model);
  const came = typeof format === 'string' ? `'${format}'` : typeof format;
  throw new TrainletError(
    'invalid-argument',
    `exportModel: the format is 'onnx' or, without trainingInfo, 'ort', not ${came}`,
  );
}

/** @param {Message} graph @param {Message[]} nodes @returns {Set<string>} */
const namesOf = (graph, nodes) =>
  new Set([
    ...nodes.flatMap((node) => node.all(2).map(textOf)),
    ...graph.messages(5).map(nameOf),
    ...graph.messages(11).map((input) => input.text(1)),
  ]);

/**
 * @param {Message} message
 * @param {number} version of its domain's opset
 * @param {Set<string>} taken names of the graph's values
 * @returns {Node[]}
 */
function nodesOf(message, version, taken) {
  const [name, type, domain] = [message.text(3), message.text(4), message.text(7)];
  const [inputs, outputs] = [message.all(1).map(textOf), message.all(2).map(textOf)];
  if (type === 'HardSwish' && !domain) return hardSwish(name, inputs, outputs, version, taken);
  const operator = operatorOf(domain, type, version);
  if (!operator) throw lacking(name, domain, type);
  return [{ attributes: message.messages(5), index: 0, name, domain, type, inputs, outputs, operator }];
}

/**
 * y = x · HardSigmoid(x): ONNX Runtime has no kernel of its own for it, as it has for the pieces.
 * @param {string} name @param {string[]} inputs @param {string[]} outputs @param {number} version
 * @param {Set<string>} taken
 * @returns {Node[]}
 */
function hardSwish(name, [x], [y], version, taken) {
  const node = { attributes: [], index: 0, name, domain: '' };
  const [sigmoid, mul] = ['HardSigmoid', 'Mul'].map((type) => /** @type {Operator} */ (operatorOf('', type, version)));
  const defaults = new Map([
    ['alpha', String(1 / 6)],
    ['beta', '0.5'],
  ]);
  let gate = `${y}/gate`;
  while (taken.has(gate)) gate += '_';
  taken.add(gate);
  return [
    {
      ...node,
      name: gate,
      type: 'HardSigmoid',
      inputs: [x],
      outputs: [gate],
      operator: { ...sigmoid, defaults },
      like: y,
    },
    { ...node, type: 'Mul', inputs: [x, gate], outputs: [y], operator: mul },
  ];
}

/** @param {string} node @param {string} domain @param {string} type */
const lacking = (node, domain, type) =>
  new TrainletError(
    'unsupported-op',
    `an .ort file is for ONNX Runtime, which has no kernel for ` +
      `${domain ? `${domain}'s ` : ''}${type} ('${node}'): ONNX can have it`,
    { node },
  );

/** Constants are initializers here. @param {Message[]} nodes */
const constantsOf = (nodes) =>
  nodes
    .filter((node) => node.text(4) === 'Constant')
    .map((node) => Object.assign(/** @type {Message} */ (node.messages(5)[0].message(5)), { named: node.text(2) }));

// ── values ──

/** @param {Message} graph @param {Node[]} nodes @param {Message[]} tensors */
function graphOf(graph, nodes, tensors) {
  const [inputs, outputs] = [graph.messages(11), graph.messages(12)];
  /** @type {Map<string, Field | undefined>} */
  const types = new Map();
  for (const value of [...inputs, ...outputs, ...graph.messages(13)])
    types.set(value.text(1), typeOf(value.message(2)));
  for (const tensor of tensors) types.set(nameOf(tensor), typeOfTensor(tensor));
  for (const { like, outputs } of nodes) if (like) types.set(outputs[0], types.get(like));
  const absent = nodes.some((node) => [...node.inputs, ...node.outputs].includes(''));
  if (absent) types.set('', undefined);
  checkTypes(nodes, types);
  const names = (/** @type {Message[]} */ values) => list(values.map((value) => text(value.text(1))));
  return table(
    list(tensors.map(tensorOf)),
    list([...types].map(([name, type]) => table(text(name), undefined, type))),
    list(nodes.map(nodeTable)),
    int32(nodes.length),
    edgesOf(nodes),
    names(inputs),
    names(outputs),
  );
}

/** @param {Node[]} nodes @param {Map<string, Field | undefined>} types */
function checkTypes(nodes, types) {
  for (const { name, outputs } of nodes)
    for (const output of outputs)
      if (!types.has(output))
        throw new TrainletError(
          'unsupported-op',
          `an .ort file tells the type of every value, and '${output}' of '${name}' gets one only when it is run: ` +
            'ONNX can have it',
          { node: name },
        );
}

/** A tensor or a sequence of tensors. @param {Message} [type] @returns {Field} */
function typeOf(type) {
  const tensor = type?.message(1);
  if (!tensor) return table(undefined, int8(2), table(typeOf(type?.message(4)?.message(1))));
  const dims = tensor.message(2)?.messages(1);
  return tensorType(Number(tensor.number(1)), dims && list(dims.map(dimOf)));
}

/** @param {Message} dim of ONNX: a number, a name or neither */
function dimOf(dim) {
  const name = dim.bytes(2);
  if (name) return dimTable(2, 0n, name);
  return /** @type {bigint | undefined} */ (dim.numbers(1)[0]) === undefined
    ? dimTable(0, 0n)
    : dimTable(1, dim.number(1));
}

/** @param {number} kind @param {bigint} number @param {Uint8Array} [name] */
const dimTable = (kind, number, name) => table(table(int8(kind), int64(number), name && text(name)));

/** @param {number} element @param {Field} [dims] */
const tensorType = (element, dims) => table(undefined, int8(1), table(int32(element), dims && table(dims)));

/** @param {Message} tensor */
const typeOfTensor = (tensor) =>
  tensorType(Number(tensor.number(2)), list(tensor.numbers(1).map((dim) => dimTable(1, dim))));

/** @param {Message & { named?: string }} tensor */
const nameOf = (tensor) => tensor.named ?? tensor.text(8);

/** @param {Message} tensor whose numbers are raw */
function tensorOf(tensor) {
  const [dims, type] = [BigInt64Array.from(tensor.numbers(1)), Number(tensor.number(2))];
  const raw = tensor.bytes(9) ?? new Uint8Array();
  return table(
    text(nameOf(tensor)),
    undefined,
    vector(dims, dims.length, 8),
    int32(type),
    type === STRING ? undefined : vector(raw, raw.length, ALIGNMENT),
    type === STRING ? list(tensor.all(6).map(text)) : undefined,
  );
}

// ── nodes ──

/** @param {Node} node */
function nodeTable({ attributes, index, name, domain, type, inputs, outputs, operator }) {
  const present = attributes.map((attribute) => ({ name: attribute.text(1), field: attributeOf(attribute) }));
  const left = [...operator.defaults].filter(([key]) => !present.some(({ name }) => name === key));
  const last = operator.inputs.length - 1;
  const counts = operator.inputs.map((_, i) =>
    operator.takesAny && i === last ? inputs.length - last : Number(i < inputs.length),
  );
  return table(
    text(name),
    undefined,
    text(domain),
    int32(operator.since),
    int32(index),
    text(type),
    int32(0),
    text(''),
    list(inputs.map(text)),
    list(outputs.map(text)),
    list([...present.map(({ field }) => field), ...left.map(([key, value]) => defaultOf(key, value))]),
    vector(Int32Array.from(counts), counts.length),
    list([]),
  );
}

/** @param {Message} from */
function attributeOf(from) {
  const kind = Number(from.number(20));
  const [floats, ints] = [Float32Array.from(from.floats(7)), BigInt64Array.from(from.numbers(8))];
  const content = {
    [FLOAT]: () => float32(from.float(2)),
    [INT]: () => int64(from.number(3)),
    [TEXT]: () => text(from.bytes(4) ?? ''),
    [TENSOR]: () => tensorOf(/** @type {Message} */ (from.message(5))),
    [FLOATS]: () => vector(floats, floats.length),
    [INTS]: () => vector(ints, ints.length, 8),
    [TEXTS]: () => list(from.all(9).map(text)),
  }[kind];
  if (!content) throw new TrainletError('internal', `attribute '${from.text(1)}' is of kind ${kind}`);
  return attributeTable(from.text(1), kind, content());
}

/** @param {string} name @param {number} kind @param {Field} content */
const attributeTable = (name, kind, content) =>
  table(text(name), undefined, int32(kind), ...Array(FIELD_OF_KIND[kind] - 3), content);

/** @param {string} name @param {string} value a whole number, a number with a point, text, or a list in brackets */
function defaultOf(name, value) {
  const entries = value.startsWith('[') ? value.slice(1, -1).split(';') : undefined;
  const isText = (entries ?? [value]).some((entry) => Number.isNaN(Number(entry)));
  if (entries && isText) return attributeTable(name, TEXTS, list(entries.map(text)));
  if (isText) return attributeTable(name, TEXT, text(value));
  const ints = entries && BigInt64Array.from(entries, BigInt);
  if (ints) return attributeTable(name, INTS, vector(ints, ints.length, 8));
  const isInt = /^-?\d+$/.test(value);
  return isInt ? attributeTable(name, INT, int64(BigInt(value))) : attributeTable(name, FLOAT, float32(Number(value)));
}

/** The edges between nodes; both ends list an edge. @param {Node[]} nodes */
function edgesOf(nodes) {
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((name, output) => [name, { node, output }])));
  const [into, from] = [nodes, nodes].map((all) => all.map(() => /** @type {number[]} */ ([])));
  for (const { index, inputs } of nodes)
    inputs.forEach((name, input) => {
      const maker = name ? makers.get(name) : undefined;
      if (!maker) return;
      into[index].push(maker.node.index, maker.output, input);
      from[maker.node.index].push(index, maker.output, input);
    });
  const ends = (/** @type {number[]} */ numbers) => vector(Int32Array.from(numbers), numbers.length / 3);
  return list(nodes.map(({ index }) => table(int32(index), ends(into[index]), ends(from[index]))));
}

// ── the resolver ──

/** Both lists are sorted, for readers search them. @param {Node[]} nodes */
function resolverOf(nodes) {
  const used = new Map(nodes.map((node) => [`${node.domain}:${node.type}:${node.operator.since}`, node.operator]));
  return table(sorted([...used].map(([id, operator]) => [id, sorted(constraintsOf(operator))])));
}

/** @param {[string, Field][]} entries */
const sorted = (entries) =>
  list(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => table(text(key), field)));

/** @param {Operator} operator @returns {[string, Field][]} */
function constraintsOf({ inputs, outputs }) {
  /** @type {Map<string, Field[]>} */
  const found = new Map();
  [inputs, outputs].forEach((names, side) => {
    names.forEach((name, i) => {
      found.set(name, [...(found.get(name) ?? []), table(int8(side), int32(i))]);
    });
  });
  return [...found].map(([name, args]) => [name, list(args)]);
}
