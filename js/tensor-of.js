/** The Tensor that pages import, with what makes one of a picture or a sound: that is loaded when it is first used. */

import { later } from './later.js';
import { Tensor as Plain } from './tensor.js';

export const Tensor = /* @__PURE__ */ Object.assign(Plain, {
  /** @param {Parameters<typeof import('./image.js').fromImage>} args */
  fromImage: async (...args) => (await later(() => import('./image.js'))).fromImage(...args),
});
