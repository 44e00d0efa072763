/** The Tensor that pages import, with what makes one of a picture or a sound: that is loaded when it is first used. */

import { lazy } from '../base/lazy.js';
import { Tensor as Plain } from '../base/tensor.js';

export const Tensor = /* @__PURE__ */ Object.assign(Plain, {
  /** @param {Parameters<typeof import('./image.js').fromImage>} args */
  fromImage: (...args) => lazy(() => import('./image.js')).then(({ fromImage }) => fromImage(...args)),
  /** @param {Parameters<typeof import('./audio.js').fromAudio>} args */
  fromAudio: (...args) => lazy(() => import('./audio.js')).then(({ fromAudio }) => fromAudio(...args)),
});
