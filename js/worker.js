/** The module that a browser's worker runs. */

import { serve } from './serve.js';

serve(/** @type {import('./protocol.js').Port} */ (/** @type {unknown} */ (globalThis)));
