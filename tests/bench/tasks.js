// Measured tasks: a network, a batch, an optimizer; each row is what PyTorch users would train in a tab.

import { batchTensor } from '../support/recipe.js';
import { mflopOf } from './models/arithmetic.js';
import { cnn, conv1d, gpt, lstm, mlp, mobileNetV2, unet } from './models/networks.js';
import { ZOO } from './models/zoo.js';

const lr = 1e-3; // the only one that onnxruntime-web 1.19.2 knows
const sgd = { type: 'sgd', lr };
const adam = { type: 'adam', lr, betas: [0.9, 0.999], eps: 1e-8 };
const adamw = { ...adam, type: 'adamw', weightDecay: 0.01 };
const HEAD = ['classifier.*'];
const GPT4 = { width: 256, blocks: 4, tokens: 128 };

/** name → [what it is, network, optimizer, more]. `trainable`: globs, all weights without; `forward`: no training at
 * all; `checked`: so many first losses must agree, all without. */
const ROWS = {
  W1: ['MLP 784-512-256-10, batch 64, SGD', () => mlp(64), sgd],
  W2: ['CNN 32-64-128-10 on 28×28, batch 64, Adam', () => cnn(64), adam],
  W3: ['GPT 128×2, 64 tokens, batch 16, AdamW', () => gpt(16), adamw],
  W4: ['MobileNetV2 96×96, head only, batch 8, SGD', () => mobileNetV2(8), sgd, { trainable: HEAD }],
  // its input off by 1e-7, the fifth loss is off by 0.5 %
  'W4-full': ['MobileNetV2 96×96, all weights, batch 8, SGD', () => mobileNetV2(8), sgd, { checked: 3 }],
  'W4-forward': ['MobileNetV2 96×96, inference, batch 8', () => mobileNetV2(8), sgd, { forward: true }],
  C1D: ['Conv1d 64…128 channels, length 1,024, batch 64, Adam', () => conv1d(64), adam],
  LSTM: ['LSTM 256, 128 steps, batch 16, Adam', () => lstm(16), adam],
  UNET: ['U-Net 32-64 channels, GroupNorm, GELU, 64×64, batch 4, AdamW', () => unet(4), adamw],
  GPT4: ['GPT 256×4, 128 tokens, batch 4, AdamW', () => gpt(4, GPT4), adamw],
  'GPT4-lora': [
    'the same, LoRA of rank 8 on all linear layers but the head',
    () => gpt(4, { ...GPT4, rank: 8 }),
    adamw,
    { trainable: ['*.lora_A.weight', '*.lora_B.weight'] },
  ],
  'W1-1': ['MLP 784-512-256-10, batch 1, SGD', () => mlp(1), sgd],
  'ORT-1': ['MLP 784-500-10, batch 1, AdamW', () => mlp(1, [784, 500, 10]), adamw],
  'ORT-64': ['MLP 784-500-10, batch 64, AdamW', () => mlp(64, [784, 500, 10]), adamw],
};

/** Rows of --models: each zoo network, and a step of it. */
export const stepOf = (name) => `${name}-step`;
const LEARNED = ['*.weight', '*.bias'];
const STEP_BATCH = 4;
const MODEL_ROWS = Object.fromEntries(
  Object.entries(ZOO).flatMap(([name, network]) => [
    [name, [`${name}, 224×224, inference, batch 1`, () => network(1), sgd, { forward: true }]],
    [
      stepOf(name),
      [
        `${name}, 224×224, all weights, batch ${STEP_BATCH}, SGD`,
        () => network(STEP_BATCH),
        sgd,
        { trainable: LEARNED, checked: 2 },
      ],
    ],
  ]),
);
const rowOf = (name) => ROWS[name] ?? MODEL_ROWS[name];

function matchesOne(glob, name) {
  if (glob.endsWith('*')) return name.startsWith(glob.slice(0, -1));
  return glob.startsWith('*') ? name.endsWith(glob.slice(1)) : name === glob;
}
const matches = (globs, name) => globs.some((glob) => matchesOne(glob, name));

/** A task with its network built: [what it is, network, optimizer, more] as in ROWS. */
export function taskOf(name, [title, network, optimizer, { trainable, forward = false } = {}]) {
  const graph = network();
  const trains = (weight) => !forward && (!trainable || matches(trainable, weight));
  const [examples, classes] = graph.shapes.logits;
  const label = { name: 'labels', type: 'int64', dims: [], low: 0, high: classes, seed: 2 };
  const feeds = {
    [graph.input.name]: batchTensor(graph.input, graph.batch, 0),
    ...(!forward && { labels: batchTensor(label, examples, 0) }),
  };
  return {
    name,
    title,
    graph,
    optimizer,
    trainable,
    trains,
    forward,
    feeds,
    mflop: mflopOf(graph, { trains, forward }),
  };
}

/**
 * Axis → its values, and the perceptron at one of them. `size` is counted in parameters: of two equal hidden layers on
 * as many inputs.
 */
export const SCALING = {
  batch: { values: [1, 4, 16, 64, 256], network: (n) => mlp(n) },
  width: { values: [32, 64, 128, 256, 512, 1024, 2048], network: (n) => mlp(64, [784, n, n, 10]) },
  depth: { values: [1, 2, 4, 8, 16, 32], network: (n) => mlp(64, [784, ...Array.from({ length: n }, () => 256), 10]) },
  size: { values: [1e4, 1e5, 1e6, 1e7, 1e8], network: (n) => mlp(8, squareWidths(n)) },
};

/** 3 layers of width × width and the scores: 3 w² + 13 w ≈ n parameters. */
function squareWidths(n) {
  const width = Math.round((-13 + Math.sqrt(169 + 12 * n)) / 6);
  return [width, width, width, width, 10];
}

export const taskNames = Object.keys(ROWS);
export const modelNames = Object.keys(ZOO);

/** Count of first losses that tell whether two train the same. */
export const checkedLosses = (name) => rowOf(name)?.[3]?.checked ?? Number.POSITIVE_INFINITY;

/** A row by its name, or a point of an axis: 'batch:16'. */
export function task(name) {
  if (rowOf(name)) return taskOf(name, rowOf(name));
  const [axis, value] = name.split(':');
  return taskOf(name, [`perceptron, ${axis} ${value}, SGD`, () => SCALING[axis].network(Number(value)), sgd]);
}
