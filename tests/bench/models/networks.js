// The networks that are measured, each at a batch size: a perceptron, four convolutional networks, a GPT, an LSTM.

import { Graph } from './graph.js';

const floats = (...dims) => ({ name: 'input', type: 'float32', dims, low: 0, high: 1, seed: 1 });

/** widths[0] inputs, ReLU between the layers. */
export function mlp(batch, widths = [784, 512, 256, 10]) {
  const g = new Graph('mlp', batch, floats(widths[0]));
  let x = g.input.name;
  widths.slice(1).forEach((width, i) => {
    x = g.dense(i ? g.relu(x) : x, `fc${i + 1}`, width);
  });
  return g.end(x);
}

/** conv3×3×32, ReLU, max 2, conv3×3×64, ReLU, max 2, dense 128, ReLU, dense 10. */
export function cnn(batch) {
  const g = new Graph('cnn', batch, { ...floats(1, 28, 28), block: 7 });
  const block = (x, name, channels) => g.maxPool2(g.relu(g.conv(x, name, channels, { kernel: 3 })));
  const features = g.flatten(block(block(g.input.name, 'conv1', 32), 'conv2', 64));
  return g.end(g.dense(g.relu(g.dense(features, 'fc1', 128)), 'fc2', 10));
}

/** Five of conv5, ReLU, max 2 over a signal of 3 channels, the mean over time, dense 10. */
export function conv1d(batch, length = 1024) {
  const g = new Graph('conv1d', batch, floats(3, length));
  let x = g.input.name;
  [64, 64, 128, 128, 128].forEach((channels, i) => {
    x = g.maxPool2(g.relu(g.conv(x, `conv${i + 1}`, channels, { kernel: 5, gain: Math.SQRT2 })));
  });
  return g.end(g.dense(g.flatten(g.globalAveragePool(x)), 'fc', 10));
}

/**
 * Pre-LN GPT with a head of its own: token numbers (N, tokens) → scores (N · tokens, vocabulary). With a rank, all
 * linear layers but the head have LoRA's matrices beside them.
 */
export function gpt(batch, { width = 128, heads = 4, blocks = 2, tokens = 64, vocabulary = 256, rank = 0 } = {}) {
  const g = new Graph('gpt', batch, {
    name: 'input',
    type: 'int64',
    dims: [tokens],
    low: 0,
    high: vocabulary,
    seed: 1,
  });
  const embedded = g.op('Gather', [g.weight('wte.weight', [vocabulary, width], 0.5), g.input.name], { axis: 0 }, [
    batch,
    tokens,
    width,
  ]);
  let x = g.add(embedded, g.weight('wpe.weight', [tokens, width], 0.5));
  for (let i = 0; i < blocks; i++) {
    x = g.add(x, attention(g, g.layerNorm(x, `h${i}.ln1`), `h${i}.attn`, heads, rank));
    const up = g.relu(g.linear(g.layerNorm(x, `h${i}.ln2`), `h${i}.fc`, 4 * width, { rank }));
    x = g.add(x, g.linear(up, `h${i}.proj`, width, { rank }));
  }
  return g.end(g.reshape(g.linear(g.layerNorm(x, 'ln'), 'head', vocabulary, { bias: false }), [-1, vocabulary]));
}

/** A token sees itself and those before it. */
function attention(g, x, name, heads, rank) {
  const [batch, tokens, width] = g.shapes[x];
  const size = width / heads;
  const dims = [batch, tokens, width];
  const joined = g.linear(x, `${name}.qkv`, 3 * width, { rank });
  g.op('Split', [joined, g.constant('int64', [3], [width, width, width])], { axis: 2 }, dims, dims, dims);
  const parts = g.nodes.at(-1).outputs;
  const perms = [
    [0, 2, 1, 3],
    [0, 2, 3, 1],
    [0, 2, 1, 3],
  ];
  const [q, k, v] = parts.map((part, i) => g.transpose(g.reshape(part, [-1, tokens, heads, size]), perms[i]));
  const all = [batch, heads, tokens, tokens];
  const scores = g.op('Mul', [g.matmul(q, k), g.constant('float32', [], [size ** -0.5])], {}, all);
  const hidden = Array.from({ length: tokens * tokens }, (_, i) => (i % tokens > Math.floor(i / tokens) ? 1 : 0));
  const masked = g.op(
    'Where',
    [g.constant('bool', [tokens, tokens], hidden), g.constant('float32', [], [-Infinity]), scores],
    {},
    all,
  );
  const shares = g.op('Softmax', [masked], { axis: -1 }, all);
  const heard = g.reshape(g.transpose(g.matmul(shares, v), [0, 2, 1, 3]), [-1, tokens, width]);
  return g.linear(heard, `${name}.out`, width, { rank });
}

/** MobileNetV2 1.0's rows: expansion, channels, repeats, first stride. */
const MOBILE = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
];

/** MobileNetV2 with its normalizations folded into the convolutions: (N, 3, size, size) → 10 classes. */
export function mobileNetV2(batch, size = 96) {
  const g = new Graph('mobilenet_v2', batch, floats(3, size, size));
  const conv6 = (x, name, channels, options) => g.relu6(g.conv(x, name, channels, { ...options, gain: Math.SQRT2 }));
  let x = conv6(g.input.name, 'features.0', 32, { kernel: 3, stride: 2 });
  let at = 0;
  for (const [expansion, channels, repeats, firstStride] of MOBILE)
    for (let i = 0; i < repeats; i++) {
      const name = `features.${++at}`;
      const inputs = g.shapes[x][1];
      const wide = inputs * expansion;
      const stride = i ? 1 : firstStride;
      let y = expansion === 1 ? x : conv6(x, `${name}.expand`, wide, { kernel: 1 });
      y = conv6(y, `${name}.depthwise`, wide, { kernel: 3, stride, group: wide });
      y = g.conv(y, `${name}.project`, channels, { kernel: 1, gain: 1 });
      x = stride === 1 && inputs === channels ? g.add(x, y) : y;
    }
  x = g.globalAveragePool(conv6(x, 'features.18', 1280, { kernel: 1 }));
  return g.end(g.dense(g.flatten(x), 'classifier', 10));
}

/**
 * Two convolutions at full size, two at half of it, the way back up joined with what was skipped: (N, 3, size, size) →
 * (N · size · size, classes).
 */
export function unet(batch, { size = 64, channels = 32, classes = 10 } = {}) {
  const g = new Graph('unet', batch, floats(3, size, size));
  const layer = (x, name, wide) => g.gelu(g.groupNorm(g.conv(x, name, wide, { kernel: 3 }), `${name}.norm`, 8));
  const block = (x, name, wide) => layer(layer(x, `${name}.0`, wide), `${name}.1`, wide);
  const skipped = block(g.input.name, 'down', channels);
  const deep = block(g.maxPool2(skipped), 'deep', 2 * channels);
  const joined = g.op('Concat', [skipped, g.up2(deep, 'up', channels)], { axis: 1 }, [batch, 2 * channels, size, size]);
  const scores = g.conv(block(joined, 'join', channels), 'head', classes, { kernel: 1 });
  return g.end(g.reshape(g.transpose(scores, [0, 2, 3, 1]), [-1, classes]));
}

/** One LSTM over a sequence of floats, its last state judged: (N, steps, inputs) → 10 classes. */
export function lstm(batch, { steps = 128, inputs = 256, hidden = 256 } = {}) {
  const g = new Graph('lstm', batch, floats(steps, inputs));
  return g.end(g.dense(g.lstm(g.input.name, 'lstm', hidden), 'fc', 10));
}
