/**
 * What a build can do beside operators, passes, optimizers and losses: the calls (exports of wasm/abi.c) and parts
 * (src/part.h) of each feature. A call or part that belongs to none is always kept.
 */

/**
 * @typedef {object} Feature
 * @property {string} about
 * @property {boolean} [asked] only on request: nothing that a model needs to train as it does
 * @property {string[]} [calls] without abi_
 * @property {string[]} [parts] without part_
 * @property {string} [missing] how the engine calls it where it is left out
 */

/** @type {Record<string, Feature>} */
export const FEATURES = {
  train: {
    about: 'training steps',
    calls: ['step', 'optimize', 'loss', 'gradient_norm', 'drop_grad', 'reset_grad', 'set_lr'].map(session),
  },
  onnx: {
    about: 'reads ONNX models',
    parts: ['onnx_read', 'optimizer_model_read'],
    missing: 'reader of ONNX models',
  },
  'inference-session': {
    about: 'InferenceSession',
    parts: ['onnx_read_inference'],
  },
  'ort-format': {
    about: 'reads models in ORT format',
    parts: ['ort_format_read'],
    missing: 'reader of ORT format',
  },
  functions: {
    about: 'reads functions of ONNX models',
    parts: ['onnx_functions'],
    missing: 'functions of ONNX models',
  },
  subgraphs: { about: 'reads If, Loop and Scan', parts: ['onnx_subgraph'], missing: 'subgraphs' },
  'gradient-nodes': { about: 'reads Gradient nodes', parts: ['onnx_gradient'], missing: 'Gradient nodes' },
  'computed-shapes': {
    about: 'shapes that depend on computed values',
    parts: ['stages'],
    missing: 'shapes that depend on computed values',
  },
  'load-checkpoint': {
    about: "loads Trainlet's checkpoints",
    parts: ['checkpoint_read'],
    missing: "reader of Trainlet's checkpoints",
  },
  'load-ort-checkpoint': {
    about: "loads ONNX Runtime's checkpoints",
    parts: ['ort_checkpoint_read'],
    missing: "reader of ONNX Runtime's checkpoints",
  },
  'save-checkpoint': { about: "saves Trainlet's checkpoints", parts: ['checkpoint_write'] },
  'save-ort-checkpoint': { about: "saves ONNX Runtime's checkpoints", asked: true, parts: ['ort_checkpoint_write'] },
  export: { about: 'exportModel', calls: [session('export')] },
  'training-info': {
    about: "exportModel with ONNX's training_info",
    asked: true,
    parts: ['training_info_check', 'training_info_write', 'onnx_write_training'],
  },
  'buffer-of-parameters': {
    about: 'getContiguousParameters and loadParametersBuffer',
    calls: ['element_count', 'copy_in', 'copy_out'].map(session),
  },
  best: { about: 'fit keeps and restores the best parameters', calls: [session('best')] },
  bounds: { about: 'bounds of parameters', asked: true, calls: ['bound', 'unbound'].map(session) },
  gradients: { about: 'getGradient', asked: true, calls: [session('gradient')] },
  'set-trainable': {
    about: 'setTrainable',
    asked: true,
    calls: [session('set_trainable')],
    parts: ['set_trainable'],
    missing: 'setTrainable',
  },
  'input-gradients': { about: 'inputGradients', asked: true, calls: [session('input_gradient')] },
  outside: {
    about: 'forward and backward, for a loss outside',
    asked: true,
    calls: ['forward', 'feed_gradient', 'backward', 'drop_forward'].map(session),
    missing: 'forward',
  },
  strings: { about: 'inputs of strings', asked: true, calls: [session('feed_text')], missing: 'feed text' },
  sequences: {
    about: 'inputs that are sequences',
    asked: true,
    calls: [session('feed_sequence')],
    missing: 'feed sequence',
  },
  constants: { about: 'inputs bound to constants', asked: true, calls: [session('constant')] },
  'external-data': { about: 'data of models in other files', calls: [session('external')], asked: true },
  recompute: { about: 'stays below maxMemoryBytes by computing twice', asked: true, parts: ['recompute'] },
  pack: { about: 'weights of convolutions packed ahead of evaluation', parts: ['pack'] },
  profile: {
    about: 'profiling, and the graph as text',
    asked: true,
    calls: ['graph', 'time_nodes', 'node_times'].map(session),
  },
  inspect: {
    about: 'describes checkpoints by themselves',
    asked: true,
    calls: ['checkpoint_writer', 'session_checkpoint'],
  },
  artifacts: {
    about: 'generateArtifacts and parametersOf',
    asked: true,
    calls: ['new', 'external', 'constant', 'file', 'load', 'set', 'parameters', 'build', 'bytes', 'length']
      .concat('warnings', 'free')
      .map((name) => `artifacts_${name}`),
  },
};

/** @param {string} name */
function session(name) {
  return `session_${name}`;
}
