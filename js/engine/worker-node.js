/** The module that a worker thread of Node runs. */

import { parentPort } from 'node:worker_threads';
import { serve } from './serve.js';

serve(/** @type {import('./protocol.js').Port} */ (/** @type {unknown} */ (parentPort)));
