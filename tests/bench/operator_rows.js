// The rows of the benchmark of operators: each makes of a size the inputs of one operator, with the attributes that
// networks give it.
//
//   name: (n) => [operator, inputs, attributes, more]      n floats of data, a power of two from 2^13 on
//   operator: its name, behind its domain and a dot where that is not ONNX's
//   inputs: null for one that is absent; `constant` for those that are part of the model
//   more: opset (18; `ml` of ai.onnx.ml, 3), outputs (1; or the rank of each), rank of the outputs if not the first
//         input's, flops (else it counts bytes), reads (nearly all of its bytes are read: its limit is reading), random
//         (outputs are not compared), agree (how far apart they may be, 1e-4), training (onnxruntime-web 1.19's build
//         for training has it; false: it must not be asked for the gradient), peer (a row that computes the same for
//         onnxruntime-web), alone (it has none), gradients (how far apart gradients may be, where numbers are equal or
//         at a kink; 1e-3)

import { CLASSICAL } from './operator_rows/classical.js';
import { ELEMENTWISE } from './operator_rows/elementwise.js';
import { LAYERS } from './operator_rows/layers.js';
import { MOVEMENT } from './operator_rows/movement.js';
import { PRODUCTS } from './operator_rows/products.js';
import { REDUCED } from './operator_rows/reductions.js';
import { SAMPLING } from './operator_rows/sampling.js';
import { TRAINING } from './operator_rows/training.js';
import { WINDOWS } from './operator_rows/windows.js';

export const ROWS = {
  ...ELEMENTWISE,
  ...REDUCED,
  ...MOVEMENT,
  ...WINDOWS,
  ...PRODUCTS,
  ...LAYERS,
  ...SAMPLING,
  ...CLASSICAL,
  ...TRAINING,
};

/** The operators of docs/measured/operators.md that have no row, and why. */
export const WITHOUT_ROWS = {
  'the bytes of its input, in another shape or as they are': [
    'Flatten',
    'Identity',
    'Reshape',
    'Squeeze',
    'Unsqueeze',
    'com.microsoft.PassThrough',
  ],
  'made of the shape of its input alone': ['Shape', 'Size', 'com.microsoft.BroadcastGradientArgs'],
  'becomes the nodes of its subgraph': ['If', 'Loop', 'Scan', 'SequenceMap'],
  'becomes the tensors of its sequence, optional or map': [
    'ConcatFromSequence',
    'Optional',
    'OptionalGetElement',
    'OptionalHasElement',
    'SequenceAt',
    'SequenceConstruct',
    'SequenceEmpty',
    'SequenceErase',
    'SequenceInsert',
    'SequenceLength',
    'SplitToSequence',
    'ai.onnx.ml.CastMap',
    'ai.onnx.ml.DictVectorizer',
    'ai.onnx.ml.ZipMap',
  ],
  'of strings': [
    'RegexFullMatch',
    'StringConcat',
    'StringNormalizer',
    'StringSplit',
    'ai.onnx.ml.CategoryMapper',
    'com.microsoft.Tokenizer',
  ],
  'LSTM is measured: ONNX Runtime rounds what this one reads to 8 bits': ['com.microsoft.DynamicQuantizeLSTM'],
  'stands only in a training model, beside what it belongs to': [
    'MaxPoolGrad',
    'com.microsoft.InPlaceAccumulatorV2',
    'com.microsoft.YieldOp',
  ],
};
