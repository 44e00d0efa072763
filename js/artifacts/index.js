/**
 * Artifacts as pages make them; the code for it is loaded when it is first called. Functions, and not calls that make
 * them: a bundler leaves out those that a page does not import.
 */

import { onDemand } from '../base/lazy.js';

const model = () => import('../session/model.js');

/** @type {typeof import('../session/model.js').generateArtifacts} */
export const generateArtifacts = async (...args) => await onDemand(model, 'generateArtifacts', args);
/** @type {typeof import('../session/model.js').parametersOf} */
export const parametersOf = async (...args) => await onDemand(model, 'parametersOf', args);
/** @type {typeof import('./plan-memory.js').planMemory} */
export const planMemory = async (...args) => await onDemand(() => import('./plan-memory.js'), 'planMemory', args);
/** @type {typeof import('./compact.js').compactArtifacts} */
export const compactArtifacts = async (...args) =>
  await onDemand(() => import('./compact.js'), 'compactArtifacts', args);
