// The backward pass of a row's operator as a model: its nodes are those of the training graph that the package makes;
// the gradients that arrive at the outputs are inputs.

import { Message, textOf } from '../../js/formats/protobuf.js';
import {
  attribute,
  graphProto,
  info,
  message,
  modelProto,
  nodeProto,
  tensor,
  TYPES,
  valueInfoProto,
} from '../support/onnx-file.js';
import { wholeModel } from './operator_model.js';
import { floats } from './operator_rows/inputs.js';

/** Constants of no more floats are settings: nobody trains them. */
const SETTING = 8;
/** Whose gradients come from all outputs; of others only the first one is used. */
const SPLITS = ['Split'];

const node = ({ type, domain = '', inputs, outputs, attributes = [] }) =>
  nodeProto({ input: inputs, output: outputs, opType: type, attribute: attributes, domain: domain ? [domain] : [] });
const nodeOf = (read) => ({
  type: read.text(4),
  domain: read.text(7),
  inputs: read.all(1).map(textOf),
  outputs: read.all(2).map(textOf),
  attributes: read.all(5),
});

/** Inputs that a network trains, or an earlier layer computes. */
const trains = (input) => input?.type === 'float32' && !(input.constant && input.data.length <= SETTING);

/** The nodes that the values need, in order. */
function needed(nodes, values) {
  const names = new Set(values);
  return nodes
    .toReversed()
    .filter(({ inputs, outputs }) => {
      if (!outputs.some((name) => names.has(name))) return false;
      for (const name of inputs) names.add(name);
      return true;
    })
    .toReversed();
}

/**
 * The parts of a row's backward pass: nodes of the forward and of the backward pass, what is fed, and which value is
 * the gradient towards which input. Shapes are those that the training graph tells, for who must have them beforehand.
 * @param {object} library @param {unknown[]} row
 */
export async function gradientOf(library, row) {
  const [operator, inputs, attributes, more] = row;
  const trained = [operator, inputs.map((x) => (trains(x) ? { ...x, constant: true } : x)), attributes, more];
  const wanted = SPLITS.includes(operator) ? more.outputs : 1;
  const { trainModel } = await library.artifacts(wholeModel(trained, wanted).bytes, {
    loss: 'outside',
    requiresGrad: ['in*'],
    batch: 'fixed',
    batchNorm: 'update',
    worker: false,
  });
  const model = new Message(trainModel);
  const graph = model.message(7);
  const nodes = graph.messages(1).map(nodeOf);
  const { inputs: ys, outputs: arriving } = nodes.find(({ type }) => type === 'YieldOp');
  const ends = nodes.filter(({ type }) => type === 'InPlaceAccumulatorV2');
  const constants = nodes.filter(({ type }) => type === 'Constant');
  const forward = needed(nodes, ys).filter((one) => !constants.includes(one));
  const apart = new Set([...forward, ...constants, ...ends]);
  const backward = nodes.filter((one) => !apart.has(one) && one.type !== 'YieldOp');
  const made = new Set(forward.flatMap(({ outputs }) => outputs));
  const kept = [...new Set([...ys, ...backward.flatMap((one) => one.inputs)])].filter((name) => name && made.has(name));
  const { outputs } = await library.outputs(row);
  return {
    opsets: model.all(8),
    shared: [...constants, ...forward],
    backward,
    shapes: new Map(graph.messages(13).map((value) => [value.text(1), value.bytes(2)])),
    kept,
    arriving,
    fed: [
      ...inputs.flatMap((x, i) => (x && (trains(x) || !x.constant) ? [[`in${i}`, { ...x, constant: false }]] : [])),
      ...arriving.map((name, i) => [name, floats(outputs[`out${i}`].dims, -1, 1, 7)]),
    ],
    constants: inputs.flatMap((x, i) => (x?.constant && !trains(x) ? [[`in${i}`, x]] : [])),
    towards: ends.map(({ inputs: [buffer, value] }) => ({
      index: Number(/^in(\d+)_grad/.exec(buffer)[1]),
      value,
    })),
  };
}

const one = (number) => ({ type: 'int64', dims: [1], data: BigInt64Array.of(BigInt(number)) });
/** The first element of a value of any rank. */
const first = (value, output) => [
  { type: 'Reshape', inputs: [value, 'all'], outputs: [`${output}_line`] },
  { type: 'Slice', inputs: [`${output}_line`, 'zero', 'one'], outputs: [output] },
];
/** Suffix of a backward name in a copy. */
const COPY = /@\d+$/;

function model({ opsets, constants, fed, shapes }, nodes, outputs) {
  const made = new Set(nodes.flatMap((from) => from.outputs));
  const told = [...made].flatMap((name) => {
    const type = shapes.get(name.replace(COPY, ''));
    return type ? [message([1, name], [2, type])] : [];
  });
  const listed = [
    ...constants.filter(([name]) => !made.has(name)),
    ['all', one(-1)],
    ['zero', one(0)],
    ['one', one(1)],
  ];
  const graph = graphProto({
    node: nodes.map((from) => node(from)),
    name: 'gradient',
    initializer: listed.map(([name, value]) => tensor(name, value)),
    input: fed.map(([name, { type, dims }]) => info(name, TYPES[type], dims)),
    output: outputs.map((name) => valueInfoProto({ name })),
    valueInfo: told,
  });
  return { bytes: modelProto({ graph, opsetImport: opsets }), fed };
}

/** The backward pass once; its outputs are the gradients, in the order of `towards`. */
export function wholeGradient(parts) {
  const outputs = parts.towards.map((_, i) => `gradient${i}`);
  const ends = parts.towards.map(({ value }, i) => ({ type: 'Identity', inputs: [value], outputs: [outputs[i]] }));
  return model(parts, [...parts.shared, ...parts.backward, ...ends], outputs);
}

/**
 * The forward pass, and `copies` times the backward pass and the first elements of its gradients, joined; or, `without`
 * the backward pass, as many first elements of what arrives.
 */
export function repeatedGradient(parts, { copies, without = false }) {
  const { shared, backward, towards, kept, arriving, fed } = parts;
  const made = new Set(backward.flatMap(({ outputs }) => outputs));
  const nodes = [...shared];
  const ends = towards.map(() => []);
  for (let c = 0; c < copies; c++) {
    const named = (name) => (name && made.has(name) ? `${name}@${c}` : name);
    for (const from of without ? [] : backward)
      nodes.push({ ...from, inputs: from.inputs.map(named), outputs: from.outputs.map(named) });
    towards.forEach(({ value }, i) => {
      ends[i].push(`first${i}_${c}`);
      nodes.push(...first(without ? arriving[0] : named(value), `first${i}_${c}`));
    });
  }
  ends.forEach((names, i) => {
    const attributes = [attribute('axis', 0)];
    nodes.push({ type: 'Concat', inputs: names, outputs: [`firsts${i}`], attributes });
  });
  const seen = [...kept, ...fed.map(([name]) => name)];
  nodes.push(...seen.flatMap((name, i) => first(name, `seen${i}`)));
  return model(parts, nodes, [...ends.map((_, i) => `firsts${i}`), ...seen.map((_, i) => `seen${i}`)]);
}
