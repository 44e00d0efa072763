/** The public functions for language models; their code is loaded on the first call. */

import { lazy } from '../base/lazy.js';
import { INTERNALS } from '../session/open.js';

const language = () => lazy(() => import('./language.js'));

/** @type {typeof import('../types.js').generate} */
export const generate = async (session, ids, options) =>
  await (await language()).generate(/** @type {any} */ (session)?.[INTERNALS], ids, options);

/** @type {typeof import('../types.js').packText} */
export const packText = async (texts, options) => (await language()).packText(texts, options);
