/** Fine-tuning and forgetting as pages ask for them; the code for it is loaded when it is first called. */

import { onDemand } from '../base/lazy.js';

/** @type {typeof import('./fine-tune.js').fineTune} */
export const fineTune = async (...args) => await onDemand(() => import('./fine-tune.js'), 'fineTune', args);
/** @type {typeof import('./forget.js').forgetSamples} */
export const forgetSamples = async (...args) => await onDemand(() => import('./forget.js'), 'forgetSamples', args);
