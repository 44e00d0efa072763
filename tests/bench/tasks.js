// What is measured: networks, batches, optimizers, and the useful arithmetic of a step (as PEERS.md's table: no gradient towards the input).

import { readFileSync } from 'node:fs';

const golden = new URL('../golden/', import.meta.url);
const recipeOf = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, golden), 'utf8'));

/** Multiply-adds of one example: forward, and backward without the first layer's gradient towards the data. */
const mlpMacs = (...widths) => {
  const layers = widths.slice(1).map((width, i) => width * widths[i]);
  return 3 * layers.reduce((a, b) => a + b) - layers[0];
};
const W2_LAYERS = [28 * 28 * 9 * 32, 14 * 14 * 9 * 32 * 64, 64 * 7 * 7 * 128, 128 * 10];
const mflop = (macs, batch) => (2 * macs * batch) / 1e6;

/** AdamW as in ONNX Runtime's artifacts. */
function mnistRecipe(batch) {
  return {
    fixed: true, batch, loss: 'cross-entropy',
    input: { name: 'input', type: 'float32', dims: [784], seed: 1, low: 0, high: 1 },
    label: { name: 'labels', type: 'int64', dims: [], seed: 2, low: 0, high: 10 },
    optimizer: { type: 'adamw', lr: 1e-3, betas: [0.9, 0.999], eps: 1e-6, weightDecay: 0 },
  };
}

/** `steps` make a round of about a tenth of a second; the first contender of a group is the one ratios are taken to. */
export function tasks(ortBase) {
  const w1 = recipeOf('w1');
  const w2 = recipeOf('w2');
  const mnist = [1, 64].flatMap((batch) => {
    const common = { group: `mnist ${batch}`, recipe: mnistRecipe(batch), mflop: mflop(mlpMacs(784, 500, 10), batch), steps: batch === 1 ? 60 : 25 };
    const what = `MLP 784-500-10, batch ${batch}, AdamW`;
    return [
      { ...common, name: `onnxruntime-web 1.19.2: ${what}`, ort: { base: ortBase, artifacts: 'ort/mnist_web' } },
      { ...common, name: `trainlet: ${what}`, model: 'mlp' },
    ];
  });
  return [
    { group: 'W1', name: 'trainlet: W1', recipe: w1, model: w1.model, mflop: mflop(mlpMacs(784, 512, 256, 10), w1.batch), steps: 15 },
    { group: 'W2', name: 'trainlet: W2', recipe: w2, model: w2.model, mflop: mflop(3 * W2_LAYERS.reduce((a, b) => a + b) - W2_LAYERS[0], w2.batch), steps: 3 },
    ...mnist,
  ];
}
