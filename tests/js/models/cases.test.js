/**
 * Small models of today's exporters that once came out wrong (tests/golden/data/cases/README.md): outputs and losses
 * are those of PyTorch, Keras and scikit-learn.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const folder = join(root, 'tests/golden/data/cases');
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'case.json')));

/** A tensor of a note: `data` holds base64 of little-endian bytes, or the values. */
function tensorOf({ type, dims, data }) {
  if (typeof data !== 'string') return new Tensor(type, type.endsWith('int64') ? data.map(BigInt) : data, dims);
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  const Elements = new Tensor(type, [], [0]).data.constructor;
  return new Tensor(type, new Elements(bytes.buffer), dims);
}
const tensorsOf = (notes) => Object.fromEntries(Object.entries(notes).map(([name, note]) => [name, tensorOf(note)]));

const near = (got, want, within, what) =>
  typeof want[0] === 'string'
    ? assert.deepEqual([...got], [...want], what)
    : assertNear(Array.from(got, Number), Array.from(want, Number), { absolute: within }, what);

const firstOf = (outputs) => Object.values(outputs)[0].data;

/** Losses of steps, then the output for `test`; `within`: the note's own tolerance, absolute. */
async function train(model, { loss, optimizer, options, steps, test: feeds, want, before, warned }, within) {
  const artifacts = await generateArtifacts(model, { loss, optimizer, ...options });
  if (warned) checkWarnings(artifacts.warnings, warned);
  const session = await TrainingSession.create(artifacts, HERE);
  if (before) near(firstOf(await session.predict(tensorsOf(feeds))), before, within, 'output before');
  const losses = [];
  for (const step of steps) losses.push((await session.step(tensorsOf(step))).loss);
  near(losses, want.losses, within, 'losses');
  if (want.after) near(firstOf(await session.predict(tensorsOf(feeds))), tensorOf(want.after).data, within, 'output');
  await session.release();
}

/** One warning for each pattern. */
function checkWarnings(warnings, patterns) {
  assert.equal(warnings.length, patterns.length, warnings.join('\n'));
  patterns.forEach((pattern, i) => assert.match(warnings[i], new RegExp(pattern)));
}

const trainedOf = (session) => session.parameters.filter((p) => p.trainable).map((p) => [p.name, p.dims]);

/** A model that was exported before any step trains as the one of which it was made. */
async function trainExported(model, note, within) {
  const artifacts = await generateArtifacts(model, { loss: note.loss, optimizer: note.optimizer, ...note.options });
  const session = await TrainingSession.create(artifacts, HERE);
  const exported = await session.exportModel();
  const again = await generateArtifacts(exported, { loss: note.loss, optimizer: note.optimizer, ...note.options });
  const second = await TrainingSession.create(again, HERE);
  assert.deepEqual(trainedOf(second).sort(), trainedOf(session).sort());
  const losses = [];
  for (const step of note.steps) losses.push((await second.step(tensorsOf(step))).loss);
  near(losses, note.want.losses, within, 'losses of the exported model');
  await session.release();
  await second.release();
}

function nearAll(outputs, expected, within) {
  for (const [name, note] of Object.entries(expected))
    near(outputs[name].data, tensorOf(note).data, within, `output ${name}`);
}

async function run(model, { feeds, expected }, within) {
  const session = await InferenceSession.create(model, HERE);
  nearAll(await session.run(tensorsOf(feeds)), expected, within);
  await session.release();
}

/** Runs with other weights than the model's, or expects the sentence that refuses them. */
async function runWith(weights, model, { feeds, expected, refused }, within) {
  const artifacts = generateArtifacts(model, { loss: 'mse', weights, ...HERE });
  if (refused) {
    await assert.rejects(artifacts, { code: 'invalid-argument', message: new RegExp(refused) });
    return;
  }
  const session = await TrainingSession.create(await artifacts, HERE);
  nearAll(await session.predict(tensorsOf(feeds)), expected, within);
  await session.release();
}

/** `models/CASE` of one batch: the same feeds with a target in each step. */
const asSteps = ({ feeds, target, loss, lr, expected, options }) => ({
  loss,
  options,
  optimizer: { type: 'sgd', lr },
  steps: expected.losses.map(() => ({ ...feeds, target })),
  test: feeds,
  before: expected.output.data,
  want: { losses: expected.losses },
});

for (const name of names)
  test(name, async () => {
    const read = (file) => new Uint8Array(readFileSync(join(folder, name, file)));
    const note = JSON.parse(Buffer.from(read('case.json')).toString('utf8'));
    const within = note.within ?? 1e-4;
    const model = read('model.onnx');
    if (note.warned && !note.steps)
      checkWarnings((await generateArtifacts(model, { loss: note.loss })).warnings, note.warned);
    const steps = note.steps ? note : note.expected?.losses ? asSteps(note) : null;
    if (steps) {
      await train(model, steps, within);
      await trainExported(model, steps, within);
    } else if (existsSync(join(folder, name, 'new.safetensors')))
      await runWith(read('new.safetensors'), model, note, within);
    else if (note.expected) await run(model, note, within);
  });
