/** Training where sizes depend on what is fed; losses of such models are among tests/golden/data/cases (sizes-*). */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const ARRAYS = { float32: Float32Array, int64: BigInt64Array };

function tensorOf({ type, dims, data }) {
  return new Tensor(type, new ARRAYS[type](Uint8Array.from(Buffer.from(data, 'base64')).buffer), dims);
}

/** A session on the model of a case, the feeds of its steps, and PyTorch's numbers. */
async function opened(name) {
  const read = (file) => readFileSync(join(root, 'tests/golden/data/cases', name, file));
  const { loss, optimizer, steps, want } = JSON.parse(read('case.json').toString());
  const artifacts = await generateArtifacts(new Uint8Array(read('model.onnx')), { ...HERE, loss, optimizer });
  const feeds = steps.map((step) => Object.fromEntries(Object.entries(step).map(([k, v]) => [k, tensorOf(v)])));
  return { session: await TrainingSession.create(artifacts, HERE), feeds, want };
}

test('fit takes batches with other numbers of self loops', async () => {
  const { session, feeds, want } = await opened('sizes-self-loops-dynamo');
  const loops = feeds.map(({ x1 }) => [...x1.data.subarray(0, 9)].filter((from, i) => from === x1.data[9 + i]).length);
  assert.ok(new Set(loops).size > 1, `${loops}`);
  const losses = [];
  await session.fit(feeds, { shuffle: false, onBatch: ({ loss }) => losses.push(loss) });
  assert.equal(losses.length, want.losses.length);
  losses.forEach((loss, i) => {
    assert.ok(Math.abs(loss - want.losses[i]) < 1e-5, `${losses}`);
  });
  await session.release();
});

test('a step moves running statistics once, though a mask depends on what they normalize', async () => {
  const { session, feeds, want } = await opened('sizes-normed-mask-readme-options');
  for (const step of feeds) await session.step(step);
  const at = session.parameters.findIndex(({ name }) => name.endsWith('running_mean'));
  const before = session.parameters.slice(0, at).reduce((bytes, parameter) => bytes + parameter.bytes, 0);
  const { data } = await session.getContiguousParameters('with-statistics');
  want.running_mean.forEach((mean, i) => {
    const got = data[before / 4 + i];
    assert.ok(Math.abs(got - mean) < 1e-6, `${got}, wanted ${mean}`);
  });
  await session.release();
});

test('a feed that is lacking is named, before anything is computed', async () => {
  const { session, feeds } = await opened('sizes-self-loops-dynamo');
  const { x0, target } = feeds[0];
  await assert.rejects(session.step({ x0, target }), { code: 'invalid-feed', message: /x1/ });
  await session.release();
});
