/**
 * Threads of Node that are ended, calls that are aborted and sessions that are released, all at random moments: every
 * promise settles, and Node ends.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SESSIONS = Number(process.env.DEATHS ?? 12); // more on demand
const PROGRAM = `
  import { generateArtifacts, TrainingSession } from '../../../js/index.js';
  import { labelsFor, slowFeeds, slowInput, slowModel } from '../../support/slow-models.js';
  import { batchUnit } from '../../support/recipe.js';

  let drawn = 0;
  const draw = (n) => Math.floor(n * batchUnit(7, drawn++));
  const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
  let workers = [];
  process.on('worker', (worker) => { workers.push(worker); });
  const artifacts = await generateArtifacts(slowModel(3), { loss: 'cross-entropy', optimizer: 'sgd' });
  const CODES = ['aborted', 'released', 'worker-died'];
  const feeds = slowFeeds(128), data = { inputs: slowInput(128), labels: { labels: labelsFor(128) } };

  /** All outcomes of the promises; null for one that is still open after a minute. */
  const settled = (promises) => Promise.all(promises.map((promise) => Promise.race([
    promise.then(() => 'done', (error) => (error.name === 'TrainletError' ? error.code : String(error))), \
new Promise((resolve) => { setTimeout(resolve, 60_000, null).unref(); })])));

  async function live(i) {
    workers = [];
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const end = [() => workers[0]?.terminate(), () => workers[draw(workers.length)]?.terminate(), \
() => stop.abort(), (s) => s?.release(),
      (s) => s?.release(options), () => { stop.abort(); workers[0]?.terminate(); }][i % 6];
    const creating = TrainingSession.create(artifacts, { threads: 1 + draw(3), worker: i % 4 !== 3, \
...(draw(2) && options) });
    if (draw(3) === 0) setTimeout(end, draw(120));
    const [created] = await settled([creating]);
    if (created !== 'done') return [created];
    const session = await creating;
    const calls = [session.step(feeds, options), session.step(feeds), session.predict(slowInput(64), options), \
session.fit(data, { batchSize: 64, ...options }),
      session.evaluate(data, options), session.saveCheckpoint(), session.runOptimizerStep(options)];
    const before = settled(calls); // from here on: the end may come at any moment
    await pause(draw(600));
    const ending = [end(session)];
    const after = settled([session.step(feeds), session.getLearningRate(), ...ending.filter((e) => e?.then)]);
    return [...await before, ...await after, ...await settled([session.release(), session.release()])];
  }

  for (let i = 0; i < ${SESSIONS}; i++) {
    const results = await live(i);
    console.log(JSON.stringify(results));
    const wrong = results.find((result) => result !== 'done' && !CODES.includes(result));
    if (wrong !== undefined) throw new Error('session ' + i + ': ' + results);
  }
  console.log('over');`;

test(`${SESSIONS} sessions end at random moments`, { timeout: 60_000 + 30_000 * SESSIONS }, async (t) => {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM], { cwd: here });
  const lines = stdout.trim().split('\n');
  assert.equal(lines.pop(), 'over');
  // among remarks on helpers that did not start
  const codes = lines.filter((line) => line.startsWith('[')).flatMap((line) => JSON.parse(line));
  for (const code of ['done', 'aborted', 'released', 'worker-died']) {
    const count = codes.filter((c) => c === code).length;
    t.diagnostic(`${code}: ${count}`);
    assert.ok(count > 0, `none of the calls was ${code}`);
  }
});
