// Who is measured: names for the command line and the tables, and where each can run.

const JS = ['chromium', 'firefox', 'node'];

export const CONTENDERS = {
  trainlet: { title: 'trainlet', where: JS },
  'trainlet-alone': { title: 'trainlet, one thread', where: JS }, // for comparing threads
  'trainlet-beside': { title: 'trainlet, the other checkout', where: JS }, // --beside
  'ort-graph': { title: 'onnxruntime-web 1.30, hand-built graph', where: JS },
  'ort-training': { title: 'onnxruntime-web/training 1.19.2', where: JS },
  'jax-js': { title: 'jax-js 0.1.25', where: JS },
  'tfjs-wasm': { title: 'TensorFlow.js 4.22 wasm', where: JS },
  'tfjs-cpu': { title: 'TensorFlow.js 4.22 cpu', where: JS },
  'trainlet-native': { title: 'trainlet, native', where: ['native'] },
  pytorch: { title: 'PyTorch, native', where: ['native'] },
};

/** Not peers but limits: what the processor gives the very engine that the others run in. */
export const LIMITS = { 'simd-peak': JS, 'relaxed-peak': JS, 'memory-copy': JS };

export const isOurs = (contender) => contender.startsWith('trainlet');

/** True for peers from npm, false for native ones. */
export const isPeer = (contender) => !isOurs(contender) && CONTENDERS[contender]?.where === JS;
