// Counts the useful multiply-adds of a step: forward, gradients of trainable weights, and of values on whose way a
// trainable weight lies.

const product = (dims) => dims.reduce((a, b) => a * b, 1);

/** Multiply-adds of a node's forward pass; 0 for what is not a product of matrices. */
function macs({ op, inputs, outputs, attributes }, shapes) {
  const out = product(shapes[outputs[0]]);
  if (op === 'Conv') return out * product(shapes[inputs[1]].slice(1));
  if (op === 'Gemm') return out * shapes[inputs[1]][attributes.transB ? 1 : 0];
  if (op === 'ConvTranspose') return product(shapes[inputs[0]]) * product(shapes[inputs[1]].slice(1));
  if (op === 'MatMul') return out * shapes[inputs[0]].at(-1);
  if (op === 'LSTM') return product(shapes[inputs[0]]) * shapes[inputs[1]][1]; // with W; with R: stateMacs
  return 0;
}

/** An LSTM's multiply-adds with R; all states depend on R, so a trained R brings both gradients. */
const stateMacs = ({ op, inputs, outputs }, shapes) =>
  op === 'LSTM' ? product(shapes[outputs[0]]) * shapes[inputs[2]][1] : 0;

/**
 * Millions of floating-point operations; `trains` says whether a weight of this name is trained, `forward` that nothing
 * is.
 */
export function mflopOf({ nodes, weights, shapes }, { trains = () => true, forward = false } = {}) {
  const needsGradient = new Set(forward ? [] : [...weights.keys()].filter(trains));
  let sum = 0;
  for (const node of nodes) {
    const once = macs(node, shapes);
    sum += once * (1 + node.inputs.slice(0, 2).filter((name) => needsGradient.has(name)).length);
    sum += stateMacs(node, shapes) * (needsGradient.has(node.inputs[2]) ? 3 : 1);
    if (node.inputs.some((name) => needsGradient.has(name))) for (const name of node.outputs) needsGradient.add(name);
  }
  return (2 * sum) / 1e6;
}
