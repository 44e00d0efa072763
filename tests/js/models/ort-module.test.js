/** A training graph as ORTModule writes it, with YieldOp and ATen: it trains as PyTorch and as our own artifacts do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { batchBits } from '../../support/recipe.js';
import { golden } from '../../support/clusters.js';
import { REPRODUCIBLE } from '../../support/engines.js';

const WANTED = JSON.parse(new TextDecoder().decode(golden('ort_module/golden.json')));
const { words, length, batch } = WANTED;
const artifacts = await generateArtifacts(golden('ort_module/forward.onnx'), {
  loss: 'outside',
  optimizer: { type: 'sgd', lr: WANTED.lr },
  requiresGrad: ['*'],
  frozen: ['mask'],
  ...REPRODUCIBLE,
});

/** A step's words, and those that follow each. @param {number} step */
function textOf(step) {
  const text = Array.from({ length: batch * (length + 1) }, (_, i) => batchBits(70 + step, i) % words);
  const rows = Array.from({ length: batch }, (_, n) => text.slice(n * (length + 1), (n + 1) * (length + 1)));
  const ids = rows.flatMap((row) => row.slice(0, -1).map(BigInt));
  return { ids: new Tensor('int64', ids, [batch, length]), next: rows.flatMap((row) => row.slice(1)) };
}

/** Mean cross-entropy, and its gradient. @param {Tensor} logits @param {number[]} next */
function crossEntropy({ data, dims }, next) {
  const gradient = new Float32Array(data.length);
  let loss = 0;
  next.forEach((word, i) => {
    const row = Array.from(data.subarray(i * words, (i + 1) * words), Math.exp);
    const sum = row.reduce((a, b) => a + b);
    loss -= Math.log(row[word] / sum) / next.length;
    row.forEach((x, w) => {
      gradient[i * words + w] = (x / sum - Number(w === word)) / next.length;
    });
  });
  return { loss, gradient: new Tensor('float32', gradient, dims) };
}

for (const [whose, trainModel] of Object.entries({
  'of ORTModule': golden('ort_module/training.onnx'),
  'of ours': artifacts.trainModel,
})) {
  test(`a training graph ${whose} trains as PyTorch does`, async () => {
    const session = await TrainingSession.create({ ...artifacts, trainModel }, REPRODUCIBLE);
    assert.deepEqual(session.trainingOutputNames, ['logits', 'hidden']);
    const names = Object.keys(WANTED.changes);
    const start = await Promise.all(names.map((name) => session.getParameter(name)));
    const losses = [];
    for (let step = 0; step < WANTED.losses.length; step++) {
      const { ids, next } = textOf(step);
      const { outputs, backward } = await session.forward({ ids });
      const { loss, gradient } = crossEntropy(outputs.logits, next);
      await backward({ logits: gradient });
      await session.runOptimizerStep();
      await session.lazyResetGrad();
      losses.push(loss);
    }
    losses.forEach((loss, i) => {
      assert.ok(Math.abs(loss - WANTED.losses[i]) < 1e-5, `${losses} instead of ${WANTED.losses}`);
    });
    for (const [at, name] of names.entries()) {
      const { data } = await session.getParameter(name);
      const change = data.reduce((sum, value, i) => sum + Math.abs(value - start[at].data[i]), 0);
      assert.ok(Math.abs(change - WANTED.changes[name]) < 1e-4, `${name}: ${change}, ${WANTED.changes[name]}`);
    }
    await session.release();
  });
}

test('its hidden output takes no gradient, and an inference session says what runs it', async () => {
  const trainModel = golden('ort_module/training.onnx');
  const session = await TrainingSession.create({ ...artifacts, trainModel }, REPRODUCIBLE);
  const { outputs, backward, drop } = await session.forward({ ids: textOf(0).ids });
  await assert.rejects(backward({ hidden: outputs.hidden }), /no option 'hidden'; it knows logits/);
  await drop();
  await session.release();
  const inference = await InferenceSession.create(trainModel, REPRODUCIBLE);
  await assert.rejects(inference.run({ ids: textOf(0).ids }), { code: 'invalid-feed' });
  await inference.release();
});

test('gradients that do not come from the YieldOp are refused', async () => {
  const trainModel = golden('ort_module/aside.onnx');
  const session = await TrainingSession.create({ ...artifacts, trainModel }, REPRODUCIBLE);
  await assert.rejects(session.forward({ ids: textOf(0).ids }), {
    code: 'invalid-model',
    message: /^YieldOp 'YieldOp_logits_grad': no gradient of the training model comes from it$/,
  });
  await session.release();
});
