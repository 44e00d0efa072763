/**
 * Artifacts as pages make them; the code for it is loaded when it is first called. Functions, and not calls that make
 * them: a bundler leaves out those that a page does not import.
 */

import { onDemand } from '../base/lazy.js';

const body = () => import('./generate.js');

/** @type {typeof import('./generate.js').generateArtifacts} */
export const generateArtifacts = async (...args) => await onDemand(body, 'generateArtifacts', args);
/** @type {typeof import('./generate.js').parametersOf} */
export const parametersOf = async (...args) => await onDemand(body, 'parametersOf', args);
/** @type {typeof import('./generate.js').planMemory} */
export const planMemory = async (...args) => await onDemand(body, 'planMemory', args);
/** @type {typeof import('./generate.js').compactArtifacts} */
export const compactArtifacts = async (...args) => await onDemand(body, 'compactArtifacts', args);
