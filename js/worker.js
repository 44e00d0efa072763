/** The module that a browser's worker runs. */

// Named here, the modules that serve.js needs are asked for at once, not level by level.
import './core.js';
import './errors.js';
import './tensor.js';
import { serve } from './serve.js';

serve(/** @type {import('./protocol.js').Port} */ (/** @type {unknown} */ (globalThis)));
