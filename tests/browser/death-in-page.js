// Workers that end at bad moments, in a page: what became of every call, and how long it took. Chromium and Firefox are
// both asked.
import * as trainlet from '../../js/index.js';
import { slowFeeds, slowInput, slowModel } from '../support/slow-models.js';

/** The workers of the page, in the order they were made. @type {NotedWorker[]} */
let workers = [];
class NotedWorker extends Worker {
  constructor(...args) {
    super(...args);
    /** Resolves once it has answered: from then on a helper is given work. */
    this.came = new Promise((resolve) => {
      this.addEventListener('message', resolve, { once: true });
    });
    workers.push(this);
  }
}
globalThis.Worker = NotedWorker;

const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const results = (calls) =>
  Promise.all(
    calls.map((call) =>
      Promise.race([
        call.then(
          () => 'done',
          ({ code, message }) => `${code}: ${message}`,
        ),
        pause(40_000).then(() => 'open'),
      ]),
    ),
  );

/** Ends a session in each way. @type {Record<string, (stop: AbortController) => void>} */
const ENDS = {
  engine: () => workers[0].terminate(),
  helper: () => workers.at(-1).terminate(),
  closes: () => workers[0].postMessage('close'),
  throws: () => workers[0].postMessage('throw'),
  signal: (stop) => stop.abort(),
  busy: () => workers[0].postMessage('busy'),
};

/**
 * A session that is ended in one of the ways, `ms` after its step began, or before it where that is negative.
 * @param {{ end: string, ms: number, threads: number }} how
 */
export async function ended({ end, ms, threads }) {
  const artifacts = await trainlet.generateArtifacts(slowModel(40), { loss: 'cross-entropy', optimizer: 'sgd' });
  workers = [];
  const session = await trainlet.TrainingSession.create(artifacts, {
    threads,
    workerUrl: new URL('./mortal-worker.js', import.meta.url),
  });
  await session.predict(slowInput(64));
  await Promise.all(workers.map(({ came }) => came));
  await pause(300);
  const stop = new AbortController();
  if (ms < 0) ENDS[end](stop);
  await pause(Math.max(0, -ms));
  const calls = [
    session.step(slowFeeds(end === 'busy' ? 16 : 1024), { signal: stop.signal }),
    session.getLearningRate(),
  ];
  await pause(Math.max(0, ms));
  const since = performance.now();
  if (ms >= 0) ENDS[end](stop);
  const became = await results(calls);
  const took = performance.now() - since;
  const later = await results([session.getLearningRate(), session.predict(slowInput(2))]);
  const [released] = await results([session.release()]);
  return {
    became,
    later,
    released,
    took,
    workers: workers.length,
    isolated: crossOriginIsolated,
    secure: isSecureContext,
  };
}
