// Nine networks of ONNX's model zoo, for (N, 3, 224, 224) and 1,000 classes, with random weights: as their papers and
// the zoo's files have them, without Dropout and the Softmax at the end. Normalizations stand beside the convolutions,
// not folded into them.

import { Graph } from './graph.js';

const picture = { name: 'input', type: 'float32', dims: [3, 224, 224], low: -2, high: 2, seed: 1 };
const start = (name, batch) => new Graph(name, batch, picture);
const RELU = { gain: Math.SQRT2 };

const convRelu = (g, x, name, channels, options) => g.relu(g.conv(x, name, channels, { ...RELU, ...options }));
/** Conv, BatchNormalization, Relu; `relu: false` without it. */
function convNorm(g, x, name, channels, { relu = true, ...options }) {
  const y = g.batchNorm(g.conv(x, name, channels, { ...RELU, bias: false, ...options }), `${name}.norm`);
  return relu ? g.relu(y) : y;
}
const max3 = (g, x, options) => g.pool('MaxPool', x, { kernel: 3, stride: 2, ceil: true, ...options });
const localNorm = (g, x) => g.op('LRN', [x], { size: 5, alpha: { float: 1e-4 }, beta: { float: 0.75 } }, g.shapes[x]);
/** Two hidden layers of 4,096, and the classes. */
function head(g, x) {
  const wide = (y, name) => g.relu(g.dense(y, name, 4096, Math.sqrt(6)));
  return g.end(g.dense(wide(wide(g.flatten(x), 'fc6'), 'fc7'), 'fc8', 1000));
}
const average = (g, x) => g.end(g.dense(g.flatten(g.globalAveragePool(x)), 'fc', 1000));

function alexNet(batch) {
  const g = start('alexnet', batch);
  let x = max3(g, localNorm(g, convRelu(g, picture.name, 'conv1', 96, { kernel: 11, stride: 4, pad: 0 })));
  x = max3(g, localNorm(g, convRelu(g, x, 'conv2', 256, { kernel: 5, group: 2 })));
  x = convRelu(g, x, 'conv3', 384, { kernel: 3 });
  x = convRelu(g, x, 'conv4', 384, { kernel: 3, group: 2 });
  return head(g, max3(g, convRelu(g, x, 'conv5', 256, { kernel: 3, group: 2 })));
}

/** ZFNet-512. */
function zfNet(batch) {
  const g = start('zfnet', batch);
  let x = max3(g, localNorm(g, convRelu(g, picture.name, 'conv1', 96, { kernel: 7, stride: 2, pad: 1 })));
  x = max3(g, localNorm(g, convRelu(g, x, 'conv2', 256, { kernel: 5, stride: 2, pad: 0 })));
  [512, 1024, 512].forEach((channels, i) => {
    x = convRelu(g, x, `conv${i + 3}`, channels, { kernel: 3 });
  });
  return head(g, max3(g, x));
}

/** GoogLeNet's modules: 1×1; 1×1 before 3×3; 1×1 before 5×5; 1×1 behind the pool. */
const INCEPTION_1 = {
  '3a': [64, 96, 128, 16, 32, 32],
  '3b': [128, 128, 192, 32, 96, 64],
  '4a': [192, 96, 208, 16, 48, 64],
  '4b': [160, 112, 224, 24, 64, 64],
  '4c': [128, 128, 256, 24, 64, 64],
  '4d': [112, 144, 288, 32, 64, 64],
  '4e': [256, 160, 320, 32, 128, 128],
  '5a': [256, 160, 320, 32, 128, 128],
  '5b': [384, 192, 384, 48, 128, 128],
};

function inception1(batch) {
  const g = start('inception_v1', batch);
  let x = localNorm(g, max3(g, convRelu(g, picture.name, 'conv1', 64, { kernel: 7, stride: 2 })));
  x = convRelu(g, convRelu(g, x, 'reduce2', 64, { kernel: 1 }), 'conv2', 192, { kernel: 3 });
  x = max3(g, localNorm(g, x));
  for (const [name, [one, reduce3, three, reduce5, five, pooled]] of Object.entries(INCEPTION_1)) {
    const conv = (y, part, channels, kernel = 1) => convRelu(g, y, `${name}.${part}`, channels, { kernel });
    const parts = [
      conv(x, '1', one),
      conv(conv(x, 'reduce3', reduce3), '3', three, 3),
      conv(conv(x, 'reduce5', reduce5), '5', five, 5),
      conv(g.pool('MaxPool', x, { kernel: 3, stride: 1, pad: 1 }), 'pool', pooled),
    ];
    x = g.concat(parts);
    if (name === '3b' || name === '4e') x = max3(g, x);
  }
  return average(g, x);
}

/** BN-Inception's modules: 1×1; 1×1 before 3×3; 1×1 before two of 3×3; the pool; 0 behind it: of stride 2. */
const INCEPTION_2 = {
  '3a': [64, 64, 64, 64, 96, 'AveragePool', 32],
  '3b': [64, 64, 96, 64, 96, 'AveragePool', 64],
  '3c': [0, 128, 160, 64, 96, 'MaxPool', 0],
  '4a': [224, 64, 96, 96, 128, 'AveragePool', 128],
  '4b': [192, 96, 128, 96, 128, 'AveragePool', 128],
  '4c': [160, 128, 160, 128, 160, 'AveragePool', 96],
  '4d': [96, 128, 192, 160, 192, 'AveragePool', 96],
  '4e': [0, 128, 192, 192, 256, 'MaxPool', 0],
  '5a': [352, 192, 320, 160, 224, 'AveragePool', 128],
  '5b': [352, 192, 320, 192, 224, 'MaxPool', 128],
};

function inception2(batch) {
  const g = start('inception_v2', batch);
  let x = max3(g, convNorm(g, picture.name, 'conv1', 64, { kernel: 7, stride: 2 }));
  x = convNorm(g, convNorm(g, x, 'reduce2', 64, { kernel: 1 }), 'conv2', 192, { kernel: 3 });
  x = max3(g, x);
  for (const [name, [one, reduce3, three, reduceTwo, two, pool, pooled]] of Object.entries(INCEPTION_2)) {
    const conv = (y, part, channels, kernel = 1, stride = 1) =>
      convNorm(g, y, `${name}.${part}`, channels, { kernel, stride });
    const stride = one ? 1 : 2;
    const twice = conv(conv(conv(x, 'reduceTwo', reduceTwo), 'two.0', two, 3), 'two.1', two, 3, stride);
    const beside = g.pool(pool, x, { kernel: 3, stride, pad: one ? 1 : 0, ceil: !one });
    x = g.concat([
      ...(one ? [conv(x, '1', one)] : []),
      conv(conv(x, 'reduce3', reduce3), '3', three, 3, stride),
      twice,
      pooled ? conv(beside, 'pool', pooled) : beside,
    ]);
  }
  return average(g, x);
}

function denseNet121(batch) {
  const g = start('densenet_121', batch);
  const normRelu = (x, name) => g.relu(g.batchNorm(x, `${name}.norm`));
  const conv = (x, name, channels, kernel) =>
    g.conv(normRelu(x, name), name, channels, { ...RELU, kernel, bias: false });
  let x = max3(g, convNorm(g, picture.name, 'conv0', 64, { kernel: 7, stride: 2 }), { pad: 1, ceil: false });
  [6, 12, 24, 16].forEach((layers, block) => {
    for (let i = 0; i < layers; i++) {
      const name = `block${block + 1}.${i + 1}`;
      x = g.concat([x, conv(conv(x, `${name}.conv1`, 128, 1), `${name}.conv2`, 32, 3)]);
    }
    if (block === 3) return;
    const halved = conv(x, `transition${block + 1}`, g.shapes[x][1] / 2, 1);
    x = g.pool('AveragePool', halved, { kernel: 2, stride: 2 });
  });
  return average(g, normRelu(x, 'norm5'));
}

/** ShuffleNet 1× with four groups. */
function shuffleNet(batch, groups = 4) {
  const g = start('shufflenet', batch);
  const shuffle = (x) => {
    const [, channels, height, width] = g.shapes[x];
    const split = g.reshape(x, [-1, groups, channels / groups, height, width]);
    return g.reshape(g.transpose(split, [0, 2, 1, 3, 4]), [-1, channels, height, width]);
  };
  const unit = (x, name, channels, stride) => {
    const inputs = g.shapes[x][1];
    const added = stride === 2 ? channels - inputs : channels;
    const group = inputs === 24 ? 1 : groups;
    const narrow = shuffle(convNorm(g, x, `${name}.0`, channels / 4, { kernel: 1, group }));
    const spread = convNorm(g, narrow, `${name}.1`, channels / 4, {
      kernel: 3,
      stride,
      group: channels / 4,
      relu: false,
    });
    const wide = convNorm(g, spread, `${name}.2`, added, { kernel: 1, group: groups, relu: false });
    if (stride === 1) return g.relu(g.add(x, wide));
    return g.relu(g.concat([g.pool('AveragePool', x, { kernel: 3, stride: 2, pad: 1 }), wide]));
  };
  let x = convNorm(g, picture.name, 'conv1', 24, { kernel: 3, stride: 2 });
  x = max3(g, x, { pad: 1, ceil: false });
  [
    [272, 4],
    [544, 8],
    [1088, 4],
  ].forEach(([channels, units], stage) => {
    for (let i = 0; i < units; i++) x = unit(x, `stage${stage + 2}.${i}`, channels, i ? 1 : 2);
  });
  return average(g, x);
}

/** SqueezeNet 1.0. */
function squeezeNet(batch) {
  const g = start('squeezenet', batch);
  let x = max3(g, convRelu(g, picture.name, 'conv1', 96, { kernel: 7, stride: 2, pad: 0 }));
  [16, 16, 32, 32, 48, 48, 64, 64].forEach((squeezed, i) => {
    const name = `fire${i + 2}`;
    const narrow = convRelu(g, x, `${name}.squeeze`, squeezed, { kernel: 1 });
    const wide = (kernel) => convRelu(g, narrow, `${name}.expand${kernel}`, 4 * squeezed, { kernel });
    x = g.concat([wide(1), wide(3)]);
    if (i === 2 || i === 6) x = max3(g, x);
  });
  return g.end(g.flatten(g.globalAveragePool(convRelu(g, x, 'conv10', 1000, { kernel: 1 }))));
}

function resNet50(batch) {
  const g = start('resnet_50', batch);
  let x = convNorm(g, picture.name, 'conv1', 64, { kernel: 7, stride: 2 });
  x = max3(g, x, { pad: 1, ceil: false });
  [3, 4, 6, 3].forEach((blocks, stage) => {
    const width = 64 * 2 ** stage;
    for (let i = 0; i < blocks; i++) {
      const [name, stride] = [`layer${stage + 1}.${i}`, i === 0 && stage > 0 ? 2 : 1];
      let y = convNorm(g, x, `${name}.conv1`, width, { kernel: 1 });
      y = convNorm(g, y, `${name}.conv2`, width, { kernel: 3, stride });
      y = convNorm(g, y, `${name}.conv3`, 4 * width, { kernel: 1, relu: false, gain: 0.5 });
      const shortcut = i ? x : convNorm(g, x, `${name}.down`, 4 * width, { kernel: 1, stride, relu: false, gain: 1 });
      x = g.relu(g.add(y, shortcut));
    }
  });
  return average(g, x);
}

function vgg19(batch) {
  const g = start('vgg_19', batch);
  let x = picture.name;
  [
    [64, 2],
    [128, 2],
    [256, 4],
    [512, 4],
    [512, 4],
  ].forEach(([channels, layers], block) => {
    for (let i = 0; i < layers; i++) x = convRelu(g, x, `conv${block + 1}_${i + 1}`, channels, { kernel: 3 });
    x = g.maxPool2(x);
  });
  return head(g, x);
}

/** Name → the network at a batch. */
export const ZOO = {
  AlexNet: alexNet,
  ZFNet: zfNet,
  'Inception-v1': inception1,
  'Inception-v2': inception2,
  'DenseNet-121': denseNet121,
  ShuffleNet: shuffleNet,
  SqueezeNet: squeezeNet,
  'ResNet-50': resNet50,
  'VGG-19': vgg19,
};
