// Constants that PyTorch's exporter computed from parameters: what it computed them from trains, as in PyTorch.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, message, modelProto, node, nodeProto, opsetId, weight } from '../../support/onnx-file.js';
import { HERE, root } from '../../support/engines.js';

const numbers = JSON.parse(readFileSync(join(root, 'tests/golden/data/computed.json'), 'utf8'));
const optimizer = { type: 'sgd', lr: numbers.lr };

const float32 = (data, dims) => new Tensor('float32', Float32Array.from(data), dims);
const feedOf = (name, { x, xDims }) =>
  name === 'words' ? new Tensor('int64', BigInt64Array.from(x, BigInt), xDims) : float32(x, xDims);

/** Among what trains: names that the exporter made up, by what they begin with. */
const TRAINED = { words: ['embedding', 'last.weight'], patches: ['expand', 'place'] };

for (const name of ['words', 'patches'])
  for (const batch of [1, 2])
    test(`${name}, exported with ${batch} example(s): the losses of five steps on three`, async () => {
      const own = numbers[name];
      const model = readFileSync(join(root, `tests/golden/data/computed/${name}_${batch}.onnx`));
      const { warnings, ...artifacts } = await generateArtifacts(model, { ...HERE, loss: 'mse', optimizer });
      assert.match(warnings.join('\n'), /was exported with a fixed batch, which is free now/);
      assert.doesNotMatch(warnings.join('\n'), /not trained/);
      const session = await TrainingSession.create(artifacts, HERE);
      const trained = session.parameters.filter(({ trainable }) => trainable).map((p) => p.name);
      for (const start of TRAINED[name])
        assert.ok(
          trained.some((p) => p.startsWith(start)),
          `${start} of ${trained}`,
        );
      const feeds = { x: feedOf(name, own), target: float32(own.target, own.yDims) };
      for (const wanted of own.losses) {
        const { loss } = await session.step(feeds);
        assert.ok(Math.abs(loss - wanted) < 1e-4 * wanted, `${loss}, PyTorch has ${wanted}`);
      }
      const exported = await session.exportModel();
      const again = await generateArtifacts(exported, { ...HERE, loss: 'mse', optimizer });
      const count = (s) => s.parameters.reduce((sum, p) => sum + p.dims.reduce((a, b) => a * b, 1), 0);
      const later = await TrainingSession.create(again, HERE);
      assert.equal(count(later), count(session), 'a tied weight is in the exported model once');
      await Promise.all([session.release(), later.release()]);
    });

test('a parameter that the exporter took through exp is told, one that it moved is not', async () => {
  const note = (key, value) => message([1, key], [2, value]);
  const signature = "p_s: PARAMETER target='s'\np_w: PARAMETER target='w'\n";
  const origin = (name, list) => nodeProto({ input: name, opType: note('pkg.onnxscript.optimizer.folded_from', list) });
  const of = (name) =>
    modelProto({
      graph: graphProto({
        node: [node('MatMul', ['x', 'permute'], 'h'), node('Mul', ['h', name], 'y')],
        name: 'g',
        initializer: [weight('permute', [4, 3], 4, 1), weight(name, [1], 1, 2)],
        input: info('x', 1, [2, 4]),
        output: info('y', 1, [2, 3]),
        valueInfo: [origin('permute', "['w']"), origin(name, "['s', 'val_0']")],
        metadataProps: note('pkg.torch.export.ExportedProgram.graph_signature', signature),
      }),
      opsetImport: opsetId(17),
    });
  const warningsOf = async (name) =>
    (await generateArtifacts(of(name), { ...HERE, batch: 'fixed', loss: 'mse', optimizer })).warnings;
  assert.deepEqual(await warningsOf('view'), []);
  const [warning, ...others] = await warningsOf('exp_1');
  assert.match(warning, /^the exporter computed 'exp_1' from the parameter 's', .* \(1 such\); .* optimize=False/);
  assert.deepEqual(others, []);
});
