/** Tables as pages read them; the code for it is loaded when it is first called. */

import { onDemand } from '../base/lazy.js';

/** @type {any} its overloads: types/table.d.ts */
export const readTable = async (/** @type {unknown[]} */ ...args) =>
  await onDemand(() => import('./read-table.js'), 'readTable', args);
