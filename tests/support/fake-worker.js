/**
 * A worker thread around the engine of one number, which dies of a learning rate of 666 (it exits) or 667 (it throws).
 */

import { parentPort } from 'node:worker_threads';
import { serve } from '../../js/engine/serve.js';
import { FakeEngine } from './fake-engine.js';

class MortalEngine extends FakeEngine {
  setLearningRate(lr) {
    if (lr === 666) process.exit(3);
    if (lr === 667)
      setTimeout(() => {
        throw new Error('out of luck');
      });
    return lr === 667 ? new Promise(() => {}) : super.setLearningRate(lr);
  }
}

serve(parentPort, async () => new MortalEngine());
