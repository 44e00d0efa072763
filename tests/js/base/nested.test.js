/**
 * Nested feeds and fetches: the same bits as flat ones, in every call of both sessions, and what is wrong with one
 * named by its path.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { flatten, mapNames } from '../../../js/base/nested.js';
import { bind } from '../../../js/base/feeds.js';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId, weight } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { THREADED } from '../../support/engines.js';
import { loadOrt } from '../../support/ort.js';

const SIZE = 6;

/**
 * key and value are added to two layers; the logits are their product, and both layers are given as what is present.
 */
function pastModel() {
  const rows = (/** @type {string} */ name) => info(name, 1, ['N', SIZE]);
  const graph = graphProto({
    node: [
      node('MatMul', ['x', 'k.weight'], 'xk'),
      node('Add', ['xk', 'past.0.key'], 'present.0.key'),
      node('MatMul', ['x', 'v.weight'], 'xv'),
      node('Add', ['xv', 'past.0.value'], 'present.0.value'),
      node('Mul', ['present.0.key', 'present.0.value'], 'logits'),
    ],
    name: 'past',
    initializer: [weight('k.weight', [SIZE, SIZE], SIZE, 1), weight('v.weight', [SIZE, SIZE], SIZE, 2)],
    input: ['x', 'past.0.key', 'past.0.value'].map((name) => rows(name)),
    output: ['logits', 'present.0.key', 'present.0.value'].map((name) => rows(name)),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const MODEL = pastModel();
const rows = (/** @type {number} */ n, /** @type {number} */ seed) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: n * SIZE }, (_, i) => batchUnit(seed, i) - 0.5),
    [n, SIZE],
  );
const [x, key, value] = [1, 2, 3].map((seed) => rows(20, seed));
const labels = new Tensor(
  'int64',
  Array.from({ length: 20 }, (_, i) => i % SIZE),
);
const FLAT = { x, 'past.0.key': key, 'past.0.value': value };
const NESTED = { x, past: [{ key, value }] };
const PRESENT = { logits: 'logits', present: [{ key: 'present.0.key', value: 'present.0.value' }] };

const inference = await InferenceSession.create(MODEL, THREADED);
const artifacts = await generateArtifacts(MODEL, {
  loss: 'cross-entropy',
  optimizer: 'sgd',
  additionalOutputs: ['logits', 'present.0.key'],
  ...THREADED,
});
const open = () => TrainingSession.create(artifacts, THREADED);
const session = await open();
after(() => Promise.all([inference, session].map((s) => s.release())));

/** @param {string} code @param {RegExp} words */
const is = (code, words) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof TrainletError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(error.message, /\n|undefined|\[object/);
  return true;
};

test('nested feeds are what onnxruntime-web computes of flat ones', async () => {
  const ort = loadOrt();
  const theirs = await (await ort.InferenceSession.create(MODEL)).run(
    Object.fromEntries(
      Object.entries(FLAT).map(([name, { data, dims }]) => [name, new ort.Tensor('float32', data, dims)]),
    ),
  );
  const ours = await inference.run(NESTED);
  assert.deepEqual(Object.keys(ours), ['logits', 'present.0.key', 'present.0.value']);
  for (const [name, { data }] of Object.entries(ours))
    data.forEach((v, i) => assert.ok(Math.abs(Number(v) - theirs[name].data[i]) < 1e-5, name));
  assert.deepEqual(await inference.run(FLAT), ours);
  assert.deepEqual(await inference.run({ x, past: { 0: { key }, '0.value': value } }), ours);
});

test('outputs come back in the structure that named them, and can be fed as they are', async () => {
  const all = await inference.run(FLAT);
  const { logits, present } = await inference.run(FLAT, PRESENT);
  assert.deepEqual([logits, present], [all.logits, [{ key: all['present.0.key'], value: all['present.0.value'] }]]);
  assert.deepEqual(
    await inference.run({ x, past: present }),
    await inference.run({ x, 'past.0.key': present[0].key, 'past.0.value': present[0].value }),
  );
  assert.deepEqual(await inference.run(NESTED, [['logits'], { again: 'logits' }]), [
    [all.logits],
    { again: all.logits },
  ]);
  assert.deepEqual(await inference.run(NESTED, ['logits']), { logits: all.logits });
});

test('train, eval, predict and step take both', async () => {
  const [flat, nested] = [await open(), await open()];
  const [first, second] = [
    await flat.runTrainStep({ ...FLAT, labels }),
    await nested.runTrainStep({ ...NESTED, labels }, { deep: [{ logits: 'logits' }] }),
  ];
  assert.deepEqual(second, { deep: [{ logits: first.logits }] });
  assert.deepEqual(await nested.runEvalStep({ ...NESTED, labels }, [['logits']]), [
    [(await flat.runEvalStep({ ...FLAT, labels })).logits],
  ]);
  assert.deepEqual(await nested.predict(NESTED, { out: 'logits' }), { out: (await flat.predict(FLAT)).logits });
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await nested.step({ ...NESTED, labels }), await flat.step({ ...FLAT, labels }));
  assert.deepEqual(await nested.getContiguousParameters(), await flat.getContiguousParameters());
  await Promise.all([flat.release(), nested.release()]);
});

test('fit and evaluate slice nested arrays as flat ones, in whole, as a share and in batches', async () => {
  const options = { epochs: 2, batchSize: 4, seed: 5, validation: 0.25 };
  const batches = (/** @type {import('../../../js/types.js').Feeds} */ feeds) => [
    { ...feeds, labels },
    { ...feeds, labels },
  ];
  const [flat, nested] = [await open(), await open()];
  const wanted = await flat.fit({ inputs: FLAT, labels: { labels } }, options);
  const history = await nested.fit({ inputs: NESTED, labels: { labels } }, options);
  const metrics = (/** @type {import('../../../js/types.js').History} */ { epochs }) =>
    epochs.map((epoch) => epoch.metrics);
  assert.deepEqual(metrics(history), metrics(wanted));
  assert.notEqual(metrics(history)[0].val_loss, metrics(history)[1].val_loss);
  await flat.fit(batches(FLAT));
  await nested.fit(batches(NESTED));
  assert.deepEqual(await nested.getContiguousParameters(), await flat.getContiguousParameters());
  assert.deepEqual(
    await nested.evaluate({ inputs: NESTED, labels: { labels } }),
    await flat.evaluate({ inputs: FLAT, labels: { labels } }),
  );
  const short = { inputs: { x, past: [{ key, value: rows(19, 4) }] }, labels: { labels } };
  await assert.rejects(nested.evaluate(short), is('invalid-feed', /'past\.0\.value' has 19 examples, but 'x' has 20/));
  const twice = { inputs: NESTED, labels: { labels, past: [{ key }] } };
  await assert.rejects(nested.fit(twice), is('invalid-feed', /'past\.0\.key' is both an input and a label/));
  await Promise.all([flat.release(), nested.release()]);
});

test('what is wrong with a feed is named by its path', async () => {
  /** @type {any} */
  const loop = { key, value };
  loop.self = loop;
  const wrong = [
    [{ x, past: [{ kye: key }] }, 'invalid-feed', /no input 'past\.0\.kye'; wanted are 'x'/],
    [{ x, past: [{ key: 3 }] }, 'invalid-feed', /'past\.0\.key' must be a tensor/],
    [{ x, past: [{ key: { data: key.data } }] }, 'invalid-feed', /'past\.0\.key' must be a tensor/],
    [{ ...NESTED, 'past.0.key': key }, 'invalid-feed', /'past\.0\.key' is fed twice/],
    [{ ...NESTED, 'past.0.key': null }, 'invalid-feed', /'past\.0\.key' is fed twice/],
    [{ x, past: [loop] }, 'invalid-feed', /'past\.0\.self' contains itself/],
    [{ x, past: new Map([[0, key]]) }, 'invalid-feed', /no input 'past'; wanted are/],
    [
      { x: [x], past: [{ key, value }] },
      'invalid-feed',
      /'x' must be a tensor, not an array: new Tensor\('\w+', elements, dims\)/,
    ],
    [{ x: { type: 'string', data: ['a'], dims: [1] } }, 'invalid-feed', /'x' wants float32, string came/],
    [{ x, past: [] }, 'invalid-feed', /past\.0\.key/],
    [{ x, past: [{ key: null, value }] }, 'invalid-feed', /past\.0\.key/],
  ];
  for (const [feeds, code, words] of /** @type {[any, string, RegExp][]} */ (wrong)) {
    await assert.rejects(inference.run(feeds), is(code, words));
    await assert.rejects(session.step({ ...feeds, labels }), is(code, words));
  }
  assert.deepEqual(
    bind({ past: { a: [null, { b: x }] } }, [
      { name: 'past.a.0', type: 'float32', dims: [] },
      { name: 'past.a.1.b', type: 'float32', dims: [] },
    ]),
    [['past.a.1.b', { type: x.type, data: x.data, dims: x.dims }]],
  );
});

test('what is wrong with a structure of fetches is named by its path', async () => {
  /** @type {any} */
  const loop = { a: ['logits'] };
  loop.a.push(loop);
  const wrong = [
    [{ a: [1] }, /at 'a\.0' stands 1; wanted the name of an output/],
    [{ a: 'logits', b: null }, /at 'b' stands null/],
    [[x], /at '0' stands a tensor/],
    [[['logits', '']], /at '0\.1' stands an empty name/],
    [{ a: [] }, /at least one output name/],
    [loop, /'a\.1' contains itself/],
  ];
  for (const [fetches, words] of /** @type {[any, RegExp][]} */ (wrong))
    await assert.rejects(inference.run(FLAT, fetches), is('invalid-argument', words));
  await assert.rejects(inference.run(FLAT, { a: ['logit'] }), is('invalid-feed', /logit/));
});

test('a key may be anything, and a node may stand at two places', () => {
  const shared = { key: x };
  assert.deepEqual([...flatten({ a: shared, b: [shared] }, () => false).keys()], ['a.key', 'b.0.key']);
  assert.deepEqual([...flatten(JSON.parse('{"__proto__": {"": null}}'), () => false)], [['__proto__.', null]]);
  assert.deepEqual(
    mapNames(Object.assign(Object.create(null), { a: ['b', 'b'] }), (name) => name + name),
    { a: ['bb', 'bb'] },
  );
});
