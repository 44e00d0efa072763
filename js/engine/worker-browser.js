/**
 * The module that a browser's worker runs; the build makes worker.js of it and of all it imports, so that a worker
 * loads one file.
 */

import { serve } from './serve.js';

serve(/** @type {import('./protocol.js').Port} */ (/** @type {unknown} */ (globalThis)));
