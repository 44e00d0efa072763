// An adapter's files: a folder of PEFT comes and goes to the bit, and what does not fit is refused in a sentence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSafetensors, writeSafetensors } from '../../../js/formats/safetensors.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, nodeProto, opsetId, tensor, valueInfoProto } from '../../support/onnx-file.js';
import { configOf, folderOf, prefixOf, runs, sessionOf } from '../../support/lora-runs.js';
import { golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const [TENSORS, CONFIG, ONNX] = ['adapter_model.safetensors', 'adapter_config.json', 'adapter.onnx_adapter'];
const mlp = golden('mlp_small.onnx'); // fc1, fc2, fc3: 20, 33, 17, 5
const open = async (lora = { r: 2 }, more = {}, model = mlp) =>
  TrainingSession.create(
    await generateArtifacts(model, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd', lora, ...more }),
    HERE,
  );
const tensorsOf = (files) => readSafetensors(files[TENSORS], 'it').tensors;
const fileOf = (tensors) => ({ [TENSORS]: writeSafetensors(new Map(tensors), 'float32') });
const valuesOf = async (session) => (await session.getContiguousParameters(false)).data.slice();
const invalid = (message) => ({ code: 'invalid-argument', message });
async function change(session, name, at, value) {
  const { dims, data } = await session.getParameter(name);
  await session.setParameter(name, new Tensor('float32', data.with(at, value), dims));
}

for (const name of Object.keys(runs))
  test(`${name}: PEFT's folder is loaded and written as it was, to the bit`, async () => {
    const theirs = folderOf(name, 'last');
    const session = await sessionOf(name, configOf(theirs));
    await session.loadAdapter(theirs);
    const ours = await session.exportAdapter({ prefix: prefixOf(name) });
    const [got, wanted] = [tensorsOf(ours), tensorsOf(theirs)];
    assert.deepEqual(Object.fromEntries(got), Object.fromEntries(wanted));
    const [our, their] = [configOf(ours), configOf(theirs)];
    for (const key of ['peft_type', 'r', 'lora_alpha', 'lora_dropout', 'use_rslora', 'use_dora', 'bias'])
      assert.equal(our[key], their[key], key);
    assert.deepEqual(our.modules_to_save ?? [], [...new Set(their.modules_to_save)], 'PEFT repeats some');
    const adapted = [...wanted.keys()].filter((key) => /lora_(embedding_)?A/.test(key));
    const names = adapted.map((key) => key.replace(/^base_model\.model\.|\.lora_(embedding_)?A(\.weight)?$/g, ''));
    assert.deepEqual(our.target_modules.sort(), names.sort());
    const isTold = (pattern) => (module) => Object.keys(pattern).some((end) => `.${module}`.endsWith(`.${end}`));
    for (const key of ['rank_pattern', 'alpha_pattern'])
      assert.deepEqual(Object.keys(our[key]).sort(), names.filter(isTold(their[key])).sort(), key);
    await session.release();
  });

test('the folder holds what trains beside the adapters, and a configuration that PEFT reads', async () => {
  const lora = { r: 4, alpha: 6, dropout: 0.25, rankPattern: { fc2: 2 }, bias: 'lora_only', modulesToSave: ['fc3'] };
  const session = await open(lora);
  const files = await session.exportAdapter({ prefix: 'f', baseModel: 'me/mlp' });
  assert.deepEqual(Object.keys(files), [TENSORS, CONFIG]);
  const ends = ['c1.base_layer.bias', 'c1.lora_A.weight', 'c1.lora_B.weight', 'c2.base_layer.bias'];
  ends.push('c2.lora_A.weight', 'c2.lora_B.weight', 'c3.bias', 'c3.weight');
  const keys = ends.map((end) => `base_model.model.${end}`);
  assert.deepEqual([...tensorsOf(files).keys()].sort(), keys);
  assert.deepEqual(configOf(files), {
    peft_type: 'LORA',
    base_model_name_or_path: 'me/mlp',
    task_type: null,
    inference_mode: true,
    r: 4,
    lora_alpha: 6,
    lora_dropout: 0.25,
    target_modules: ['c1', 'c2'],
    exclude_modules: null,
    use_rslora: false,
    use_dora: false,
    rank_pattern: { c2: 2 },
    alpha_pattern: {},
    bias: 'lora_only',
    fan_in_fan_out: false,
    init_lora_weights: true,
    modules_to_save: ['fc3'],
  });
  assert.ok(
    new TextDecoder().decode(files[CONFIG]).startsWith('{\n  "peft_type": "LORA",\n  "base'),
    'as PEFT indents',
  );
  const headed = await open({ r: 2 }, { head: { classes: ['a', 'b', 'c'] } });
  const { modules_to_save: saved, base_model_name_or_path: base } = configOf(await headed.exportAdapter());
  assert.deepEqual([saved, base], [null, null]);
  assert.deepEqual(tensorsOf(await headed.exportAdapter()).get('base_model.model.head.bias').dims, [3]);
});

/** y = x W of (3, 2), W called as by an exporter that has transposed the layer's own weight of (2, 3). */
const numbered = modelProto({
  opsetImport: opsetId(17),
  graph: graphProto({
    node: [
      nodeProto({ input: ['x', 'first'], output: 'h', name: '/first/MatMul', opType: 'MatMul' }),
      nodeProto({ input: ['h', 'onnx::MatMul_9'], output: 'y', name: '/last/MatMul', opType: 'MatMul' }),
    ],
    name: 'model',
    initializer: [
      tensor('first', { type: 'float32', dims: [4, 3], data: new Float32Array(12).fill(1) }),
      tensor('onnx::MatMul_9', { type: 'float32', dims: [3, 2], data: Float32Array.of(1, 2, 3, 4, 5, 6) }),
    ],
    input: info('x', 1, ['N', 4]),
    output: valueInfoProto({ name: 'y' }),
  }),
});

test('a weight that the exporter has transposed is written as PyTorch has it, and read back', async () => {
  const session = await open({ r: 1, modulesToSave: ['last'] }, { loss: 'mse' }, numbered);
  const tensors = tensorsOf(await session.exportAdapter());
  const weight = { dims: [2, 3], data: Float32Array.of(1, 3, 5, 2, 4, 6) };
  assert.deepEqual(tensors.get('base_model.model.last.weight'), weight);
  await session.loadAdapter(
    fileOf([...tensors, ['base_model.model.last.weight', { ...weight, data: weight.data.map((x) => -x) }]]),
  );
  assert.deepEqual([...(await session.getParameter('onnx::MatMul_9')).data], [-1, -2, -3, -4, -5, -6]);
  const flat = { dims: [6], data: weight.data };
  await assert.rejects(
    session.loadAdapter(fileOf([...tensors, ['base_model.model.last.weight', flat]])),
    invalid("loadAdapter: 'base_model.model.last.weight' is [6], and 'onnx::MatMul_9' is [3,2]"),
  );
});

test('float16 is refused from where it has no number, at its place', async () => {
  const session = await open();
  const name = 'fc2.lora_B.weight';
  const most = Math.fround(65519.99);
  for (const fits of [most, -most, Infinity, NaN]) {
    await change(session, name, 0, fits);
    const { data } = tensorsOf(await session.exportAdapter({ type: 'float16' })).get(`base_model.model.${name}`);
    assert.equal(data[0], Math.abs(fits) === most ? Math.sign(fits) * 65504 : fits);
  }
  for (const [at, value] of [
    [0, 65520],
    [2, -65520],
    [3, 1e9],
  ]) {
    await change(session, name, 0, 0);
    await change(session, name, at, value);
    const message =
      `exportAdapter: 'base_model.model.${name}' has ${value} at ${at}, more than float16 holds (65504): ` +
      'use another type';
    await assert.rejects(session.exportAdapter({ type: 'float16' }), invalid(message));
    await session.exportAdapter({ type: 'bfloat16' });
    await session.exportAdapter({ type: 'float32' });
    await change(session, name, at, 0);
  }
});

test('options of an export that cannot be are refused', async () => {
  const session = await open({ r: 2, modulesToSave: ['fc3'] });
  const onnxHas = invalid("exportAdapter: type, prefix and baseModel are not for the format 'onnx'");
  for (const [options, error] of [
    [
      { formt: 'peft' },
      invalid("exportAdapter: there is no option 'formt'; it knows format, type, prefix, baseModel (is it format?)"),
    ],
    [{ format: 'gguf' }, invalid("exportAdapter: format is 'peft' or 'onnx', not 'gguf'")],
    [{ format: null }, invalid("exportAdapter: format is 'peft' or 'onnx', not null")],
    [{ type: 'int8' }, invalid("exportAdapter: type is 'float32', 'float16' or 'bfloat16', not 'int8'")],
    [{ prefix: 'fc1' }, invalid("exportAdapter: 'fc2.lora_A.weight' does not begin with the prefix 'fc1'")],
    [{ format: 'onnx', type: 'float32' }, onnxHas],
    [{ format: 'onnx', prefix: '' }, onnxHas],
    [{ format: 'onnx', baseModel: 'me/mlp' }, onnxHas],
    [
      { format: 'onnx' },
      invalid(/^exportAdapter: 'fc3.weight' trains whole, .*an .onnx_adapter cannot hold it, PEFT's folder can$/),
    ],
  ])
    await assert.rejects(session.exportAdapter(options), error);
  assert.deepEqual(await session.exportAdapter({ format: 'peft' }), await session.exportAdapter());
});

test("ONNX Runtime's file goes to another session to the bit", async () => {
  const [session, other] = [await open(), await open()];
  await change(session, 'fc1.lora_B.weight', 5, 0.75);
  const files = await session.exportAdapter({ format: 'onnx' });
  assert.deepEqual(Object.keys(files), [ONNX]);
  await other.loadAdapter(files);
  assert.deepEqual(await valuesOf(other), await valuesOf(session));
});

// ── what does not fit ──

test('which files there are, and that the configuration is an object', async () => {
  const session = await open();
  const files = await session.exportAdapter();
  const onnx = await session.exportAdapter({ format: 'onnx' });
  const one = invalid(`loadAdapter: wanted { '${TENSORS}': … } or { '${ONNX}': … }, the file of an adapter`);
  for (const given of [undefined, {}, { [CONFIG]: files[CONFIG] }, { ...files, ...onnx }])
    await assert.rejects(session.loadAdapter(given), one);
  await assert.rejects(session.loadAdapter({ ...files, 'model.onnx': mlp }), {
    message: /^loadAdapter: there is no option 'model.onnx'/,
  });
  for (const text of [
    '',
    '{',
    '7',
    'null',
    '[]',
    '"r"',
    '\ufeff{}',
    Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
  ]) {
    const config = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    await assert.rejects(session.loadAdapter({ ...files, [CONFIG]: config }), {
      code: 'source-unreadable',
      message: `${CONFIG}: it is no JSON object`,
    });
  }
});

/** A session's answer to its own tensors under another configuration: nothing if it takes them. */
async function answer(session, config) {
  const files = await session.exportAdapter();
  const text = JSON.stringify({ ...configOf(files), ...config });
  return await session.loadAdapter({ ...files, [CONFIG]: new TextEncoder().encode(text) }).catch((e) => e.message);
}
const ranks = (name, r, alpha, theirs) =>
  `loadAdapter: '${name}' has rank ${r} and alpha ${alpha} here, the adapter ${theirs.join(' and ')}: ` +
  `make the artifacts with lora: the adapter's own ${CONFIG}`;

test('ranks and scales of the configuration are those of the session, within 1e-6', async () => {
  const session = await open();
  for (const [config, said] of [
    [{}],
    [{ lora_alpha: undefined }],
    [{ r: undefined }, ranks('fc1', 2, 8, [8, 8])],
    [{ lora_alpha: 8 * (1 + 9e-7) }],
    [{ lora_alpha: 8 * (1 + 1.5e-6) }, ranks('fc1', 2, 8, [2, 8 * (1 + 1.5e-6)])],
    [{ lora_alpha: 8 * (1 - 1.5e-6) }, ranks('fc1', 2, 8, [2, 8 * (1 - 1.5e-6)])],
    [{ lora_alpha: -8 }, ranks('fc1', 2, 8, [2, -8])],
    [{ r: 4, lora_alpha: 16 }, ranks('fc1', 2, 8, [4, 16])],
    [{ use_rslora: true }, ranks('fc1', 2, 8, [2, 8])],
    [{ use_rslora: true, lora_alpha: 8 / Math.SQRT2 }],
    [{ rank_pattern: { fc2: 4 } }, ranks('fc2', 2, 8, [4, 8])],
    [{ alpha_pattern: { fc2: 16 } }, ranks('fc2', 2, 8, [2, 16])],
    [{ alpha_pattern: { c2: 16 } }],
    [{ alpha_pattern: { fc3: 16 } }],
    [{ alpha_pattern: undefined, rank_pattern: undefined }],
    [{ r: '2' }, `loadAdapter: ${CONFIG}: r is "2", not a number`],
    [{ lora_alpha: [8] }, `loadAdapter: ${CONFIG}: lora_alpha is a list, not a number`],
    [{ rank_pattern: { fc1: '2' } }, `loadAdapter: ${CONFIG}: rank_pattern['fc1'] is '2', not a number`],
    [{ layers_to_transform: [0, 1], layers_pattern: 'layers' }],
    [{ init_lora_weights: 'gaussian' }],
    [
      { init_lora_weights: 'pissa' },
      `loadAdapter: ${CONFIG}: init_lora_weights is "pissa", ` +
        'not one of null, true, false, gaussian, eva, orthogonal, mica',
    ],
  ])
    assert.equal(await answer(session, config), said, JSON.stringify(config));
  const files = await session.exportAdapter();
  for (const [entries, said] of [
    ['"lora_alpha":1e999', 'lora_alpha is Infinity'],
    ['"alpha_pattern":{"fc1":1e999}', "alpha_pattern['fc1'] is Infinity"],
  ]) {
    const text = new TextEncoder().encode(`{"peft_type":"LORA","r":2,${entries}}`);
    await assert.rejects(session.loadAdapter({ ...files, [CONFIG]: text }), {
      message: `loadAdapter: ${CONFIG}: ${said}, not a number`,
    });
  }
  assert.equal(await answer(await open({ r: 2, alpha: -8 }), {}), undefined, 'a scale below zero');
  assert.equal(await answer(await open({ r: 2, alpha: 0 }), {}), undefined, 'a scale of zero');
  const rooted = await open({ r: 4, alpha: 8, rsLora: true });
  assert.equal(await answer(rooted, {}), undefined);
  assert.equal(await answer(rooted, { use_rslora: false, lora_alpha: 16 }), undefined, '8 / √4 is 16 / 4');
  assert.equal(await answer(rooted, { use_rslora: false }), ranks('fc1', 4, 8, [4, 8]));
});

test('lists of modules choose those that are here, none of them twice', async () => {
  const none = `loadAdapter: ${CONFIG}: target_modules names no module that is here: features.0, …`;
  const twice = (name) => `loadAdapter: ${CONFIG}: modules_to_save has '${name}', which has an adapter`;
  const session = await sessionOf('pictures', configOf(folderOf('pictures', 'first')));
  for (const [config, said] of [
    [{ target_modules: ['2'] }],
    [{ target_modules: ['whole.hidden'] }],
    [{ target_modules: ['hidden', 'nothing'] }],
    [{ target_modules: ['den'] }, none],
    [{ target_modules: [] }, none],
    [{ target_modules: ['hidden'], exclude_modules: ['hidden'] }, none],
    [{ target_modules: ['hidden', '0'], exclude_modules: ['hidden'] }],
    [{ target_modules: ['hidden'], exclude_modules: 'hidden' }],
    [{ target_modules: 'nothing' }],
    [{ modules_to_save: ['classifier'] }],
    [{ modules_to_save: ['classifier', 'den'] }, twice('hidden')],
    [{ modules_to_save: 'features.2' }, twice('features.2')],
  ])
    assert.equal(await answer(session, config), said, JSON.stringify(config));
});

const patterns = JSON.parse(new TextDecoder().decode(golden('peft_patterns.json')));
for (const [name, rows] of Object.entries(patterns))
  test(`${name}: a pattern gives its rank and alpha to the modules that PEFT finds by it`, async () => {
    const { target_modules } = configOf(folderOf(name, 'first'));
    for (const { modules, ...given } of rows) {
      const config = { peft_type: 'LORA', r: 2, lora_alpha: 8, target_modules, ...given };
      const session = await sessionOf(name, config);
      const ours = configOf(await session.exportAdapter({ prefix: prefixOf(name) }));
      const found = ours.target_modules.map((one) => [
        one,
        [ours.rank_pattern[one] ?? 2, ours.alpha_pattern[one] ?? 8],
      ]);
      assert.deepEqual(Object.fromEntries(found), modules, JSON.stringify(given));
      assert.equal(await answer(session, { ...config, rank_pattern: {}, alpha_pattern: {}, ...given }), undefined);
      assert.match(
        await answer(session, { ...config, rank_pattern: {}, alpha_pattern: {} }),
        /^loadAdapter: '.*' has rank/,
      );
      await session.release();
    }
  });

test('patterns of others never take long, and are refused by their key', async () => {
  const session = await open();
  const unread = `alpha_pattern has '(fc', which has a '(' without ')': name the modules`;
  assert.equal(await answer(session, { alpha_pattern: { '(fc': 8 } }), `loadAdapter: ${CONFIG}: ${unread}`);
  const since = performance.now();
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`(.*.*.*)*${i}`, 8]));
  assert.match(await answer(session, { alpha_pattern: many }), /which takes too many steps: name the modules$/);
  const plain = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`layers.${i}.q_proj`, 16]));
  assert.equal(await answer(session, { alpha_pattern: plain }), undefined);
  assert.ok(performance.now() - since < 4000, 'all together take as long as one');
});

test('tensors are found by their names, with more or less before them', async () => {
  const session = await open();
  const own = tensorsOf(await session.exportAdapter());
  const before = await valuesOf(session);
  const renamed = (rename) => fileOf([...own].map(([key, one]) => [rename(key), one]));
  for (const prefix of ['base_model.model.', '', 'base_model.model.model.', 'whole.']) {
    const moved = new Map([...own].map(([key, { dims, data }]) => [key, { dims, data: data.map((x) => x + 1) }]));
    const named = [...moved].map(([key, one]) => [key.replace('base_model.model.', prefix), one]);
    await session.loadAdapter(fileOf(named));
    assert.deepEqual([...tensorsOf(await session.exportAdapter())], [...moved], prefix);
    await session.loadAdapter(fileOf(own));
  }
  const wrapped = await open({ r: 2, moduleNames: { 'fc1.weight': 'model.one', 'fc2.weight': 'model.two' } });
  await wrapped.loadAdapter(renamed((key) => key.replace('fc1', 'one').replace('fc2', 'two')));
  const [key] = own.keys();
  const [mine, yours] = ['a', 'b'].map((wrapper) => key.replace('fc1', `${wrapper}.fc1`));
  for (const [files, message] of [
    [
      renamed((one) => one.replace('fc1', 'xfc1')),
      /^loadAdapter: the file has no 'fc1.lora_A.weight'; it has base_model.model.fc2/,
    ],
    [
      fileOf([...own].filter(([one]) => one !== key).concat([mine, yours].map((one) => [one, own.get(key)]))),
      `loadAdapter: 'fc1.lora_A.weight' may be '${mine}' or '${yours}'`,
    ],
    [fileOf([...own, [mine, own.get(key)]]), `loadAdapter: no module here takes ${mine}`],
    [
      fileOf([...own, ['fc1.lora_C', own.get(key)]]),
      "loadAdapter: the name 'fc1.lora_C' does not begin with 'base_model.model.', as the others do",
    ],
    [
      fileOf([...own, [key, { dims: [20, 2], data: own.get(key).data }]]),
      `loadAdapter: '${key}' is [20,2], and 'fc1.lora_A.weight' is [2,20]`,
    ],
    [fileOf([]), "loadAdapter: the file has no 'fc1.lora_A.weight'; it has "],
    [
      fileOf(['e', 'd', 'c', 'b', 'a'].map((one) => [one, own.get(key)])),
      "loadAdapter: the file has no 'fc1.lora_A.weight'; it has a, b, c, d, e",
    ],
    [
      fileOf(['f', 'e', 'd', 'c', 'b', 'a', 'g'].map((one) => [one, own.get(key)])),
      "loadAdapter: the file has no 'fc1.lora_A.weight'; it has a, b, c, d, e and 2 others",
    ],
  ])
    await assert.rejects(session.loadAdapter(files), invalid(message));
  assert.deepEqual(await valuesOf(session), before, 'nothing has changed');
});
