/**
 * Networks that others have trained and ship in npm packages: they run as in onnxruntime-web, and every weight of
 * theirs trains.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { batchTensor } from '../../support/recipe.js';
import { MODELS, shipped } from '../../support/real-models.js';
import { loadOrtTraining } from '../../support/ort.js';

const ort = loadOrtTraining();

const tensorOf = (spec, seed) => {
  if (spec.data) return spec;
  const [batch, ...dims] = spec.dims;
  return batchTensor({ ...spec, dims, seed }, batch, 0);
};
const feedsIn = (T, specs) =>
  Object.fromEntries(
    Object.entries(specs).map(([name, spec], i) => {
      const { type, data, dims } = tensorOf(spec, 1 + i);
      return [name, new T(type, data, dims)];
    }),
  );
const batchIn = (T, { feeds, loss, label }) =>
  feedsIn(T, { ...feeds, [loss === 'cross-entropy' ? 'labels' : 'target']: label });
const farthest = (a, b) => a.reduce((worst, v, i) => Math.max(worst, Math.abs(v - b[i])), 0);
const largest = (a) => a.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

/** Names → values of the trained parameters. */
async function parametersOf(session) {
  const found = {};
  for (const { name, trainable } of session.parameters)
    if (trainable) found[name] = (await session.getParameter(name)).data.slice();
  return found;
}

/** Inputs that are bound once. */
const constantsOf = ({ constants = {} }) => feedsIn(Tensor, constants);

const artifactsOf = (model, optimizer) =>
  generateArtifacts(shipped(model.file), {
    loss: model.loss,
    optimizer,
    constants: constantsOf(model),
    ...(model.scores && { lossInputs: [model.scores] }),
  });

/**
 * A small share suffers from the rounding of the loss, a large one from bends, and batch statistics of few examples
 * bend a lot: of a hundred slopes five may.
 */
const SHARES = [1e-5, 3e-6, 1e-4];

for (const [title, model] of Object.entries(MODELS)) {
  test(`${title}: gives what onnxruntime-web gives`, async (t) => {
    const bytes = shipped(model.file);
    const ours = await InferenceSession.create(bytes, { constants: constantsOf(model) });
    const theirs = await ort.InferenceSession.create(bytes);
    const a = await ours.run(feedsIn(Tensor, model.feeds));
    const b = await theirs.run(feedsIn(ort.Tensor, { ...model.feeds, ...model.constants }));
    assert.deepEqual(Object.keys(a), Object.keys(b));
    for (const name of Object.keys(b)) {
      assert.deepEqual([...a[name].dims], [...b[name].dims]);
      const [off, size] = [farthest(a[name].data, b[name].data), largest(b[name].data)];
      t.diagnostic(`${b[name].dims}: off by ${off.toExponential(1)} of ${size.toPrecision(3)}`);
      assert.ok(off <= 1e-4 * Math.max(1, size));
    }
    await Promise.all([ours.release(), theirs.release()]);
  });

  if (model.refused)
    test(`${title}: is refused for training by the node whose condition is computed`, async () => {
      await assert.rejects(
        artifactsOf(model, 'sgd'),
        ({ code, node, message }) =>
          code === 'unsupported-op' &&
          node === model.refused &&
          message.startsWith(`If '${model.refused}': input 0 (`) &&
          message.endsWith('it is computed from fed values'),
      );
    });

  if (model.label)
    test(`${title}: the loss falls, every parameter moves, and onnxruntime-web runs what is exported`, async (t) => {
      const session = await TrainingSession.create(await artifactsOf(model, { type: 'adam', lr: 1e-4 }));
      const before = await parametersOf(session);
      const losses = [];
      for (let i = 0; i < 6; i++) losses.push((await session.step(batchIn(Tensor, model))).loss);
      const after = await parametersOf(session);
      t.diagnostic(
        `${Object.keys(before).length} parameters; losses ${losses.map((loss) => loss.toPrecision(4)).join(' ')}`,
      );
      assert.ok(losses[5] < losses[0] && losses[1] < losses[0]);
      assert.deepEqual(
        Object.keys(before).filter((name) => farthest(before[name], after[name]) === 0),
        [],
      );

      // The trained model as a plain one, whose output is what the loss looked at.
      const exported = await session.exportModel({ outputs: [model.scores] });
      const theirs = await ort.InferenceSession.create(exported);
      const [here] = Object.values(await session.predict(feedsIn(Tensor, model.feeds), theirs.outputNames));
      const [there] = Object.values(await theirs.run(feedsIn(ort.Tensor, model.feeds)));
      const off = farthest(here.data, there.data) / Math.max(1, largest(there.data));
      t.diagnostic(
        `exported, it is off by ${off.toExponential(1)} from ONNX Runtime's ${largest(there.data).toPrecision(3)}`,
      );
      assert.ok(off <= 1e-4);
      await theirs.release();
      await session.release();
    });

  if (model.onOrt)
    test(`${title}: losses are those of onnxruntime-web's training`, async (t) => {
      const artifacts = await artifactsOf(model, { type: 'sgd', lr: 0.001 });
      for (const warning of artifacts.warnings) assert.match(warning, /with a fixed batch, which is free now/);
      const [ours, theirs] = [await TrainingSession.create(artifacts), await ort.TrainingSession.create(artifacts)];
      const [a, b] = [await lossesOf(ours, batchIn(Tensor, model)), await lossesOf(theirs, batchIn(ort.Tensor, model))];
      t.diagnostic(`${a.map((loss) => loss.toPrecision(5))}; theirs ${b.map((loss) => loss.toPrecision(5))}`);
      a.forEach((loss, i) => {
        assert.ok(Math.abs(loss - b[i]) <= 1e-4 * Math.max(Math.abs(b[i]), 1e-2), `loss ${i}: ${loss}, theirs ${b[i]}`);
      });
      assert.notEqual(a[3], a[0]);
      await Promise.all([ours.release(), theirs.release()]);
    });

  if (model.label)
    test(`${title}: gradients are the slopes of the loss`, async (t) => {
      const session = await TrainingSession.create(await artifactsOf(model, { type: 'sgd', lr: 1 }), { worker: false });
      const feeds = batchIn(Tensor, model);
      const lossOf = async () => (await session.runTrainStep(feeds))[session.trainingOutputNames[0]].data[0];
      const before = await parametersOf(session);
      await session.step(feeds);
      const after = await parametersOf(session);
      const set = (name, values) =>
        session.setParameter(name, new Tensor('float32', values, session.parameters.find((p) => p.name === name).dims));
      for (const name of Object.keys(before)) await set(name, before[name]);
      const loss = await lossOf();
      /** Rise of the loss along the gradient over what the gradient says, when the loss moves by this share of it. */
      const slopeOf = async (name, gradient, squares, share) => {
        const step = (share * loss) / squares;
        const ends = [];
        for (const side of [step, -step]) {
          await set(
            name,
            before[name].map((v, i) => v + side * gradient[i]),
          );
          ends.push(await lossOf());
        }
        await set(name, before[name]);
        return (ends[0] - ends[1]) / (2 * step * squares);
      };
      const steep = [],
        off = [];
      for (const name of Object.keys(before)) {
        const gradient = before[name].map((v, i) => v - after[name][i]);
        const squares = gradient.reduce((sum, g) => sum + g * g, 0);
        // too flat for the differences of float32
        if ((1e-4 * loss * largest(gradient)) / squares > 0.1 * largest(before[name])) continue;
        steep.push(name);
        const slopes = [];
        while (slopes.length < SHARES.length && !(Math.abs(slopes.at(-1) - 1) < 0.05))
          slopes.push(await slopeOf(name, gradient, squares, SHARES[slopes.length]));
        if (!(Math.abs(slopes.at(-1) - 1) < 0.05)) off.push(`${name}: ${slopes.map((slope) => slope.toFixed(2))}`);
      }
      t.diagnostic(
        `${steep.length} of ${Object.keys(before).length} parameters are steep enough; ` +
          `unlike what the gradient says: ${off.join('; ') || 'none'}`,
      );
      assert.ok(steep.length > 0.8 * Object.keys(before).length);
      assert.ok(
        off.length <= 0.05 * steep.length,
        `the loss rises by these times what the gradient says: ${off.join('; ')}`,
      );
      await session.release();
    });
}

/** Four steps, by the calls that both have. */
async function lossesOf(session, feeds) {
  const losses = [];
  for (let i = 0; i < 4; i++) {
    losses.push((await session.runTrainStep(feeds))[session.trainingOutputNames[0]].data[0]);
    await session.runOptimizerStep();
    await session.lazyResetGrad();
  }
  return losses;
}
