/** Layers' parameters train by default; frozen ones stay as they are; those that an exporter merged are several. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { mnistFolder } from '../../../js/cli/arrays.js';
import { generateArtifacts, InferenceSession, parametersOf, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, message, modelProto, node, onnxFile, opsetId, weight } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { ALONE } from '../../support/engines.js';

const golden = (name) => new Uint8Array(readFileSync(new URL(`../../golden/data/${name}`, import.meta.url)));
const float = (dims, data) => ({ type: 'float32', dims, data: Float32Array.from(data) });
const units = (seed, ...dims) =>
  float(
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 2 * batchUnit(seed, i) - 1),
  );
const int = (dims, data) => ({ type: 'int64', dims, data: BigInt64Array.from(data, BigInt) });
const value = (name, type, ...dims) => ({ name, type, dims });

/** A file of one chain of nodes, written as 'Op a b → y'. */
function model(lines, weights, inputs, output, opset, kinds) {
  const nodes = lines.map((line) => {
    const [call, out, attributes = '{}'] = line.split(/ → | \| /);
    const [op, ...names] = call.split(' ');
    return {
      op,
      inputs: names.map((name) => (name === '-' ? '' : name)),
      outputs: out.split(' '),
      attributes: JSON.parse(attributes),
    };
  });
  return onnxFile({ name: 'g', nodes, weights: Object.entries(weights), inputs, outputs: [output], opset, kinds });
}

const rolesOf = async (bytes) =>
  Object.fromEntries(
    (await parametersOf(bytes, ALONE)).map(({ name, readers, trainable }) => [
      name,
      `${readers.map(({ as, op }) => `${as} of ${op}`).join(', ')}${trainable ? '' : ': no'}`,
    ]),
  );

async function open(bytes, options) {
  const artifacts = await generateArtifacts(bytes, { ...ALONE, batch: 'fixed', ...options });
  return { ...artifacts, session: await TrainingSession.create(artifacts, ALONE) };
}
const trained = (session) => session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);

test('what a Where, mask or size chooses by a parameter leaves it to train', async () => {
  const k = [0.3, 0.6, 0.9, 1.2];
  const chosen = ['Greater k limit → over', 'Softplus k → soft', 'Where over k soft → s', 'Mul x s → y'];
  const counted = [
    'Greater k limit → over',
    'Where over two one → n',
    'Cast n → c | {"to":1}',
    'Mul x k → z',
    'Mul z c → y',
  ];
  const ints = { one: int([1], [1]), two: int([1], [2]) };
  for (const [lines, dims, more] of [
    [chosen, [4], {}],
    [chosen, [1], {}],
    [chosen, [], {}],
    [counted, [4], ints],
  ]) {
    const count = dims[0] ?? 1;
    const weights = { k: float(dims, k.slice(0, count)), limit: float([1], [0.7]), ...more };
    const bytes = model(lines, weights, [value('x', 'float32', 'N', 4)], value('y', 'float32', 'N', 4), 17);
    const { session } = await open(bytes, { loss: 'mse', requiresGrad: ['k'], optimizer: { type: 'sgd', lr: 0.1 } });
    assert.deepEqual(trained(session), ['k']);
    const feeds = {
      x: new Tensor('float32', [1, 2, 3, 4], [1, 4]),
      target: new Tensor('float32', [5, 5, 5, 5], [1, 4]),
    };
    const [before] = (await session.getParameter('k')).data;
    await session.step(feeds);
    assert.notEqual((await session.getParameter('k')).data[0], before);
    await session.release();
  }
});

test('a causal language model trains with defaults, and its mask of −∞ stays', async () => {
  const { session, warnings } = await open(golden('causal.onnx'), {
    loss: 'cross-entropy',
    optimizer: { type: 'adamw', lr: 3e-3 },
  });
  const mask = (await session.getParameter('mask')).data.slice();
  assert.equal(mask[1], -Infinity);
  const words = (at) => Array.from({ length: 12 }, (_, i) => BigInt((3 * (at + i) + ((at + i) % 5)) % 17));
  let [first, last] = [0, 0];
  for (let step = 0; step < 1000; step++) {
    const rows = [0, 1, 2, 3].map((row) => 7 * step + 5 * row);
    const { loss } = await session.step({
      input: new Tensor('int64', BigInt64Array.from(rows.flatMap(words)), [4, 12]),
      labels: new Tensor('int64', BigInt64Array.from(rows.flatMap((at) => words(at + 1))), [4, 12]),
    });
    assert.ok(Number.isFinite(loss), `the loss of step ${step} is ${loss}`);
    if (step < 20) first += loss / 20;
    if (step >= 980) last += loss / 20;
  }
  assert.ok(last < 0.3 * first, `the loss fell from ${first} to ${last}`);
  assert.deepEqual((await session.getParameter('mask')).data, mask);
  assert.equal(trained(session).length, session.parameters.length - 1);
  assert.deepEqual(warnings, []);
  await session.release();
});

test('what is not finite is not trained, whoever asks for it', async () => {
  const ask = (requiresGrad, frozen) => open(golden('causal.onnx'), { loss: 'cross-entropy', requiresGrad, frozen });
  await assert.rejects(ask(['mask', 'head.*']), {
    code: 'invalid-argument',
    message: "requiresGrad names 'mask', which holds values that are infinite or NaN and cannot train",
  });
  const { session, warnings } = await ask(['*']);
  assert.equal(trained(session).length, session.parameters.length - 1);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0],
    /^not trained, though requiresGrad matches it: 'mask' \(not finite, [^)]+ of Add '[^)]+'\)$/,
  );
  const quiet = await ask(['*'], ['mask']);
  assert.deepEqual(quiet.warnings, []);
  for (const made of [session, quiet.session]) await made.release();
});

test('a weight is what a layer reads as one, whatever prepares it; masks, means, tables, numbers are not', async () => {
  const bytes = model(
    [
      'Sub x mean → centred',
      'Div centred deviation → normal',
      'Transpose w → wt',
      'MatMul normal wt → h0',
      'Add h0 b → h1',
      'PRelu h1 slope → h2',
      'Mul h2 scale → h3',
      'Add h3 mask → h4',
      'Mul h4 temperature → h5',
      'ReduceL2 v → length | {"axes":[1]}',
      'Div v length → direction',
      'Mul direction g → v2',
      'MatMul h5 v2 → h6',
      'Gather embedding ids → e | {"axis":0}',
      'Add h6 e → h7',
      'Gather cosines ids → c0 | {"axis":0}',
      'Unsqueeze c0 one → c1',
      'Squeeze c1 one → c2',
      'Mul h7 c2 → h8a',
      'Gather pairs ids → p0 | {"axis":0}',
      'Mul h8a p0 → h8',
      'Gather steps ids → s0 | {"axis":0}',
      'Mul s0 s0 → s',
      'Add h8 anchors → y',
    ],
    {
      mean: float([4], [1, 2, 3, 4]),
      deviation: float([4], [1, 1, 2, 2]),
      w: units(1, 4, 4),
      b: units(2, 4),
      slope: units(3, 4),
      scale: units(4, 4),
      mask: units(5, 3, 4),
      temperature: units(6),
      v: units(7, 4, 4),
      g: units(8, 4, 1),
      embedding: units(9, 5, 4),
      cosines: float(
        [5, 4],
        Array.from({ length: 20 }, (_, i) => Math.cos(Math.floor(i / 4) * 0.1 ** (i % 4))),
      ),
      pairs: units(13, 5, 4),
      one: int([1], [1]),
      steps: units(11, 5),
      anchors: units(12, 3, 4),
    },
    [value('x', 'float32', 3, 4), value('ids', 'int64', 3)],
    value('y', 'float32', 3, 4),
  );
  assert.deepEqual(await rolesOf(bytes), {
    mean: 'operand of Sub: no',
    deviation: 'operand of Div: no',
    w: 'weight of MatMul',
    b: 'bias of Add',
    slope: 'scale of PRelu',
    scale: 'scale of Mul',
    mask: 'operand of Add: no',
    temperature: 'operand of Mul: no',
    v: 'weight of MatMul, weight of MatMul',
    g: 'weight of MatMul',
    embedding: 'weight of Gather',
    cosines: 'weight of Gather: no',
    pairs: 'weight of Gather',
    steps: 'operand of Gather: no',
    anchors: 'operand of Add: no',
  });
  const { session, warnings } = await open(bytes, { loss: 'mse' });
  assert.deepEqual(trained(session).sort(), ['b', 'embedding', 'g', 'pairs', 'scale', 'slope', 'v', 'w']);
  assert.match(
    warnings[0],
    /^not trained, .*: 'mean' \(operand of Sub 'Subcentred'\), 'deviation' \(.*\), 'mask' \(.*\) and 3 more; /,
  );
  await session.release();
  const all = await open(bytes, { loss: 'mse', requiresGrad: ['mask', 'temperature'] });
  assert.deepEqual([trained(all.session).sort(), all.warnings], [['mask', 'temperature'], []]);
  await all.session.release();
});

test('TorchScript does not note what is a parameter: names and contents decide, and guesses are told', async () => {
  const read = (name) =>
    new Uint8Array(readFileSync(new URL(`../../golden/data/cases/${name}/model.onnx`, import.meta.url)));
  const ask = async (name, options) => {
    const { session, warnings } = await open(read(name), { loss: 'mse', ...options });
    const names = trained(session).filter((at) => !/weight|bias/.test(at));
    await session.release();
    return [names, ...warnings.filter((text) => !/batch/.test(text)).map((text) => text.split("'")[0])];
  };
  const guess = 'trained, though the file does not say whether it is a parameter or a buffer: ';
  const frozen = 'not trained, for nothing in the file says that a layer learns it: ';
  assert.deepEqual(await ask('pow-exponent-script-eval'), [['p'], guess]);
  assert.deepEqual(await ask('class-token-script-train'), [['cls', 'pos'], guess]);
  assert.deepEqual(await ask('class-token-script-train', { frozen: ['cls', 'pos'] }), [[]]);
  assert.deepEqual(await ask('target-mean-std-script-eval'), [[], frozen]);
  for (const sure of ['rope-tables-script-eval', 'masked-weight-script-train', 'blur-kernel-script-train'])
    assert.deepEqual(await ask(sure), [[]], sure);
  const reasons = (await parametersOf(read('rope-tables-script-eval'), ALONE)).map(({ reason }) => reason);
  assert.ok(reasons.includes('it is a mask, a table of waves or a filter, which no layer learns'), reasons.join());
});

test('a model of float16 trains float32 masters and is float16 again in the exported file', async () => {
  const file = new Uint8Array(
    readFileSync(new URL('../../golden/data/cases/float16-mlp-dynamo-raw-train/model.onnx', import.meta.url)),
  );
  const { session, warnings } = await open(file, { loss: 'mse', batch: 'free' });
  assert.deepEqual(warnings, []);
  assert.deepEqual(trained(session).sort(), ['a.bias', 'a.weight', 'e.weight', 'h.bias', 'h.weight', 's']);
  const exported = await session.exportModel();
  assert.ok(exported.length < file.length, `${exported.length} of ${file.length} bytes`);
  const again = await open(exported, { loss: 'mse', requiresGrad: ['h.weight'] });
  assert.deepEqual(trained(again.session), ['h.weight']);
  const [before, after] = await Promise.all([file, exported].map((bytes) => InferenceSession.create(bytes, ALONE)));
  const x0 = new Tensor('int64', BigInt64Array.of(1n, 2n, 3n, 4n, 5n), [1, 5]);
  const [a, b] = [await before.run({ x0 }), await after.run({ x0 })];
  assert.equal(b.y.type, 'float16');
  assert.deepEqual(b.y.data, a.y.data);
  for (const each of [session, again.session, before, after]) await each.release();
});

test('a model of float64 is refused in a sentence that names the type', async () => {
  const weights = { w: { type: 'float64', dims: [4, 3], data: Float64Array.from({ length: 12 }, (_, i) => i / 12) } };
  const ends = [[value('x', 'float64', 2, 4)], value('y', 'float64', 2, 3)];
  await assert.rejects(open(model(['MatMul x w → y'], weights, ...ends), { loss: 'mse' }), {
    code: 'invalid-argument',
    message: /^no parameter is left to train: .*; float64 weights do not train: export the model in float32/,
  });
});

test('parametersOf and one option freeze what requires_grad = False froze', async () => {
  const model = golden('cnn_bn.onnx');
  const frozen = (await parametersOf(model, ALONE)).map(({ name }) => name).filter((name) => !name.startsWith('fc'));
  const { session } = await open(model, { loss: 'cross-entropy', frozen });
  assert.ok(trained(session).length > 0 && trained(session).every((name) => name.startsWith('fc')));
  await session.release();
});

test('operators that others make up say themselves what they read', async () => {
  const bytes = model(
    ['InstanceNormalization x scale bias → h | {}', 'Flatten h → f', 'Gemm f w b → y'],
    { scale: units(1, 2), bias: units(2, 2), w: units(3, 18, 3), b: units(4, 3) },
    [value('x', 'float32', 'N', 2, 3, 3)],
    value('y', 'float32', 'N', 3),
  );
  const parameters = await parametersOf(bytes, ALONE);
  assert.deepEqual(parameters[0], {
    name: 'scale',
    type: 'float32',
    dims: [2],
    size: 2,
    names: ['scale'],
    transposed: false,
    readers: [{ node: 'InstanceNormalizationh', op: 'InstanceNormalization', as: 'scale' }],
    trainable: true,
  });
  assert.deepEqual(await rolesOf(bytes), {
    scale: 'scale of InstanceNormalization',
    bias: 'bias of InstanceNormalization',
    w: 'weight of Gemm',
    b: 'bias of Gemm',
  });
});

test('parametersOf says why a parameter does not train, and refuses options that it does not know', async () => {
  const reasons = (await parametersOf(golden('cnn_bn.onnx'), ALONE)).filter(({ reason }) => reason);
  assert.deepEqual([...new Set(reasons.map(({ reason }) => reason))], ['it is a running statistic']);
  assert.ok(reasons.every(({ readers }) => readers.every(({ as }) => as === 'statistic')));
  const causal = await parametersOf(golden('causal.onnx'), ALONE);
  const mask = causal.find(({ name }) => name === 'mask');
  assert.equal(mask.reason, 'it holds values that are infinite or NaN');
  assert.deepEqual(
    [causal[0].name, causal.at(-1).name],
    ['wte.weight', 'head.weight'],
    'in the order of their readers',
  );
  await assert.rejects(parametersOf(golden('causal.onnx'), { ...ALONE, loss: 'mse' }), {
    code: 'invalid-argument',
    message: /loss/,
  });
  await assert.rejects(parametersOf(new Uint8Array(), ALONE), { code: 'invalid-model' });
});

test('where no parameter is a weight, the error says how to train one all the same', async () => {
  const bytes = model(['Mul x a → y'], { a: units(1, 3) }, [value('x', 'float32', 2, 3)], value('y', 'float32', 2, 3));
  await assert.rejects(generateArtifacts(bytes, { ...ALONE, loss: 'mse' }), {
    code: 'invalid-argument',
    message: /^no parameter is left to train: .*; without requiresGrad those train that a layer reads as a weight$/,
  });
  const { session } = await open(bytes, { loss: 'mse', requiresGrad: ['a'] });
  assert.deepEqual(trained(session), ['a']);
  await session.release();
});

// ---- what an exporter made one ----

test('each layer of a fresh encoder has its own parameters, named as by PyTorch; untie: false keeps one', async () => {
  const sizes = JSON.parse(readFileSync(new URL('../../golden/data/encoder.json', import.meta.url), 'utf8'));
  const options = { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 0.1 } };
  const tied = await open(golden('encoder.onnx'), { ...options, untie: false });
  const untied = await open(golden('encoder.onnx'), options);
  const count = Object.values(sizes).reduce((a, b) => a + b);
  assert.deepEqual([await tied.session.getParametersSize(), await untied.session.getParametersSize()], [687, count]);
  assert.deepEqual([tied.warnings, untied.warnings], [[], []]);
  const names = trained(untied.session);
  for (const name of Object.keys(sizes).filter((name) => !/(twice|proj|linear\d)\.?_?weight$/.test(name)))
    assert.ok(names.includes(name), `there is no ${name}`);
  assert.ok(names.includes('/encoder/layers.1/linear1/MatMul.weight'));
  const feeds = {
    input: new Tensor(
      'int64',
      BigInt64Array.from({ length: 24 }, (_, i) => BigInt((7 * i) % 11)),
      [4, 6],
    ),
    labels: new Tensor('int64', BigInt64Array.of(0n, 1n, 2n, 1n), [4]),
  };
  const losses = async ({ session }) => [(await session.step(feeds)).loss, (await session.step(feeds)).loss];
  const [a, b] = [await losses(tied), await losses(untied)];
  assert.equal(a[0], b[0], 'the first step is of the same numbers');
  assert.notEqual(a[1], b[1]);
  const norms = await Promise.all(
    ['encoder.layers.0.norm1.weight', 'norm.weight'].map((name) => untied.session.getParameter(name)),
  );
  assert.notDeepEqual(norms[0].data, norms[1].data);
  for (const { session } of [tied, untied]) await session.release();
});

test('without a trace a warning says what began equal, untie: true parts it; a layer called twice is one', async () => {
  const bytes = (second) =>
    model(
      ['MatMul x w1 → a', 'Add a b → c', `MatMul c ${second} → d`, 'Add d b → y'],
      { w1: units(1, 4, 4), ...(second === 'w2' && { w2: units(2, 4, 4) }), b: float([4], [0, 0, 0, 0]) },
      [value('x', 'float32', 3, 4)],
      value('y', 'float32', 3, 4),
    );
  const seen = async (second, options) => {
    const { session, warnings } = await open(bytes(second), { loss: 'mse', ...options });
    await session.release();
    return [trained(session).sort(), warnings.join()];
  };
  const [one, warning] = await seen('w2');
  assert.deepEqual(one, ['b', 'w1', 'w2']);
  assert.match(
    warning,
    /^the exporter made one parameter of several that began equal, such as 'b', the bias of 2 layers; /,
  );
  assert.deepEqual(await seen('w2', { untie: true }), [['Addy.bias', 'b', 'w1', 'w2'], '']);
  for (const untie of [undefined, true, false]) assert.deepEqual(await seen('w1', { untie }), [['b', 'w1'], '']);
});

test('running statistics that an exporter made one with weights are apart without being asked', async () => {
  const { session } = await open(golden('encoder.onnx'), { loss: 'cross-entropy' });
  const frozen = session.parameters.filter(({ trainable }) => !trainable).map(({ name }) => name);
  assert.deepEqual(frozen.sort(), ['bn.running_mean', 'bn.running_var']);
  await session.release();
});

test('an embedding that is the output weight too, and a module called twice, stay tied', async () => {
  const bytes = model(
    ['Gather w ids → e | {"axis":0}', 'Transpose w → wt', 'MatMul e wt → y'],
    { w: float([5, 4], Array(20).fill(1)) },
    [value('ids', 'int64', 3)],
    value('y', 'float32', 3, 5),
  );
  const { session, warnings } = await open(bytes, { loss: 'mse', untie: true });
  assert.deepEqual([trained(session), warnings], [['w'], []]);
  await session.release();
});

test('untie is refused with a training_info, and what is no flag and no word for batchNorm too', async () => {
  const ask = (options) => generateArtifacts(golden('training_info/adam.onnx'), { ...ALONE, ...options });
  await assert.rejects(ask({ untie: true }), {
    code: 'invalid-argument',
    message: /^untie goes with a loss of its own/,
  });
  await assert.rejects(ask({ batchNorm: 'thawed' }), {
    code: 'invalid-argument',
    message: "option batchNorm: 'thawed' is not frozen or update",
  });
});

// ---- what is frozen ----

const DIGITS = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};

/** The first pictures of the digits 5 to 9, as classes 0 to 4. */
function digits(part, count) {
  const [pictures, labels] = DIGITS[part].map((file) => readFileSync(path.join(mnistFolder(), file)));
  const chosen = [];
  for (let i = 0; chosen.length < count; i++) if (labels[8 + i] >= 5) chosen.push(i);
  const input = Float32Array.from(
    { length: count * 784 },
    (_, i) => pictures[16 + chosen[Math.floor(i / 784)] * 784 + (i % 784)] / 255,
  );
  return {
    inputs: { input: new Tensor('float32', input, [count, 1, 28, 28]) },
    labels: {
      labels: new Tensor(
        'int64',
        BigInt64Array.from(chosen, (i) => BigInt(labels[8 + i] - 5)),
        [count],
      ),
    },
  };
}

/** A new head on 200 pictures. */
async function headOf(file, options) {
  const made = await open(golden(file), {
    loss: 'cross-entropy',
    optimizer: { type: 'adam', lr: 1e-3 },
    requiresGrad: ['fc.*'],
    ...options,
  });
  const { session } = made;
  const before = await session.getParameter('bn.running_mean').catch(() => undefined);
  const mean = before?.data.slice();
  await session.fit(digits('train', 200), { epochs: 60, batchSize: 20, seed: 1 });
  const after = mean && (await session.getParameter('bn.running_mean')).data.slice();
  const { accuracy } = await session.evaluate(digits('test', 1000));
  await session.release();
  return { accuracy, mean, after, warnings: made.warnings };
}

test('a frozen BatchNormalization keeps its statistics: a head on it is as good as on the folded export', async () => {
  const [frozen, folded, update] = [
    await headOf('resnet_training.onnx'),
    await headOf('resnet_folded.onnx'),
    await headOf('resnet_training.onnx', { batchNorm: 'update' }),
  ];
  assert.ok(frozen.accuracy > 0.8, `${frozen.accuracy} of the validation's pictures`);
  assert.ok(
    Math.abs(frozen.accuracy - folded.accuracy) <= 0.02,
    `${frozen.accuracy} on frozen layers, ${folded.accuracy} on folded ones`,
  );
  assert.deepEqual(frozen.after, frozen.mean);
  assert.notDeepEqual(update.after, update.mean);
  assert.deepEqual([frozen.warnings, folded.warnings], [[], []]);
});

test('who trains convolutions with a BatchNormalization folded into them is told', async () => {
  const { warnings } = await generateArtifacts(golden('resnet_folded.onnx'), { ...ALONE, loss: 'cross-entropy' });
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0],
    /^the exporter folded BatchNormalization .* 'onnx::Conv_\d+' \(weight of Conv '\S+'\); .*TrainingMode\.TRAINING/,
  );
  const dynamo = await generateArtifacts(golden('conv_dynamo.onnx'), {
    ...ALONE,
    batch: 'fixed',
    loss: 'cross-entropy',
  });
  assert.equal(dynamo.warnings.length, 1);
  assert.match(
    dynamo.warnings[0],
    new RegExp(
      "^the exporter folded BatchNormalization .* '0\\.weight' \\(weight of Conv '\\S+' in '1'\\); " +
        '.*optimize=False of torch.onnx.export after',
    ),
  );

  const plain = await generateArtifacts(golden('resnet_training.onnx'), { ...ALONE, loss: 'cross-entropy' });
  assert.deepEqual(plain.warnings, []);
});

test('Dropout drops nothing where weights come before it of which none trains', async () => {
  const bytes = model(
    ['Gemm x w1 → h', 'Dropout h half → d', 'Gemm d w2 → e', 'Dropout e half → f', 'Gemm f w3 → y'],
    { w1: units(1, 4, 16), half: float([], [0.5]), w2: units(2, 16, 16), w3: units(3, 16, 2) },
    [value('x', 'float32', 5, 4)],
    value('y', 'float32', 5, 2),
  );
  const losses = async (frozen, later) => {
    const { session } = await open(bytes, { loss: 'mse', optimizer: { type: 'sgd', lr: 0 }, frozen });
    if (later) await session.setTrainable(later);
    const feeds = {
      x: new Tensor('float32', units(4, 5, 4).data, [5, 4]),
      target: new Tensor('float32', units(5, 5, 2).data, [5, 2]),
    };
    const found = new Set();
    for (let i = 0; i < 4; i++) found.add((await session.step(feeds)).loss);
    const evaluated = (await session.runEvalStep(feeds))[session.evalOutputNames[0]].data[0];
    await session.release();
    return { count: found.size, isEval: found.has(evaluated) };
  };
  assert.deepEqual(await losses(['w1', 'w2']), { count: 1, isEval: true });
  assert.deepEqual(await losses(['w1']), { count: 4, isEval: false });
  assert.deepEqual(await losses([]), { count: 4, isEval: false });
  assert.deepEqual(await losses([], ['w3']), { count: 1, isEval: true });
  assert.deepEqual(await losses([], ['w2', 'w3']), { count: 4, isEval: false });
  assert.deepEqual(await losses(['w1', 'w2'], ['w2', 'w3']), { count: 4, isEval: false });
  assert.deepEqual(await losses(['w1', 'w2'], ['w*']), { count: 4, isEval: false });
});

test('noise of the shape of an activation, as in an autoencoder, trains: nothing flows towards the shape', async () => {
  const lines = ['MatMul x w → mu', 'RandomNormalLike mu → e', 'Mul e s → noise', 'Add mu noise → y'];
  const weights = { w: units(1, 3, 2), s: float([2], [0.5, 2]) };
  const bytes = model(lines, weights, [value('x', 'float32', 4, 3)], value('y', 'float32', 4, 2));
  const options = { loss: 'mse', additionalOutputs: ['y', 'e'], requiresGrad: ['w', 's'] };
  const { session } = await open(bytes, options);
  const [x, target] = [units(2, 4, 3), units(3, 4, 2)];
  const { y, e } = await session.runTrainStep({ x, target });
  const dy = y.data.map((v, i) => (2 * (v - target.data[i])) / y.size);
  const dw = weights.w.data.map((_, i) =>
    dy.reduce((sum, d, k) => (k % 2 === i % 2 ? sum + d * x.data[3 * (k >> 1) + (i >> 1)] : sum), 0),
  );
  const ds = weights.s.data.map((_, i) => dy.reduce((sum, d, k) => (k % 2 === i ? sum + d * e.data[k] : sum), 0));
  assert.ok(e.data.some((v) => Math.abs(v) > 0.1));
  for (const [name, want] of Object.entries({ w: dw, s: ds })) {
    const { data } = await session.getGradient(name);
    for (const [i, v] of data.entries()) assert.ok(Math.abs(v - want[i]) < 1e-5, `${name}[${i}]: ${v}, not ${want[i]}`);
  }
  await session.release();
});

test('what PyTorch notes of its state decides what trains: learned positions do, buffers do not', async () => {
  const lines = ['MatMul x w → h', 'Add h positions → p', 'Add p table → t', 'Mul t scale → s', 'Mul s mean → y'];
  const weights = { w: units(1, 4, 4), positions: units(2, 1, 3, 4), table: units(3, 3, 4), scale: float([], [2]) };
  const all = { ...weights, mean: units(4, 4) };
  const ends = [[value('x', 'float32', 2, 3, 4)], value('y', 'float32', 2, 3, 4)];
  const kinds = { positions: 'PARAMETER', scale: 'PARAMETER', mean: 'BUFFER', table: 'CONSTANT_TENSOR' };
  const { session, warnings } = await open(model(lines, all, ...ends, 17, kinds), { loss: 'mse' });
  assert.deepEqual(trained(session).sort(), ['positions', 'scale', 'w']);
  assert.deepEqual(warnings, []);
  await session.release();
  const plain = await open(model(lines, all, ...ends), { loss: 'mse' });
  assert.deepEqual(trained(plain.session).sort(), ['mean', 'w']);
  assert.match(plain.warnings[0], /^not trained, .* 'positions' .* 'table' .* 'scale'/);
  await plain.session.release();
});

test('a BatchNormalization that was folded into a Gemm is told, what the exporter itself made up is not', async () => {
  const rule = message([1, 'pkg.onnxscript.rewriter.rule_name'], [2, 'FuseBatchNormIntoGemm']);
  const gemm = new Uint8Array([...node('Gemm', ['x', 'fc.weight'], 'h'), ...message([9, rule])]);
  const bytes = modelProto({
    graph: graphProto({
      node: [gemm, node('Add', ['h', 'val_7'], 'y')],
      name: 'g',
      initializer: [weight('fc.weight', [4, 3], 4, 1), weight('val_7', [2, 3], 3, 2)],
      input: info('x', 1, [2, 4]),
      output: info('y', 1, [2, 3]),
    }),
    opsetImport: opsetId(17),
  });
  const { warnings } = await generateArtifacts(bytes, { ...ALONE, batch: 'fixed', loss: 'mse' });
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0],
    new RegExp(
      "^the exporter folded BatchNormalization .* 'fc\\.weight' \\(weight of Gemm " +
        '.*optimize=False of torch.onnx.export after',
    ),
  );
});
