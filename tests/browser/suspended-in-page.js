// A session in a page that is suspended or frozen: what became of its calls, and of its training.
import * as trainlet from '../../js/index.js';
import { labelsFor, slowFeeds, slowInput, slowModel } from '../support/slow-models.js';

/** Far less than the 300 ms that open calls have at a release: the other sessions compute beside it. */
const STEP_MS = 60;
const EXAMPLES = 24;
const artifacts = await trainlet.generateArtifacts(slowModel(10), { loss: 'cross-entropy', optimizer: 'sgd' });
const create = () => trainlet.TrainingSession.create(artifacts, { threads: 1 });
const sentence = (call) =>
  call.then(
    () => 'done',
    ({ code, message }) => `${code}: ${message}`,
  );

let events = [];
for (const name of ['freeze', 'resume']) document.addEventListener(name, () => events.push(name));

/** So many rows that a step takes about STEP_MS. */
async function rowsOf(session) {
  await session.step(slowFeeds(16));
  const since = performance.now();
  await session.step(slowFeeds(16));
  return Math.max(1, Math.round((16 * STEP_MS) / (performance.now() - since)));
}

/** Epochs until `enough` says so: the losses of each. */
async function train(session, enough) {
  const losses = [];
  const data = { inputs: slowInput(EXAMPLES), labels: { labels: labelsFor(EXAMPLES) } };
  const take = ({ loss }) => {
    losses.push(loss);
  };
  while (!enough(losses.length)) await session.fit(data, { batchSize: 4, resume: false, onBatch: take });
  return losses;
}

let begun, over, open;

/** Starts sessions to stop at once: one with a step to be stopped, one to be released, and one that trains. */
export async function begin() {
  events = [];
  const sessions = await Promise.all([create(), create(), create()]);
  const rows = await rowsOf(sessions[0]);
  await Promise.all(sessions.map((session) => session.predict(slowInput(rows))));
  begun = { sessions, rows };
}

/** Their calls; with `training`, a training in place of the others. */
export function call(training) {
  const { sessions, rows } = begun;
  const [stopped, released, trains] = sessions;
  const stop = new AbortController();
  open = true;
  const trained = train(trains, () => !training || !open);
  const steps = training
    ? []
    : [stopped.step(slowFeeds(rows), { signal: stop.signal }), released.step(slowFeeds(rows)), released.release()];
  stop.abort();
  over = finish(steps.map(sentence), trained);
}

async function finish(calls, trained) {
  const [stopped, , training] = begun.sessions;
  const became = await Promise.all(calls);
  const later = await sentence(stopped.getLearningRate());
  const losses = await trained;
  await training.release();
  const again = await create();
  const plain = await train(again, (count) => count >= losses.length);
  await Promise.all([stopped, again].map((session) => session.release()));
  return { became, later, losses, plain, events, secure: isSecureContext };
}

/** Results of all calls. */
export async function end() {
  open = false;
  return await over;
}
