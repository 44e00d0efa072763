/** Fine-tuning and forgetting as pages ask for them; the code for it is loaded when it is first called. */

import { onDemand } from '../base/lazy.js';

export const fineTune = /* @__PURE__ */ onDemand(() => import('./fine-tune.js'), 'fineTune');
export const forgetSamples = /* @__PURE__ */ onDemand(() => import('./forget.js'), 'forgetSamples');
