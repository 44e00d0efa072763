// fineTune in a page for as long as it is told, with a pause now and then; what the page sees of it is in
// `window.seen`.
import * as trainlet from '../../js/index.js';
import { batchUnit } from '../support/recipe.js';

const CLASSES = 5;
const EXAMPLES = 600;
const MODEL = new URL('../golden/data/resnet_folded.onnx', import.meta.url).href;

/** Noise, by class as bright in another part of the picture. */
function examples() {
  const pixel = (i) => batchUnit(5, i) + Number(Math.floor((i % 784) / 157) === Math.floor(i / 784) % CLASSES);
  const data = Float32Array.from({ length: EXAMPLES * 784 }, (_, i) => pixel(i) / 2);
  return {
    inputs: { input: new trainlet.Tensor('float32', data, [EXAMPLES, 1, 28, 28]) },
    labels: Array.from({ length: EXAMPLES }, (_, i) => i % CLASSES),
  };
}

const seen = { tasks: [], epochs: 0, checkpoints: 0, failed: 0, pauses: [], step: 0, hiddenAt: 0 };
Object.assign(window, { seen });

/** The page is hidden and shown as far as its own code can tell. @param {'hidden' | 'visible'} state */
function turn(state) {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}
window.pause = () => {
  seen.hiddenAt = performance.now();
  turn('hidden');
};

const options = (more) => ({
  head: false,
  epochs: 1_000_000,
  patience: 1_000_000,
  onProgress: ({ phase }) => {
    if (phase === 'layers') seen.epochs++;
  },
  ...more,
});

/** @param {number} ms */
window.tune = async (ms) => {
  const store = await trainlet.CheckpointStore.open({ database: 'endurance' });
  const data = examples();
  await new Promise((resolve) => setTimeout(resolve, 200)); // making the examples is no task of fineTune's
  new PerformanceObserver((list) => {
    seen.tasks.push(...list.getEntries().map(({ duration }) => Math.round(duration)));
  }).observe({ type: 'longtask' });
  const { session, report } = await trainlet.fineTune(
    MODEL,
    data,
    options({
      budget: { maxMs: ms, pauseWhenHidden: true },
      checkpoint: { store, name: 'endurance', everyMs: 10_000 },
      onCheckpoint: ({ step, error }) => {
        seen.step = step;
        seen[error ? 'failed' : 'checkpoints']++;
      },
      onPause: () => {
        seen.pauses.push(Math.round(performance.now() - seen.hiddenAt));
        setTimeout(() => turn('visible'), 1000);
      },
    }),
  );
  await session.release();
  const { history, ms: phaseMs } = report.phases[0];
  const { steps, stopped, pausedMs } = history;
  return { steps, stopped, pausedMs: Math.round(pausedMs), stepMs: (phaseMs - pausedMs) / steps };
};

/** Ms until a call is rejected after its signal. */
window.cancel = async () => {
  const stop = new AbortController();
  let epochs = 0;
  const tuning = trainlet.fineTune(
    MODEL,
    examples(),
    options({
      signal: stop.signal,
      onProgress: () => {
        if (++epochs === 2) setTimeout(() => stop.abort(performance.now()), 200 * Math.random());
      },
    }),
  );
  const { code, cause } = await tuning.catch((error) => error);
  return code === 'aborted' ? Math.round(performance.now() - cause) : code;
};
