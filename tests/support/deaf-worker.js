/** A worker thread whose engine of one number never comes back from a step, an export or a load of a two-byte model. */

import { parentPort } from 'node:worker_threads';
import { serve } from '../../js/engine/serve.js';
import { FakeEngine } from './fake-engine.js';

const forever = () => {
  for (;;);
};

class DeafEngine extends FakeEngine {
  load({ parts }) {
    return parts[0].bytes.length === 2 ? forever() : super.load();
  }
  step() {
    forever();
  }
  export() {
    forever();
  }
}

serve(parentPort, async () => new DeafEngine());
