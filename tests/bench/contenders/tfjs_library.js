// Bundles TensorFlow.js for the benchmark: its core, the wasm and cpu backends.

import '@tensorflow/tfjs-backend-cpu';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';

export { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
export * from '@tensorflow/tfjs-core';
