/**
 * Names are only names: those that JavaScript's objects have of their own arrive like any other, both ways and through
 * a worker.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, message, nodeProto, onnxFile, opsetId } from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';

const [X, WEIGHT, HIDDEN, LOGITS] = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
const value = (name, dims) => ({ name, type: 'float32', dims });

/** x (N, 2) · weight (2, 3) = hidden, Relu of which = logits; both are outputs. */
function model({ input = X, parameter = WEIGHT, hidden = HIDDEN, logits = LOGITS, op = 'Relu' } = {}) {
  const data = Float32Array.of(1, 0, -1, 0, 1, 2);
  return onnxFile({
    name: 'prototype',
    nodes: [
      { op: 'MatMul', inputs: [input, parameter], outputs: [hidden], attributes: {} },
      { op, inputs: [hidden], outputs: [logits], attributes: {} },
    ],
    weights: [[parameter, { type: 'float32', dims: [2, 3], data }]],
    inputs: [value(input, ['valueOf', 2])],
    outputs: [value(hidden, ['valueOf', 3]), value(logits, ['valueOf', 3])],
  });
}
const x = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
const WANTED = [
  [1, 2, 3, 3, 4, 5],
  [1, 2, 3, 3, 4, 5],
];
const labels = new Tensor('int64', [0, 2]);

test('an inference takes and gives them, in this thread and through a worker', async () => {
  for (const options of [ALONE, {}]) {
    const session = await InferenceSession.create(model(), options);
    assert.deepEqual([session.inputNames, session.outputNames], [[X], [HIDDEN, LOGITS]]);
    const all = await session.run({ [X]: x });
    assert.equal(Object.getPrototypeOf(all), Object.prototype);
    assert.deepEqual(Object.keys(all), [HIDDEN, LOGITS]);
    assert.deepEqual(
      [HIDDEN, LOGITS].map((name) => [...all[name].data]),
      WANTED,
    );
    const turned = await InferenceSession.create(
      model({ input: LOGITS, parameter: HIDDEN, hidden: WEIGHT, logits: X }),
      options,
    );
    const feeds = { [LOGITS]: x };
    for (const found of [
      await turned.run(feeds),
      await turned.run(feeds, [X]),
      await turned.run(feeds, { [X]: null }),
    ]) {
      assert.ok(Object.hasOwn(found, X) && Object.getPrototypeOf(found) === Object.prototype);
      assert.deepEqual([...found[X].data], WANTED[1]);
    }
    const own = new Tensor('float32', new Float32Array(6), [2, 3]);
    const filled = await turned.run(feeds, { [X]: own });
    assert.deepEqual([filled[X] === own, [...own.data]], [true, WANTED[1]]);
    const structured = await turned.run({ [LOGITS]: x }, { [X]: [X], deep: { [X]: WEIGHT } });
    assert.deepEqual([[...structured[X][0].data], [...structured.deep[X].data]], WANTED);
    await Promise.all([session.release(), turned.release()]);
  }
});

test('nested feeds and options of runs are not mistaken for them', async () => {
  const nested = await InferenceSession.create(model({ input: `a.${X}`, logits: 'tag', hidden: 'terminate' }), ALONE);
  const feeds = { a: { [X]: x } };
  assert.deepEqual(Object.keys(await nested.run(feeds, { tag: null })), ['tag']);
  assert.deepEqual(
    Object.keys(await nested.run(feeds, { tag: new Tensor('float32', new Float32Array(6), [2, 3]), terminate: null })),
    ['tag', 'terminate'],
  );
  assert.deepEqual(Object.keys(await nested.run(feeds, { tag: 'a run' })), ['terminate', 'tag']);
  await nested.release();
});

test('a training, its checkpoint, its export and its artifacts have them', async () => {
  const options = { loss: 'cross-entropy', optimizer: 'sgd', additionalOutputs: [LOGITS], ...ALONE };
  const artifacts = await generateArtifacts(model(), options);
  const plain = { input: 'x', parameter: 'w', hidden: 'h', logits: 'y' };
  const [odd, usual] = await Promise.all([
    TrainingSession.create(artifacts, ALONE),
    TrainingSession.create(await generateArtifacts(model(plain), { ...options, additionalOutputs: ['y'] }), ALONE),
  ]);
  assert.deepEqual(
    odd.parameters.map(({ name }) => name),
    [WEIGHT],
  );
  const feeds = { [X]: x, labels };
  assert.deepEqual(await odd.step(feeds), await usual.step({ x, labels }));
  const found = await odd.runTrainStep(feeds);
  assert.deepEqual([...found[LOGITS].data], [...(await usual.runTrainStep({ x, labels })).y.data]);
  const [history, wanted] = await Promise.all([
    odd.fit(
      { inputs: { [X]: x }, labels: { labels } },
      { batchSize: 1, validation: { inputs: { [X]: x }, labels: { labels } } },
    ),
    usual.fit(
      { inputs: { x }, labels: { labels } },
      { batchSize: 1, validation: { inputs: { x }, labels: { labels } } },
    ),
  ]);
  assert.deepEqual(
    history.epochs.map(({ metrics }) => metrics),
    wanted.epochs.map(({ metrics }) => metrics),
  );
  assert.deepEqual((await odd.predict({ [X]: x }))[LOGITS].data, (await usual.predict({ x })).y.data);
  assert.deepEqual((await odd.getParameter(WEIGHT)).data, (await usual.getParameter('w')).data);
  await assert.rejects(
    odd.fit({ inputs: { [X]: x }, labels: { labels } }, { earlyStopping: { patience: 1, monitor: 'toString' } }),
    /there is no 'toString' to monitor/,
  );
  await odd.setParameter(WEIGHT, new Tensor('float32', new Float32Array(6), [2, 3]));
  for (const name of [X, WEIGHT, LOGITS]) odd.properties.set(name, name);
  for (const format of ['trainlet', 'ort']) {
    const resumed = await TrainingSession.create(
      { ...artifacts, checkpointState: await odd.saveCheckpoint({ format }) },
      ALONE,
    );
    assert.deepEqual(
      [[...(await resumed.getParameter(WEIGHT)).data], [X, WEIGHT, LOGITS].map((name) => resumed.properties.get(name))],
      [Array(6).fill(0), [X, WEIGHT, LOGITS]],
    );
    await resumed.release();
  }
  const inference = await InferenceSession.create(await odd.exportModel(), ALONE);
  assert.deepEqual([...(await inference.run({ [X]: x }))[LOGITS].data], Array(6).fill(0));
  await Promise.all([odd, usual, inference].map((session) => session.release()));
});

test('names that no model has are refused, not taken for others', async () => {
  const session = await InferenceSession.create(model({ input: 'x\uFFFD', logits: 'y\uFFFD' }), ALONE);
  const feeds = { 'x\uFFFD': x };
  assert.deepEqual([...(await session.run(feeds, ['y\uFFFD']))['y\uFFFD'].data], WANTED[1]);
  await assert.rejects(session.run({ 'x\ud800': x }), { code: 'invalid-feed', message: /there is no input/ });
  for (const name of ['y\ud800', 'y\uFFFD\0', `y\uFFFD\n${HIDDEN}`]) {
    for (const fetches of [[name], { [name]: null }, { a: [name] }]) {
      await assert.rejects(session.run(feeds, fetches), { name: 'TrainletError', message: /^[^\n\0]+$/ });
    }
  }
  assert.deepEqual([...(await session.run(feeds))['y\uFFFD'].data], WANTED[1]);
  await session.release();
});

/**
 * The file with other bytes where a text stands.
 * @param {Uint8Array} file
 * @param {string} text
 * @param {Uint8Array} bytes as many
 */
function replaced(file, text, bytes) {
  const copy = Buffer.from(file);
  const found = [];
  for (let at = copy.indexOf(text); at >= 0; at = copy.indexOf(text, at + 1)) found.push(at);
  assert.ok(found.length > 0 && bytes.length === text.length);
  for (const at of found) copy.set(bytes, at);
  return new Uint8Array(copy);
}
const refused = (model, message) =>
  Promise.all([
    assert.rejects(InferenceSession.create(model, ALONE), { name: 'TrainletError', code: 'invalid-model', message }),
    assert.rejects(generateArtifacts(model, { loss: 'mse', ...ALONE }), {
      name: 'TrainletError',
      code: 'invalid-model',
      message,
    }),
  ]);
const PARTS = ['input', 'parameter', 'hidden', 'logits', 'op'];

test('a text that is not UTF-8 or has a zero byte is refused, wherever it stands', async () => {
  const broken = [
    [0x61, 0x61, 0x61, 0xff],
    [0x61, 0x61, 0xc0, 0x80],
    [0x61, 0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0x61, 0x61, 0xe2, 0x82],
    [0x61, 0x80, 0x61, 0x61],
  ];
  for (const part of PARTS) {
    const file = model({ [part]: 'QQQQ' });
    for (const bytes of broken)
      await refused(
        replaced(file, 'QQQQ', Uint8Array.from(bytes)),
        /^a text of the ONNX model is not UTF-8, at byte \d+$/,
      );
    await refused(
      replaced(file, 'QQQQ', Uint8Array.of(0x61, 0, 0x61, 0x61)),
      /^a text of the ONNX model has a zero byte in it, at byte \d+$/,
    );
  }
  const artifacts = await generateArtifacts(model({ parameter: 'QQQQ' }), {
    loss: 'mse',
    optimizer: 'sgd',
    ...ALONE,
  });
  for (const key of /** @type {const} */ (['trainModel', 'evalModel'])) {
    const damaged = { ...artifacts, [key]: replaced(artifacts[key], 'QQQQ', Uint8Array.from(broken[0])) };
    await assert.rejects(TrainingSession.create(damaged, ALONE), {
      code: 'invalid-model',
      message: /^a text of the ONNX model is not UTF-8/,
    });
  }
  const directory = new URL('../../golden/data/ort/ort_testdata_ortformat/', import.meta.url);
  const [train, checkpoint] = await Promise.all(
    ['training_model.ort', 'checkpoint'].map((name) => readFile(new URL(name, directory))),
  );
  const ort = {
    trainModel: replaced(
      train,
      'fc1.weight',
      Uint8Array.from('fc1.weigh\xff', (c) => c.charCodeAt(0)),
    ),
    checkpointState: checkpoint,
  };
  await assert.rejects(TrainingSession.create(ort, ALONE), {
    code: 'invalid-model',
    message: /or a text is not UTF-8$/,
  });
  const theirs = {
    trainModel: train,
    checkpointState: replaced(
      checkpoint,
      'fc1.weight',
      Uint8Array.from('fc1.weigh\xff', (c) => c.charCodeAt(0)),
    ),
  };
  await assert.rejects(TrainingSession.create(theirs, ALONE), {
    code: 'checkpoint-corrupt',
    message: /or a text is not UTF-8$/,
  });
});

test('a line break in the name of a value is refused; other names may have one, a sentence stays one', async () => {
  for (const part of PARTS.slice(0, 4))
    await refused(model({ [part]: 'Q\nQQ' }), /^the name 'Q QQ' has a line break in it$/);
  await assert.rejects(InferenceSession.create(model({ op: 'Re\nlu\r' }), ALONE), {
    code: 'unsupported-op',
    message: /^the model uses an operator we lack: Re lu $/,
  });
  const notes = [['two', 'lines\nhere']];
  const texts = message(
    [6, Uint8Array.of(0xff, 0x0a, 0)],
    ...notes.map(([key, text]) => [14, message([1, key], [2, text])]),
  );
  const noted = Buffer.concat([model({ input: 'x', logits: 'y' }), texts]);
  const made = await generateArtifacts(new Uint8Array(noted), { loss: 'mse', ...ALONE });
  assert.ok(Buffer.from(made.trainModel).includes('lines\nhere'));
  await (await TrainingSession.create(made, ALONE)).release();
});

test('names that differ only late, and names of 2 MB, are told apart', { timeout: 120_000 }, async () => {
  const long = 'n'.repeat(2e6);
  const [input, parameter, hidden, logits] = ['a', 'b', 'c', 'd'].map((end) => long + end);
  const session = await InferenceSession.create(model({ input, parameter, hidden, logits }), ALONE);
  const found = await session.run({ [input]: x }, [hidden, logits]);
  assert.deepEqual(
    [hidden, logits].map((name) => [...found[name].data]),
    WANTED,
  );
  await assert.rejects(session.run({ [input]: x }, [parameter.slice(0, -1)]), (error) => error.message.length < 600);
  await session.release();
  const made = await generateArtifacts(model({ input, parameter, hidden, logits }), {
    loss: 'mse',
    optimizer: 'sgd',
    ...ALONE,
  });
  const training = await TrainingSession.create(made, ALONE);
  assert.equal(training.parameters[0].name, parameter);
  await training.release();
});

test('functions are called by their whole names, however domain and name divide', async () => {
  const body = (op) => [
    [4, 'a'],
    [5, 'b'],
    [7, nodeProto({ input: 'a', output: 'b', name: op, opType: op })],
    [9, opsetId(17)],
  ];
  const call = ([domain, op], from, to) => nodeProto({ input: from, output: to, name: to, opType: op, domain });
  const calling = (one, other) => {
    const graph = graphProto({
      node: [call(one, 'x', 'h'), call(other, 'h', 'y')],
      name: 'g',
      input: info('x', 1, ['N', 2]),
      output: info('y', 1, ['N', 2]),
    });
    const opsets = [
      ['', 17],
      [one[0], 1],
      [other[0], 1],
    ].map(([domain, version]) => [8, message([1, domain], [2, version])]);
    const functions = [
      [one, 'Relu'],
      [other, 'Neg'],
    ].map(([[domain, name], op]) => [25, message([1, name], [10, domain], ...body(op))]);
    return message([1, 8], [7, graph], ...opsets, ...functions);
  };
  const session = await InferenceSession.create(calling(['dF', 'G'], ['d', 'FG']), ALONE);
  assert.deepEqual([...(await session.run({ x: new Tensor('float32', [1, -2], [1, 2]) })).y.data], [-1, -0]);
  await session.release();
  await refused(calling(['d\nF', 'G'], ['d', 'F\nG']), /^the name 'd FG.*' has a line break in it$/);
});
