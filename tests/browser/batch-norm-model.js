// A CNN with two batch normalizations and pooling by maximum: what no network of tests/golden is, whose one with batch
// normalization averages.
import {
  attributeProto,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  tensorProto,
  weight,
} from '../support/onnx-file.js';

const INTS = 7;
const ints = (name, values) => attributeProto({ name, ints: values, type: INTS });
const filled = (name, count, value) =>
  tensorProto({ dims: count, dataType: 1, name, rawData: new Uint8Array(new Float32Array(count).fill(value).buffer) });
const normalization = (name, count) => [
  filled(`${name}.weight`, count, 1),
  filled(`${name}.bias`, count, 0),
  filled(`${name}.running_mean`, count, 0),
  filled(`${name}.running_var`, count, 1),
];
const names = (name) => ['weight', 'bias', 'running_mean', 'running_var'].map((part) => `${name}.${part}`);

/** The bytes of the model: input (N, 3, 12, 12) → logits (N, 4). */
export function batchNormModel() {
  const graph = graphProto({
    node: [
      node('Conv', ['input', 'conv1.weight', 'conv1.bias'], 'a1', ints('pads', [1, 1, 1, 1])),
      node('BatchNormalization', ['a1', ...names('bn1')], 'b1'),
      node('Relu', ['b1'], 'r1'),
      node('MaxPool', ['r1'], 'p1', ints('kernel_shape', [2, 2]), ints('strides', [2, 2])),
      node('Conv', ['p1', 'conv2.weight'], 'a2'),
      node('BatchNormalization', ['a2', ...names('bn2')], 'b2'),
      node('Relu', ['b2'], 'r2'),
      node('GlobalAveragePool', ['r2'], 'g'),
      node('Flatten', ['g'], 'f'),
      node('Gemm', ['f', 'fc.weight', 'fc.bias'], 'logits'),
    ],
    name: 'batch-norm',
    initializer: [
      weight('conv1.weight', [8, 3, 3, 3], 27, 21),
      weight('conv1.bias', [8], 27, 22),
      weight('conv2.weight', [10, 8, 3, 3], 72, 23),
      weight('fc.weight', [10, 4], 10, 24),
      weight('fc.bias', [4], 10, 25),
      ...[...normalization('bn1', 8), ...normalization('bn2', 10)],
    ],
    input: info('input', 1, ['N', 3, 12, 12]),
    output: info('logits', 1, ['N', 4]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}
