/** The part of the sessions that a page loads while the engine is loaded. */

export { checkBounds } from './bounds.js';
export { createInference } from './inference.js';
export { createTraining } from './training.js';
