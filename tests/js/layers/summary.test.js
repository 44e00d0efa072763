/** Summaries are those that Keras prints of the same networks (tests/golden/scripts/make_layers.py). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor } from '../../../js/index.js';
import * as layers from '../../../js/layers/index.js';
import { golden } from '../../support/layers.js';

const { batchNormalization, bidirectional, concatenate, conv2d, dense, dropout, globalAveragePooling2d, input, lstm } =
  layers;
const { model, normalization, sequential, summary } = layers;

const NETWORKS = {
  chain: () =>
    sequential([input([13]), dense(64, { activation: 'relu' }), dropout(0.5), batchNormalization(), dense(1)]),
  row: () => {
    const x = input([null, 4]);
    return model({ inputs: x, outputs: dense(1000000)(bidirectional(lstm(8))(x)), name: 'row' });
  },
  branches: () => {
    const [pictures, table] = [input([3, 16, 16], { name: 'pictures' }), input([5])];
    const x = globalAveragePooling2d()(conv2d(8, 3, { padding: 'same', activation: 'relu' })(pictures));
    const shared = dense(8);
    const [y, z] = [shared(table), shared(dense(5)(table))];
    const both = layers.add()(x, y, z);
    const joined = concatenate({ name: 'a_very_long_name_that_must_be_cut_somewhere' })([both, x]);
    const outputs = [dense(1, { name: 'price' })(joined), dense(3, { activation: 'softmax', name: 'kind' })(both)];
    return model({ inputs: [pictures, table], outputs });
  },
  adapted: () => {
    const data = new Tensor('float32', new Float32Array(130).fill(2), [10, 13]);
    return sequential([input([13]), normalization().adapt(data), dense(2)]);
  },
};

test('each summary of the goldens has its network', () => {
  assert.deepEqual(Object.keys(golden.summaries), Object.keys(NETWORKS));
});

for (const [name, make] of Object.entries(NETWORKS))
  test(`the summary of ${name}`, async () => {
    const text = (await summary(await make())).trimEnd();
    assert.equal(text, golden.summaries[name].replace(/^ *\n/gm, '').trimEnd());
  });

test('what is no network of ours is refused', async () => {
  for (const bytes of [new Uint8Array(), Uint8Array.of(255, 1, 2), new Uint8Array(64)])
    await assert.rejects(summary(bytes), {
      code: 'invalid-argument',
      message: 'summary: wanted the bytes that sequential(…) or model(…) gave',
    });
});
