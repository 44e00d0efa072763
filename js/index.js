/** The front door of the package; importing it does nothing. */

export { compactArtifacts, fineTune, forgetSamples, generateArtifacts, parametersOf, planMemory } from './artifacts.js';
export { TrainletError } from './errors.js';
export { FeatureStore } from './feature-store.js';
export { InferenceSession } from './inference.js';
export { SampleStore } from './sample-store.js';
export { TrainingSession } from './session.js';
export { CheckpointStore } from './store.js';
export { Tensor } from './tensor-of.js';
export { generate, packText } from './text.js';
