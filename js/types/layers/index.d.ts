/** The public contract of trainlet/layers: networks in JavaScript, by Keras' names. */
export * from './attention.js';
export * from './basic.js';
export * from './convolution.js';
export * from './network.js';
export * from './normalization.js';
export * from './pooling.js';
export * from './recurrent.js';
