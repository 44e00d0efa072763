// LoRA: adapters train as in PEFT, and come from its folders and go there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ort from 'onnxruntime-web-1.30';
import { engine } from '../../../js/cli/checkpoint.js';
import { readSafetensors, writeSafetensors } from '../../../js/formats/safetensors.js';
import {
  generateArtifacts,
  InferenceSession,
  parametersOf,
  planMemory,
  Tensor,
  TrainingSession,
  TrainletError,
} from '../../../js/index.js';
import { gpt } from '../../bench/models/networks.js';
import {
  attribute,
  graphProto,
  info,
  modelProto,
  nodeProto,
  opsetId,
  tensor,
  valueInfoProto,
} from '../../support/onnx-file.js';
import { batchOf, configOf, folderOf, prefixOf, runs, sessionOf } from '../../support/lora-runs.js';
import { batchTensor } from '../../support/recipe.js';
import { HERE, root } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const PEFT = 'base_model.model.';
const near = (got, want, absolute, what) => assertNear(got, want, { absolute }, what);

for (const [name, { losses, logits }] of Object.entries(runs)) {
  test(`${name}: twenty steps from PEFT's folder are PEFT's, and so is the folder that they give`, async () => {
    const first = folderOf(name, 'first');
    const session = await sessionOf(name, configOf(first));
    await session.loadAdapter(first);
    const { inputs, labels } = batchOf(name);
    for (const [i, wanted] of losses.entries()) {
      const { loss } = await session.step({ ...inputs, labels });
      assert.ok(Math.abs(loss - wanted) < 1e-4, `loss ${i + 1}: ${loss}, PEFT has ${wanted}`);
    }
    const { logits: answers } = await session.predict(inputs, ['logits']);
    near(answers.data.slice(0, logits.length), logits, 2e-4, 'logits');
    const made = await session.exportAdapter({ prefix: prefixOf(name) });
    const ours = readSafetensors(made['adapter_model.safetensors'], 'ours').tensors;
    const theirs = readSafetensors(
      folderOf(name, 'last')['adapter_model.safetensors'],
      'theirs',
      TrainletError,
    ).tensors;
    assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort());
    for (const [key, { dims, data }] of theirs) {
      assert.deepEqual(ours.get(key).dims, dims, key);
      near(ours.get(key).data, data, 1e-4, key);
    }
    await checkExports(session, name, inputs, answers.data);
    await session.release();
  });
}

/** The model in its three forms gives stock onnxruntime-web the same logits. */
async function checkExports(session, name, inputs, wanted) {
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([key, { type, data, dims }]) => [key, new ort.Tensor(type, data, dims)]),
  );
  for (const adapters of ['separate', 'merged', 'inputs']) {
    const bytes = await session.exportModel({ adapters });
    const theirs = await ort.InferenceSession.create(bytes);
    const more = theirs.inputNames.filter((input) => !(input in feeds));
    assert.equal(more.length > 0, adapters === 'inputs');
    for (const input of more) {
      const { data, dims } = await session.getParameter(input);
      feeds[input] = new ort.Tensor('float32', data, dims);
    }
    near((await theirs.run(feeds)).logits.data, wanted, 1e-5, `${name}, ${adapters}`);
    if (adapters === 'merged') {
      const left = await parametersOf(bytes, HERE);
      assert.ok(!left.some((one) => one.name.includes('lora')), 'nothing is left of the branches');
    }
    await theirs.release();
  }
}

const node = (op, inputs, output, domain, attributes, name) =>
  nodeProto({
    input: inputs,
    output,
    name,
    opType: op,
    attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    domain,
  });
/** y of x (N, 2, 32). */
const modelOf = (nodes, weights) =>
  modelProto({
    opsetImport: [opsetId(17), opsetId(1, 'com.microsoft')],
    graph: graphProto({
      node: nodes,
      name: 'model',
      initializer: Object.entries(weights).map(([name, [type, dims, data]]) => tensor(name, { type, dims, data })),
      input: info('x', 1, ['N', 2, 32]),
      output: valueInfoProto({ name: 'y' }),
    }),
  });

const mlp = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const onMlp = (lora, more) =>
  generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd', lora, ...more });
const x = new Tensor(
  'float32',
  Float32Array.from({ length: 6 * 20 }, (_, i) => Math.sin(i)),
  [6, 20],
);
const labels = new Tensor('int64', [0n, 1n, 2n, 0n, 1n, 2n], [6]);
const trains = ({ parameters }) => parameters.filter((one) => one.trainable).map((one) => one.name);

test('by default all linear layers but the last are adapted, answers begin as the base’s, the base stays', async () => {
  const session = await TrainingSession.create(await onMlp({}), HERE);
  assert.deepEqual(trains(session), [
    'fc1.lora_A.weight',
    'fc1.lora_B.weight',
    'fc2.lora_A.weight',
    'fc2.lora_B.weight',
  ]);
  const base = await InferenceSession.create(mlp, HERE);
  const [output] = base.outputNames;
  const [before] = Object.values(await base.run({ input: x }));
  assert.deepEqual((await session.predict({ input: x }, [output]))[output].data, before.data);
  const weight = await session.getParameter('fc1.weight');
  const bound = 1 / Math.sqrt(20);
  const { data } = await session.getParameter('fc1.lora_A.weight');
  assert.ok(data.every((one) => Math.abs(one) < bound) && Math.max(...data) > bound / 2, 'even up to 1 / √inputs');
  for (let i = 0; i < 3; i++) await session.step({ input: x, labels });
  assert.deepEqual((await session.getParameter('fc1.weight')).data, weight.data);
  assert.notDeepEqual((await session.predict({ input: x }, [output]))[output].data, before.data);
});

test('a dropout of an adapter drops in training alone, though nothing before it trains', async () => {
  const seen = async (dropout) => {
    const session = await TrainingSession.create(await onMlp({ dropout, alpha: 40 }), HERE);
    const { name, dims } = session.parameters.find((one) => one.name === 'fc1.lora_B.weight');
    await session.setParameter(name, new Tensor('float32', new Float32Array(dims[0] * dims[1]).fill(0.1), dims));
    const [evaluated] = Object.values(await session.runEvalStep({ input: x, labels }));
    return { evaluated: evaluated.data[0], trained: (await session.step({ input: x, labels })).loss };
  };
  const [off, half, again] = [await seen(0), await seen(0.5), await seen(0.5)];
  assert.equal(half.evaluated, off.evaluated);
  assert.equal(off.trained, off.evaluated);
  assert.notEqual(half.trained, half.evaluated);
  assert.equal(half.trained, again.trained, 'the same seed drops the same');
});

test('what is asked for and cannot be is one sentence', async () => {
  const wrong = [
    [
      { targets: ['nothing'] },
      /lora.targets: 'nothing' matches no module that can be adapted; these are fc1, fc2, fc3/,
    ],
    [{ modulesToSave: ['head'] }, /lora.modulesToSave: 'head' matches no module/],
    [{ targets: ['fc1'], exclude: ['fc*'] }, /no module is left to adapt; those of the model are fc1, fc2, fc3/],
    [{ r: 0 }, /lora.r: '0' is not a whole number from 1 to 65536/],
    [{ dropout: 1 }, /lora.dropout: '1' is not a number of at least 0 and below 1/],
    [{ rankPattern: { fc1: 2.5 } }, /lora.rankPattern: 'fc1=2.5' is not pattern=rank/],
    [{ rank: 4 }, /there is no option 'rank'/],
    [{ peft_type: 'LORA', use_dora: true }, /PEFT's use_dora is not supported/],
    [
      { peft_type: 'LORA', target_modules: '.*(q|v)_proj' },
      /target_modules is .*_proj', which matches no module that can be adapted; these are fc1, fc2, fc3/,
    ],
    [
      { peft_type: 'LORA', exclude_modules: 'q_proj' },
      /exclude_modules is the regular expression 'q_proj', which matches no module/,
    ],
    [{ peft_type: 'LORA', target_modules: '(fc' }, /the regular expression '\(fc', which has a '\(' without '\)'/],
    [{ peft_type: 'LORA', target_modules: '((?=(f+)+.*)+)+1' }, /'.*1', which matches no module/],
    [{ peft_type: 'LORA', target_modules: '(?<=f)c' }, /'.*c', which has \(\?<=: name the modules/],
    [{ peft_type: 'LORA', target_modules: `${'(.?)'.repeat(999)}` }, /which is longer than 1000 letters/],
    [{ matching: 'fc1' }, /there is no option 'matching'/],
    [{ peft_type: 'IA3' }, /peft_type is "IA3", not LORA/],
  ];
  for (const [lora, sentence] of wrong)
    await assert.rejects(onMlp(lora), (error) => error.code === 'invalid-argument' && sentence.test(error.message));
  await assert.rejects(onMlp({}, { requiresGrad: ['fc1.*'] }), /by lora.modulesToSave, not by requiresGrad/);
  const plain = await TrainingSession.create(
    await generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd' }),
    HERE,
  );
  await assert.rejects(plain.exportModel({ adapters: 'merged' }), /the model has no adapters/);
  await assert.rejects(plain.exportModel({ adapters: 'both' }), /adapters are exported separate, merged or as inputs/);
  await assert.rejects(plain.exportAdapter(), /the session has no adapter/);
});

test('exclude_modules, too, is a regular expression where it is a text', async () => {
  const lora = { peft_type: 'LORA', target_modules: 'fc.*', exclude_modules: 'fc[13]' };
  const session = await TrainingSession.create(await onMlp(lora), HERE);
  assert.deepEqual(trains(session), ['fc2.lora_A.weight', 'fc2.lora_B.weight']);
  await session.release();
});

const targets = JSON.parse(readFileSync(join(root, 'tests/golden/data/lora_targets.json'), 'utf8'));
for (const [name, rows] of Object.entries(targets))
  test(`${name}: a regular expression chooses the modules that PEFT adapts by it`, async () => {
    for (const { pattern, modules } of rows) {
      const session = await sessionOf(name, { peft_type: 'LORA', r: 2, target_modules: pattern });
      const files = await session.exportAdapter({ prefix: prefixOf(name) });
      const config = JSON.parse(new TextDecoder().decode(files['adapter_config.json']));
      assert.deepEqual(config.target_modules.sort(), modules, pattern);
      await session.release();
    }
  });

test('weights of 4 bits are adapted as the floats that they stand for', async () => {
  const bits = Uint8Array.from({ length: 6 * 2 * 8 }, (_, i) => (37 * i + 11) % 256);
  const scales = Float32Array.from({ length: 12 }, (_, i) => 0.05 + 0.004 * i);
  const wide = Float32Array.from({ length: 32 * 6 }, (_, k) => {
    const [depth, row] = [Math.floor(k / 6), k % 6];
    const byte = bits[(row * 2 + Math.floor(depth / 16)) * 8 + Math.floor((depth % 16) / 2)];
    return scales[row * 2 + Math.floor(depth / 16)] * (((depth % 2 ? byte >> 4 : byte) & 15) - 8);
  });
  const last = Float32Array.from({ length: 18 }, (_, i) => Math.cos(i));
  const quantized = modelOf(
    [
      node(
        'MatMulNBits',
        ['x', 'bits', 'scales'],
        'h',
        'com.microsoft',
        { K: 32, N: 6, bits: 4, block_size: 16 },
        '/q/M',
      ),
      node('MatMul', ['h', 'last'], 'y', '', {}, '/last/MatMul'),
    ],
    { bits: ['uint8', [6, 2, 8], bits], scales: ['float32', [12], scales], last: ['float32', [6, 3], last] },
  );
  const plain = modelOf(
    [node('MatMul', ['x', 'w'], 'h', '', {}, '/q/MatMul'), node('MatMul', ['h', 'last'], 'y', '', {}, '/last/MatMul')],
    { w: ['float32', [32, 6], wide], last: ['float32', [6, 3], last] },
  );
  const feeds = {
    x: new Tensor(
      'float32',
      Float32Array.from({ length: 2 * 2 * 32 }, (_, i) => Math.sin(i)),
      [2, 2, 32],
    ),
    target: new Tensor('float32', new Float32Array(12), [2, 2, 3]),
  };
  const options = { ...HERE, loss: 'mse', optimizer: { type: 'sgd', lr: 0.01 }, lora: { r: 2, targets: ['q'] } };
  const open = async (model) => TrainingSession.create(await generateArtifacts(model, options), HERE);
  const losses = async (model) => {
    const session = await open(model);
    const found = [];
    for (let i = 0; i < 4; i++) found.push((await session.step(feeds)).loss);
    return found;
  };
  const [ours, floats] = [await losses(quantized), await losses(plain)];
  near(ours, floats, 1e-5, 'losses');
  await assert.rejects((await open(quantized)).exportModel({ adapters: 'merged' }), /'\/q\/M'.*no float32 constant/);
  assert.ok(ours[3] < ours[0]);
});

test('names of modules, ranks and alphas by module, modules that train whole, a new head', async () => {
  const lora = {
    r: 4,
    targets: ['first', 'fc2'],
    moduleNames: { 'fc1.weight': 'my.first' },
    rankPattern: { first: 2 },
  };
  const session = await TrainingSession.create(await onMlp({ ...lora, modulesToSave: ['fc3'] }), HERE);
  assert.deepEqual(trains(session).sort(), [
    'fc2.lora_A.weight',
    'fc2.lora_B.weight',
    'fc3.bias',
    'fc3.weight',
    'my.first.lora_A.weight',
    'my.first.lora_B.weight',
  ]);
  const files = await session.exportAdapter({ type: 'bfloat16', baseModel: 'me/mlp' });
  const config = configOf(files);
  assert.deepEqual(config.rank_pattern, { 'my.first': 2 });
  assert.deepEqual(config.modules_to_save, ['fc3']);
  const again = await TrainingSession.create(await onMlp({ ...config, moduleNames: lora.moduleNames }), HERE);
  await again.loadAdapter(files);
  assert.deepEqual(trains(again), trains(session));
  const headed = await TrainingSession.create(await onMlp({}, { head: { classes: ['a', 'b', 'c'] } }), HERE);
  assert.deepEqual(trains(headed).sort().slice(-2), ['head.bias', 'head.weight']);
  const { tensors } = readSafetensors(
    (await headed.exportAdapter())['adapter_model.safetensors'],
    'headed',
    TrainletError,
  );
  assert.ok(tensors.has('base_model.model.head.weight'), 'the head goes with it');
});

test('a file that does not fit is refused, and nothing has changed', async () => {
  const session = await TrainingSession.create(await onMlp({ r: 2 }), HERE);
  const before = await session.getContiguousParameters();
  const { 'adapter_model.safetensors': bytes } = await session.exportAdapter();
  const { tensors } = readSafetensors(bytes, 'own');
  const changed = (change) => {
    const copy = new Map(tensors);
    change(copy);
    return { 'adapter_model.safetensors': writeSafetensors(copy, 'float32') };
  };
  const key = 'base_model.model.fc2.lora_A.weight';
  await assert.rejects(session.loadAdapter(changed((t) => t.delete(key))), /the file has no 'fc2.lora_A.weight'/);
  await assert.rejects(
    session.loadAdapter(changed((t) => t.set(`${PEFT}fc9.lora_A.weight`, tensors.get(key)))),
    /no module here takes base_model.model.fc9/,
  );
  await assert.rejects(
    session.loadAdapter(changed((t) => t.set(key, { dims: [1, 2], data: new Float32Array(2) }))),
    /'base_model.model.fc2.lora_A.weight' is \[1,2\], and 'fc2.lora_A.weight' is/,
  );
  const config = new TextEncoder().encode(JSON.stringify({ peft_type: 'LORA', r: 2, lora_alpha: 16 }));
  await assert.rejects(
    session.loadAdapter({ 'adapter_model.safetensors': bytes, 'adapter_config.json': config }),
    /'fc1' has rank 2 and alpha 8 here, the adapter 2 and 16/,
  );
  assert.deepEqual((await session.getContiguousParameters()).data, before.data);
});

test('the exported model has the adapter in it, and a checkpoint resumes to the bit', async () => {
  const artifacts = await onMlp({ r: 2 });
  const session = await TrainingSession.create(artifacts, HERE);
  for (let i = 0; i < 3; i++) await session.step({ input: x, labels });
  const checkpointState = await session.saveCheckpoint();
  const [output] = (await InferenceSession.create(mlp, HERE)).outputNames;
  const ours = (await session.predict({ input: x }, [output]))[output].data;
  const theirs = await ort.InferenceSession.create(await session.exportModel());
  const { data } = (await theirs.run({ input: new ort.Tensor('float32', x.data, x.dims) }))[output];
  near(ours, data, 1e-5, 'in onnxruntime-web');
  const again = await TrainingSession.create({ ...artifacts, checkpointState }, HERE);
  const [a, b] = [await session.step({ input: x, labels }), await again.step({ input: x, labels })];
  assert.equal(a.loss, b.loss);
});

test('safetensors: numbers of 16 bits as NumPy and PyTorch round them', () => {
  const third = 1 / 3;
  const given = [third, -third, 65504, 65519.99, 65520, 6e-8, 2.98e-8, 3e-8, 1e-7, 0.1, 1e-5, 6.1e-5, 6.1035e-5];
  given.push(1.0009765625, 1.00048828125, 1.00146484375, -0, Number.POSITIVE_INFINITY, 2047.5, 0.99999994);
  const bitsOf = (type) => {
    const bytes = writeSafetensors(new Map([['x', { dims: [given.length], data: Float32Array.from(given) }]]), type);
    return [...new Uint16Array(bytes.slice(bytes.length - 2 * given.length).buffer)];
  };
  assert.deepEqual(
    bitsOf('float16'),
    [
      13653, 46421, 31743, 31743, 31744, 1, 0, 1, 2, 11878, 168, 1023, 1024, 15361, 15360, 15362, 32768, 31744, 26624,
      15360,
    ],
  );
  assert.deepEqual(
    bitsOf('bfloat16'),
    [
      16043, 48811, 18304, 18304, 18304, 13185, 13056, 13057, 13271, 15821, 14120, 14464, 14464, 16256, 16256, 16256,
      32768, 32640, 17664, 16256,
    ],
  );
  for (const type of ['float16', 'bfloat16']) {
    const bytes = writeSafetensors(new Map([['x', { dims: [given.length], data: Float32Array.from(given) }]]), type);
    const { data } = readSafetensors(bytes, 'own').tensors.get('x');
    const again = writeSafetensors(new Map([['x', { dims: [given.length], data }]]), type);
    assert.deepEqual(again, bytes, 'what is read is what was written');
  }
});

test('safetensors: hostile files are refused in a sentence', () => {
  const file = (header, bytes = 8) => {
    const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
    const whole = new Uint8Array(8 + text.length + bytes);
    new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
    whole.set(text, 8);
    return whole;
  };
  const one = (change) => file({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...change } });
  const long = file('{}');
  new DataView(long.buffer).setBigUint64(0, 2n ** 63n, true);
  const hostile = [
    new Uint8Array(4),
    long,
    file('{"x"'),
    file('[]'),
    file('null'),
    file({ x: null }),
    one({ dtype: 'F8' }),
    one({ dtype: '__proto__' }),
    one({ shape: [3] }),
    one({ shape: [-2] }),
    one({ shape: [2 ** 40, 2 ** 40] }),
    one({ data_offsets: [8, 0] }),
    one({ data_offsets: [4, 12] }),
    one({ data_offsets: [0, 8, 16] }),
    file({ x: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } }),
    file({
      x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
      y: { dtype: 'F32', shape: [1], data_offsets: [4, 8] },
    }),
  ];
  for (const bytes of hostile)
    assert.throws(
      () => readSafetensors(bytes, 'file'),
      (error) => error.code === 'source-unreadable',
    );
});

test('a step with adapters takes half the memory of a full one; cheap values are made again to the bit', async () => {
  const size = { width: 256, blocks: 4, tokens: 128 };
  const adapted = gpt(4, { ...size, rank: 8 });
  const adapters = ['*.lora_A.weight', '*.lora_B.weight'];
  const artifacts = await generateArtifacts(adapted.onnx(), { ...HERE, loss: 'cross-entropy', requiresGrad: adapters });
  const feeds = {
    [adapted.input.name]: batchTensor(adapted.input, 4, 0),
    labels: batchTensor({ name: 'labels', type: 'int64', dims: [], low: 0, high: 256, seed: 2 }, 512, 0),
  };
  const { passes } = (await engine()).constants;
  const found = [];
  for (const some of [passes, passes.filter((pass) => pass !== 'recompute')]) {
    const session = await TrainingSession.create(artifacts, { ...HERE, passes: some });
    const losses = [];
    for (let i = 0; i < 3; i++) losses.push((await session.step(feeds)).loss);
    found.push({ losses, bytes: (await session.getMemoryPlan()).arenaBytes });
    await session.release();
  }
  const [lean, kept] = found;
  assert.deepEqual(lean.losses, kept.losses);
  assert.ok(lean.bytes < 0.9 * kept.bytes, `${lean.bytes} of ${kept.bytes}`);
  const dims = { input: [4, 128], labels: [512] };
  const peak = async (network, requiresGrad) =>
    (await planMemory(network.onnx(), { ...HERE, loss: 'cross-entropy', requiresGrad, dims })).peakBytes;
  const [whole, part] = [await peak(gpt(4, size), ['*']), await peak(adapted, adapters)];
  assert.ok(part <= 0.5 * whole, `${part} of ${whole}`);
});
