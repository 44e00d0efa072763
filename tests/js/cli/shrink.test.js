// `trainlet shrink`: a build of just what models need gives their bits, refuses others by name, and takes no wrong
// list.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { FEATURES } from '../../../js/cli/shrink/features.js';
import { KINDS, keepNothing, merge, printKeep, readKeep } from '../../../js/cli/shrink/keep.js';
import { Build } from '../../../js/cli/shrink/shrink.js';
import { compactArtifacts, generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { outputsOf } from '../../support/ml-models.js';
import { HERE } from '../../support/engines.js';

const model = readFileSync('tests/golden/data/mlp_small.onnx');
const folder = mkdtempSync(join(tmpdir(), 'trainlet-shrink-test-'));
const at = (name) => join(folder, name);
const cli = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['js/cli/index.js', ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
};
const feeds = (inputs) => ({
  [inputs[0].name]: new Tensor(
    'float32',
    Float32Array.from({ length: 160 }, (_, i) => Math.sin(i)),
    [8, 20],
  ),
  [inputs[1].name]: new Tensor(
    'int64',
    BigInt64Array.from({ length: 8 }, (_, i) => BigInt(i % 2)),
    [8],
  ),
});
const here = { ...HERE, reproducible: true };

/** Losses of five steps, the checkpoint and the exported model. */
async function trained(artifacts, options) {
  const session = await TrainingSession.create(artifacts, { ...here, ...options });
  const losses = [];
  for (let i = 0; i < 5; i++) losses.push((await session.step(feeds(session.trainingInputs))).loss);
  const checkpoint = await session.saveCheckpoint();
  const exported = await session.exportModel();
  await session.release();
  return { losses, checkpoint, exported };
}

// The files can be shrunk only where lld linked them.
const isLinked = Object.keys(JSON.parse(readFileSync('js/cli/shrink/layouts.json', 'utf8'))).length > 0;

describe('trainlet shrink', { skip: !isLinked && 'lld is not here' }, () => {
  let artifacts;
  let made;
  before(async () => {
    artifacts = await generateArtifacts(model, { loss: 'cross-entropy', ...here });
    writeFileSync(at('mlp.onnx'), model);
    assert.equal(cli('artifacts', at('mlp.onnx'), '--loss', 'cross-entropy', '-o', at('mlp')).status, 0);
    made = cli('shrink', at('mlp'), '-o', at('out'));
    assert.equal(made.status, 0, made.stderr);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('a third of the size, the same losses, checkpoint and model', async () => {
    const wasmBinary = readFileSync(at('out/trainlet.wasm'));
    const whole = brotliCompressSync(readFileSync('js/engine/trainlet.wasm')).length;
    assert.ok(brotliCompressSync(wasmBinary).length < 0.33 * whole, made.stdout);
    assert.deepEqual(await trained(artifacts, { wasmBinary }), await trained(artifacts));
  });

  test('what was left out is refused by name, and the session stays usable', async () => {
    const wasmBinary = readFileSync(at('out/trainlet.wasm'));
    const refused = (what) => ({ code: 'unsupported-op', message: `this build was shrunk for mlp and has no ${what}` });
    const session = await TrainingSession.create(artifacts, { ...here, wasmBinary });
    await assert.rejects(session.setTrainable(['*']), refused('set trainable'));
    await assert.rejects(session.saveCheckpoint({ format: 'ort' }), refused("writer of ONNX Runtime's checkpoints"));
    assert.ok((await session.step(feeds(session.trainingInputs))).loss > 0);
    await session.release();
    await assert.rejects(generateArtifacts(model, { loss: 'mse', ...here, wasmBinary }), refused('artifacts new'));
    await assert.rejects(InferenceSession.create(model, { ...here, wasmBinary }), refused('reader of ONNX models'));
    const other = await generateArtifacts(readFileSync('tests/golden/data/cnn_bn.onnx'), {
      loss: 'cross-entropy',
      ...here,
    });
    await assert.rejects(TrainingSession.create(other, { ...here, wasmBinary }), {
      code: 'unsupported-op',
      message: /^this build was shrunk for mlp and has no operator .*Conv/,
    });
    const adam = await generateArtifacts(model, { loss: 'cross-entropy', optimizer: 'adagrad', ...here });
    await assert.rejects(TrainingSession.create(adam, { ...here, wasmBinary }), refused('optimizer adagrad'));
  });

  test('its list, read back, makes the same file; the loader names it', async () => {
    const again = cli('shrink', at('mlp'), '--exactly', '--keep', at('out/keep.config'), '-o', at('again'));
    assert.equal(again.status, 0, again.stderr);
    assert.deepEqual(readFileSync(at('again/trainlet.wasm')), readFileSync(at('out/trainlet.wasm')));
    assert.match(cli('shrink', at('mlp'), '--list').stdout, /^operator ai\.onnx\.Gemm$/m);
    const { engine } = await import(at('out/index.js'));
    assert.ok(existsSync(engine.wasmUrl));
    const options = { worker: false, ...engine };
    assert.deepEqual((await trained(artifacts, options)).losses, (await trained(artifacts)).losses);
  });

  test('a list that lacks what the model needs, and files that are not ours: one sentence each', () => {
    const list = readFileSync(at('out/keep.config'), 'utf8');
    const wrong = (text, said, ...more) => {
      writeFileSync(at('wrong.config'), text);
      const { status, stderr } = cli(
        'shrink',
        at('mlp'),
        '--exactly',
        '--keep',
        at('wrong.config'),
        '-o',
        at('no'),
        ...more,
      );
      assert.notEqual(status, 0);
      assert.match(stderr.split('\n').at(-2), said);
      assert.ok(!existsSync(at('no')));
    };
    wrong(
      list.replace(/.*ReluGrad\n/, ''),
      /mlp cannot run with what is kept: .* has no operator com\.microsoft\.ReluGrad/,
    );
    wrong(list.replace(/feature onnx\n/, ''), /has no reader of ONNX models/);
    wrong('operator Gem\n', /wrong\.config, line 1: there is no operator Gem/);
    wrong('\0\x1b[2J'.repeat(1000), /wrong\.config, line 1: '.*' is not one of operator, pass/);
    writeFileSync(at('other.wasm'), readFileSync('js/engine/trainlet.wasm').subarray(0, 1000));
    wrong(list, /trainlet\.wasm cannot be shrunk: it is not as/, '--wasm', at('other.wasm'));
    wrong(list, /there is no feature 'exports'/, '--with', 'exports');
    wrong(list, /there is no feature 'constructor'/, '--with', 'constructor');
    wrong(list, /--build must be one of/, '--build', 'small');
    wrong(list, /--build must be one of/, '--build', 'constructor');
  });

  test('a model that an input which is always the same decides: silero v5 at 16 kHz', async () => {
    const file = 'node_modules/@ricky0123/vad-web/dist/silero_vad_v5.onnx';
    const shapes = ['--shape', 'input=1,512', '--shape', 'state=2,1,128', '--batch-size', '1'];
    const made = cli('shrink', file, '--constant', 'sr=16000', ...shapes, '--fast', '-o', at('voice'));
    assert.equal(made.status, 0, made.stderr);
    const run = async (options) => {
      const session = await InferenceSession.create(file, { ...here, constants: { sr: 16_000n }, ...options });
      const input = new Tensor(
        'float32',
        Float32Array.from({ length: 512 }, (_, i) => Math.sin(i / 9)),
        [1, 512],
      );
      const state = new Tensor('float32', new Float32Array(256), [2, 1, 128]);
      const outputs = await session.run({ input, state });
      await session.release();
      return Object.values(outputs).map(({ data }) => [...data]);
    };
    assert.deepEqual(await run({ wasmBinary: readFileSync(at('voice/trainlet.wasm')) }), await run({}));
  });

  test('models of scikit-learn answer as on the whole engine: a tree, a Scaler with a LinearClassifier', async () => {
    const cases = JSON.parse(readFileSync('tests/golden/data/ml.json', 'utf8'));
    const fileOf = (name) => `tests/golden/data/ml/${name}.onnx`;
    const names = ['tree', 'logistic_names'];
    const made = cli('shrink', ...names.map(fileOf), '--batch-size', '6', '--fast', '-o', at('learn'));
    assert.equal(made.status, 0, made.stderr);
    const wasmBinary = readFileSync(at('learn/trainlet.wasm'));
    assert.ok(wasmBinary.length < 0.2 * readFileSync('js/engine/trainlet.wasm').length, made.stdout);
    const answers = (name, options) => outputsOf(readFileSync(fileOf(name)), cases[name], { ...here, ...options });
    for (const name of names) assert.deepEqual(await answers(name, { wasmBinary }), await answers(name));
    await assert.rejects(answers('svr', { wasmBinary }), {
      code: 'unsupported-op',
      message: /^this build was shrunk for tree\.onnx, logistic_names\.onnx and has no operator .*SVMRegressor/,
    });
  });

  test('a language model as PyTorch exports it, whose notes are no sentences', async () => {
    const { status, stderr } = cli('shrink', 'tests/golden/data/lora/gpt2.onnx', '--fast', '-o', at('gpt'));
    assert.equal(status, 0, stderr);
    const ids = new Tensor('int64', BigInt64Array.from([3, 1, 4, 1, 5], BigInt), [1, 5]);
    const bytes = readFileSync('tests/golden/data/lora/gpt2.onnx');
    const [shrunk, whole] = await Promise.all(
      [{ wasmBinary: readFileSync(join(at('gpt'), 'trainlet.wasm')) }, {}].map(async (options) => {
        const session = await InferenceSession.create(bytes, { ...here, ...options });
        return (await session.run({ [session.inputNames[0]]: ids }))[session.outputNames[0]].data;
      }),
    );
    assert.deepEqual(shrunk, whole);
  });

  test('without sentences it is smaller still, and errors have their code', async () => {
    const made = cli('shrink', at('mlp'), '--without', 'sentences', '--without', 'export', '-o', at('mute'));
    assert.equal(made.status, 0, made.stderr);
    const [wasmBinary, with_] = [readFileSync(at('mute/trainlet.wasm')), readFileSync(at('out/trainlet.wasm'))];
    assert.ok(brotliCompressSync(wasmBinary).length < brotliCompressSync(with_).length - 4000);
    const session = await TrainingSession.create(artifacts, { ...here, wasmBinary });
    const wrong = feeds(session.trainingInputs);
    wrong[session.trainingInputNames[1]] = new Tensor('int64', new BigInt64Array(8).fill(99n), [8]);
    await assert.rejects(session.step(wrong), { code: 'invalid-feed' });
    await assert.rejects(session.exportModel(), { message: 'this build was shrunk for mlp and has no export' });
    assert.ok((await session.step(feeds(session.trainingInputs))).loss > 0);
  });

  test('of the ways to compute the same, those stay that the sizes take', async () => {
    const net = readFileSync('tests/golden/data/w2.onnx'); // 3×3 convolutions of 1 and 8 channels, 28×28
    const options = { loss: 'cross-entropy', ...here };
    const file = await compactArtifacts(await generateArtifacts(net, options), here);
    writeFileSync(at('w2.trainlet'), file);
    const made = cli('shrink', at('w2.trainlet'), '--batch-size', '8', '--fast', '-o', at('w2'));
    assert.equal(made.status, 0, made.stderr);
    const list = readFileSync(at('w2/keep.config'), 'utf8');
    assert.match(list, /^feature conv-/m);
    assert.doesNotMatch(list, /^feature few-rows$/m);
    const one = cli('shrink', at('w2.trainlet'), '--batch-size', '1', '--list').stdout;
    assert.match(one, /^feature few-rows$/m);
    const losses = async (size, wasmBinary) => {
      const session = await TrainingSession.create({ compact: file }, { ...here, wasmBinary });
      const [x, labels] = session.trainingInputs;
      const dims = [size, ...x.dims.slice(1)];
      const pixels = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => Math.sin(i / 7));
      const feeds = {
        [x.name]: new Tensor('float32', pixels, dims),
        [labels.name]: new Tensor('int64', new BigInt64Array(size).fill(3n), [size]),
      };
      const all = [(await session.step(feeds)).loss, (await session.step(feeds)).loss];
      await session.release();
      return all;
    };
    const wasmBinary = readFileSync(at('w2/trainlet.wasm'));
    assert.deepEqual(await losses(8, wasmBinary), await losses(8));
    const [came, wanted] = [await losses(1, wasmBinary), await losses(1)];
    came.forEach((loss, i) => assert.ok(Math.abs(loss - wanted[i]) < 1e-4 * wanted[i], `${loss}, not ${wanted[i]}`));
    writeFileSync(at('no-ways.config'), list.replace(/^feature conv-.*\n/gm, ''));
    const refused = cli('shrink', at('w2.trainlet'), '--exactly', '--keep', at('no-ways.config'), '-o', at('no'));
    assert.match(refused.stderr, /w2\.trainlet cannot run with what is kept: .* has no plain convolutions/);
  });

  test('a way that is missing is gone around: sums of rows, as columns of one', () => {
    const node = { op: 'ReduceSum', inputs: ['x', 'axes'], outputs: ['y'], attributes: {} };
    const axes = { type: 'int64', dims: [1], data: BigInt64Array.of(-1n) };
    const bytes = onnxFile({
      name: 'sum',
      nodes: [node],
      weights: [['axes', axes]],
      inputs: [{ name: 'x', type: 'float32', dims: [2, 5, 3] }],
      outputs: [{ name: 'y', type: 'float32', dims: [2, 5, 1] }],
    });
    writeFileSync(at('sum.onnx'), bytes);
    const list = cli('shrink', at('sum.onnx'), '--list').stdout;
    assert.match(list, /^feature row-sums$/m);
    writeFileSync(at('sum.config'), list.replace('feature row-sums\n', ''));
    const exactly = ['--exactly', '--keep', at('sum.config'), '--fast'];
    const made = cli('shrink', at('sum.onnx'), ...exactly, '-o', at('sum')); // succeeds only with the same bits
    assert.equal(made.status, 0, made.stderr);
    assert.doesNotMatch(readFileSync(at('sum/keep.config'), 'utf8'), /row-sums/);
  });

  test('every call and part of the features is in every build, and every part belongs somewhere', async () => {
    for (const name of ['trainlet.wasm', 'trainlet-threads.wasm']) {
      const build = await Build.read(name);
      const ofFeatures = Object.values(FEATURES).flatMap(({ parts = [] }) => parts);
      const ofKinds = ['pass', 'optimizer', 'loss'].flatMap((kind) =>
        [...build.known[kind]].map((it) => `${kind}_${it}`),
      );
      const parts = Object.keys(build.layout.named).filter((it) => it.startsWith('part_'));
      assert.deepEqual(parts.map((it) => it.slice(5)).sort(), [...ofFeatures, ...ofKinds].sort());
    }
  });

  test('lists: printed and read back, merged, and those of ONNX Runtime', () => {
    const known = { ...keepNothing(), operator: new Set(['ai.onnx.Add', 'ai.onnx.Gemm', 'com.microsoft.Gelu']) };
    known.feature.add('export');
    const runtime = readKeep(
      'required_operators.config',
      '# from models\nai.onnx;12,13;Add{"inputs": {"0": ["float"]}},Gemm\ncom.microsoft;1;Gelu\n',
      known,
    );
    assert.deepEqual([...runtime.operator], ['ai.onnx.Add', 'ai.onnx.Gemm', 'com.microsoft.Gelu']);
    const other = readKeep('x', 'feature export # to keep\n\noperator ai.onnx.Add\r\n', known);
    merge(other, runtime);
    assert.deepEqual(readKeep('y', printKeep(other), known), other);
    assert.deepEqual(Object.keys(other), [...KINDS]);
    assert.throws(() => readKeep('z', 'ai.onnx;12;Add,Subtract', known), {
      message: 'z, line 1: there is no operator ai.onnx.Subtract',
    });
  });
});
