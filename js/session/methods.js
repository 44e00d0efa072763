/** What a page loads for its sessions while the engine is loaded. */

export { checkBounds } from './bounds.js';
export { createInference } from './inference.js';
export { createTraining } from './training.js';
