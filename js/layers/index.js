/** Networks in JavaScript: Keras' layers, as ONNX files. */

export { activation, elu, leakyRelu, prelu, relu, softmax } from './activations.js';
export { multiHeadAttention } from './attention.js';
export {
  conv1d,
  conv1dTranspose,
  conv2d,
  conv2dTranspose,
  depthwiseConv1d,
  depthwiseConv2d,
  separableConv1d,
  separableConv2d,
} from './convolution.js';
export { dense, embedding } from './dense.js';
export { input, model, sequential, summary } from './network.js';
export {
  batchNormalization,
  groupNormalization,
  layerNormalization,
  normalization,
  rescaling,
} from './normalization.js';
export {
  averagePooling1d,
  averagePooling2d,
  globalAveragePooling1d,
  globalAveragePooling2d,
  globalMaxPooling1d,
  globalMaxPooling2d,
  maxPooling1d,
  maxPooling2d,
} from './pooling.js';
export { bidirectional, gru, lstm } from './recurrent.js';
export { add, concatenate, dropout, flatten, multiply, permute, reshape } from './shaping.js';
