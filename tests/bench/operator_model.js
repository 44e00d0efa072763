// A model that holds one operator several times over, so that a run is long beside its call; of each result one element
// is taken, at once, so that its bytes are free for the next.

import {
  attribute,
  graphProto,
  info,
  message,
  nodeProto,
  tensor,
  TYPES,
  valueInfoProto,
} from '../support/onnx-file.js';

/** A name behind its domain: ['com.microsoft', 'Gelu'], ['', 'Add']. */
export function domainAndName(operator) {
  const dot = operator.lastIndexOf('.');
  return [operator.slice(0, Math.max(0, dot)), operator.slice(dot + 1)];
}

/** A node of any number of inputs, '' for those that are absent. */
function node(operator, inputs, outputs, attributes = {}) {
  const [domain, name] = domainAndName(operator);
  return nodeProto({
    input: inputs,
    output: outputs,
    opType: name,
    attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    domain: domain ? [domain] : [],
  });
}
const list = (...numbers) => ({ type: 'int64', dims: [numbers.length], data: BigInt64Array.from(numbers, BigInt) });

/** The first element of a value of so many dims, as a value of one dim or more. */
function corner(value, rank, output, { opset = 18 } = {}) {
  if (!rank) return node('Reshape', [value, 'ones1'], [output]);
  if (opset >= 10) return node('Slice', [value, `zeros${rank}`, `ones${rank}`], [output]);
  return node('Slice', [value], [output], { starts: Array(rank).fill(0), ends: Array(rank).fill(1) });
}

const imports = ([domain], { opset = 18, ml = 3 }) => [
  [8, message([1, ''], [2, opset])],
  ...(domain ? [[8, message([1, domain], [2, domain === 'ai.onnx.ml' ? ml : 1])]] : []),
];

/** Stands in for the input of an operator that has none to be fed. */
const START = ['start', { type: 'float32', dims: [1], data: Float32Array.of(1) }];

/** The names of a row's inputs, and which of them are fed. */
function inputsOf([, inputs]) {
  const names = inputs.map((input, i) => (input ? `in${i}` : ''));
  const given = inputs.flatMap((input, i) => (input ? [[names[i], input]] : []));
  const fed = given.filter(([, input]) => !input.constant);
  return { names, constants: given.filter(([, input]) => input.constant), fed: fed.length ? fed : [START] };
}

/** Rank of each output of a row. */
function ranksOf([, inputs, , { outputs = 1, rank } = {}]) {
  return Array.isArray(outputs) ? outputs : Array(outputs).fill(rank ?? inputs[0]?.dims.length ?? 1);
}

const model = (nodes, [operator, , , more = {}], { constants, fed, outputs }) =>
  message(
    [1, 8],
    [
      7,
      graphProto({
        node: nodes,
        name: 'operator',
        initializer: constants.map(([name, input]) => tensor(name, input)),
        input: fed.map(([name, { type, dims }]) => info(name, TYPES[type], dims)),
        output: outputs.map((name) => valueInfoProto({ name })),
      }),
    ],
    ...imports(domainAndName(operator), more),
  );

/** A row's operator once, with all its outputs or the first `wanted` of them. */
export function wholeModel(row, wanted = Number.POSITIVE_INFINITY) {
  const { names, constants, fed } = inputsOf(row);
  const outputs = ranksOf(row).map((_, k) => `out${k}`);
  const nodes = [node(row[0], names, outputs, row[2])];
  return { bytes: model(nodes, row, { constants, fed, outputs: outputs.slice(0, wanted) }), fed };
}

/**
 * `copies` times a row's operator and the corners of what it gives, joined; or, `without` the operator, as many corners
 * of its first input. Each input that is fed gives a corner besides, so that nobody leaves it where it is.
 */
export function repeatedModel(row, { copies, without = false }) {
  const { names, constants, fed } = inputsOf(row);
  const ranks = ranksOf(row);
  const [first, { dims: firstDims }] = fed[0];
  const nodes = [];
  for (let c = 0; c < copies; c++) {
    const results = ranks.map((_, k) => `y${k}_${c}`);
    if (!without) nodes.push(node(row[0], names, results, row[2]));
    ranks.forEach((rank, k) => {
      const [of, dims] = without ? [first, firstDims.length] : [results[k], rank];
      nodes.push(corner(of, dims, `${results[k]}_corner`, row[3]));
    });
  }
  ranks.forEach((_, k) => {
    const corners = Array.from({ length: copies }, (_, c) => `y${k}_${c}_corner`);
    nodes.push(node('Concat', corners, [`out${k}`], { axis: 0 }));
  });
  fed.forEach(([name, { dims }]) => {
    nodes.push(corner(name, dims.length, `of_${name}`, row[3]));
  });
  const depths = [...new Set([1, ...ranks, ...fed.map(([, { dims }]) => dims.length)])].filter((depth) => depth > 0);
  const corners = depths.flatMap((depth) => [
    [`zeros${depth}`, list(...Array(depth).fill(0))],
    [`ones${depth}`, list(...Array(depth).fill(1))],
  ]);
  const outputs = [...ranks.map((_, k) => `out${k}`), ...fed.map(([name]) => `of_${name}`)];
  return { bytes: model(nodes, row, { constants: [...(without ? [] : constants), ...corners], fed, outputs }), fed };
}
