/** Finds the Softmax or Sigmoid that makes an output probabilities, in the text of the eval program that ran last. */

/** @import { Ask, SessionInfo } from '../engine/protocol.js' */
/** @typedef {'Softmax' | 'Sigmoid' | ''} Activation '': none */

/** Operators that keep or move the elements of their first input, or cut them off within 0 to 1. */
const KEEPS = new Set(
  `Identity Cast CastLike Reshape Flatten Squeeze Unsqueeze Transpose Clip Slice Gather Dropout Expand`.split(' '),
);
const FOUND = new Map(Object.entries({ Softmax: 'Softmax', Sigmoid: 'Sigmoid', HardSigmoid: 'Sigmoid' }));
/** A node's line: `  1  y (4, 3) @0+48 [0, end] = Sigmoid 'last'(z)` */
const NODE = /^ *(?:\d+ +)?(.+?) \([^)]*\)(?: .*)? = (\w+) '.*'\((.*)\)$/;

/** @type {WeakMap<SessionInfo, Map<string, Activation>>} */
const known = new WeakMap();

/**
 * Asks once for each output of a session, after a run that computed it.
 * @param {Ask} ask @param {SessionInfo} info @param {string} output
 * @returns {Promise<Activation | undefined>} undefined: another run came between, so that the text says nothing
 */
export async function activationOf(ask, info, output) {
  const found = known.get(info) ?? new Map();
  known.set(info, found);
  if (!found.has(output)) {
    const activation = activationIn(await ask('graphText', 'eval'), output);
    if (activation === undefined) return undefined;
    found.set(output, activation);
  }
  return found.get(output);
}

/**
 * @param {string} text of a graph @param {string} output
 * @returns {Activation | undefined} undefined: no node makes the output
 */
export function activationIn(text, output) {
  const nodes = new Map();
  for (const [, name, op, inputs] of text.split('\n').flatMap((line) => [NODE.exec(line) ?? []])) {
    if (name !== undefined) nodes.set(name, { op, from: inputs.split(', ')[0] });
  }
  let node = nodes.get(output);
  if (!node) return undefined;
  while (node && KEEPS.has(node.op)) node = nodes.get(node.from);
  return /** @type {Activation} */ (FOUND.get(node?.op) ?? '');
}
