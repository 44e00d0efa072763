/** The front door of the package; importing it does nothing. */

export { compactArtifacts, generateArtifacts, parametersOf, planMemory } from './artifacts/index.js';
export { TrainletError } from './base/errors.js';
export { tensor } from './base/nested-tensor.js';
export { readTable } from './data/index.js';
export { configure } from './engine/options.js';
export { FeatureStore } from './features/feature-store.js';
export { fineTune, forgetSamples } from './fine-tune/index.js';
export { Tensor } from './media/tensor-from.js';
export { InferenceSession, TrainingSession } from './session/index.js';
export { CheckpointStore } from './storage/checkpoint-store.js';
export { SampleStore } from './storage/sample-store.js';
export { generate, packText } from './text/index.js';
