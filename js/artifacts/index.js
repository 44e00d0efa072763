/** Artifacts as pages make them; the code for it is loaded when it is first called. */

import { onDemand } from '../base/lazy.js';

const body = () => import('./generate.js');

export const generateArtifacts = /* @__PURE__ */ onDemand(body, 'generateArtifacts');
export const parametersOf = /* @__PURE__ */ onDemand(body, 'parametersOf');
export const planMemory = /* @__PURE__ */ onDemand(body, 'planMemory');
export const compactArtifacts = /* @__PURE__ */ onDemand(body, 'compactArtifacts');
