// fineTune: a person's few examples on a pretrained model, judged on real digits; what is worse than before is not taken.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { mnistFolder } from '../../js/cli/arrays.js';
import { fineTune, generateArtifacts, parametersOf, Tensor, TrainingSession } from '../../js/index.js';
import { golden } from './clusters.js';

const engine = { worker: false, threads: 1 };
const DIGITS = Array.from({ length: 10 }, (_, i) => i);
const FILES = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};

/** As a slanted hand with a narrow letter and a broad pen writes it. */
function foreign(picture) {
  const [c, shear, narrow, angle] = [13.5, 0.5, 0.75, 0.35];
  const at = (x, y) => (x >= 0 && y >= 0 && x < 28 && y < 28 ? picture[y * 28 + x] : 0);
  const bent = Float32Array.from(picture, (_, i) => {
    const v = Math.floor(i / 28) - c;
    const u = ((i % 28) - c) / narrow + shear * v;
    const x = Math.cos(angle) * u + Math.sin(angle) * v + c;
    const y = -Math.sin(angle) * u + Math.cos(angle) * v + c;
    const [left, top] = [Math.floor(x), Math.floor(y)];
    const row = (r) => (left + 1 - x) * at(left, r) + (x - left) * at(left + 1, r);
    return (top + 1 - y) * row(top) + (y - top) * row(top + 1);
  });
  return bent.map((x, i) => Math.max(x, i % 28 ? bent[i - 1] : 0, i >= 28 ? bent[i - 28] : 0));
}

/** The first `each` pictures of each of the digits from picture `from` on. */
function pick(part, digits, each, { from = 0, hand = (picture) => picture } = {}) {
  const [pictures, labels] = FILES[part].map((file) => readFileSync(join(mnistFolder(), file)));
  const rows = [];
  for (let i = from; rows.length < each * digits.length; i++) {
    const digit = labels[8 + i];
    if (digits.includes(digit) && rows.filter((row) => labels[8 + row] === digit).length < each) rows.push(i);
  }
  const input = new Float32Array(rows.length * 784);
  rows.forEach((row, i) => {
    const at = 16 + row * 784;
    input.set(hand(Float32Array.from(pictures.subarray(at, at + 784), (x) => x / 255)), i * 784);
  });
  return {
    inputs: { input: new Tensor('float32', input, [rows.length, 1, 28, 28]) },
    labels: rows.map((i) => labels[8 + i]),
  };
}

const asFed = ({ inputs, labels }, classes) => ({
  inputs,
  labels: {
    labels: new Tensor(
      'int64',
      BigInt64Array.from(labels, (label) => BigInt(classes.indexOf(label))),
    ),
  },
});
const accuracyOf = async (session, data, classes) => (await session.evaluate(asFed(data, classes))).accuracy;
const named = (data) => ({ ...data, labels: data.labels.map(String) });

const NEW = [5, 6, 7, 8, 9];
const taught = golden('resnet_folded.onnx'); // the digits 0 to 4
let base; // all ten
const test500 = pick('test', DIGITS, 50);
const hand500 = pick('test', DIGITS, 50, { hand: foreign });
const known = pick('train', DIGITS, 90, { from: 20_000 });

before(async () => {
  const head = { classes: DIGITS.map(String) };
  const options = { ...engine, loss: 'cross-entropy', head, requiresGrad: ['*'] };
  const session = await TrainingSession.create(await generateArtifacts(taught, options), engine);
  const schedule = { type: 'one-cycle', lr: 0.005 };
  await session.fit(asFed(pick('train', DIGITS, 250), DIGITS), { epochs: 6, schedule, seed: 1 });
  base = await session.exportModel();
});

test('twenty examples a class of five that the network never saw', async () => {
  const told = [];
  const data = named(pick('train', NEW, 20));
  const classes = NEW.map(String);
  const { session, report } = await fineTune(taught, data, {
    classes,
    engine,
    onProgress: (event) => told.push(event),
  });
  const accuracy = await accuracyOf(session, pick('test', NEW, 100), NEW);
  assert.ok(accuracy > 0.82, `${accuracy} of 500`);
  assert.deepEqual([report.accepted, report.share, report.classes], [true, 1, classes]);
  assert.deepEqual(report.examples, { trained: 80, heldOut: 20 });
  assert.ok(report.after.heldOut.loss <= report.before.heldOut.loss);
  assert.ok(report.phases[0].history.features, 'the layers below were computed once');
  assert.deepEqual([...new Set(told.map(({ phase }) => phase))], ['features', 'head']);
  const { labels } = await session.predict(pick('test', NEW, 1).inputs, { labels: true });
  assert.ok(labels.data.every((label) => classes.includes(label)));
});

test('a foreign hand is learned, and what was known stays: each by itself costs the other', async () => {
  const data = pick('train', DIGITS, 5, { from: 30_000, hand: foreign });
  const plain = await fineTune(base, data, { head: false, engine, accept: { lossRise: 9, replayDrop: 1 } });
  const { session, report, rollback } = await fineTune(base, data, {
    head: false,
    engine,
    replay: { ...known, ratio: 0.9 },
  });
  const [mine, others] = [await accuracyOf(session, hand500, DIGITS), await accuracyOf(session, test500, DIGITS)];
  const forgot = await accuracyOf(plain.session, test500, DIGITS);
  await rollback();
  const [before, knew] = [await accuracyOf(session, hand500, DIGITS), await accuracyOf(session, test500, DIGITS)];
  const said = `hand ${before} → ${mine}, others' ${knew} → ${others}, without replay ${forgot}`;
  assert.ok(report.accepted && mine >= before + 0.03, said);
  assert.ok(others >= knew - 0.01 && others > forgot, said);
});

test('a wrong teacher is refused, and the old weights are back to the bit', async () => {
  const data = pick('train', DIGITS, 5, { from: 30_000 });
  data.labels = data.labels.map((label) => (label + 3) % 10);
  const { session, report } = await fineTune(base, data, { head: false, engine, replay: known });
  assert.deepEqual([report.accepted, report.share], [false, 0]);
  assert.match(report.reason, /are right|loss of the held-out/);
  const fresh = await TrainingSession.create(
    await generateArtifacts(base, { ...engine, loss: 'cross-entropy' }),
    engine,
  );
  const [kept, was] = [await session.getContiguousParameters(false), await fresh.getContiguousParameters(false)];
  assert.deepEqual(kept.data, was.data);
});

test('the last layers learn after the head, at a smaller rate', async () => {
  const data = named(pick('train', NEW, 10));
  const { session, report } = await fineTune(taught, data, { engine, epochs: 8, lastLayers: 2 });
  assert.deepEqual(
    report.phases.map(({ name, history }) => [name, history.epochs.length <= 8]),
    [
      ['head', true],
      ['layers', true],
    ],
  );
  const trained = session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  assert.deepEqual(trained.toSorted(), [
    'head.bias',
    'head.weight',
    'onnx::Conv_84',
    'onnx::Conv_85',
    'onnx::Conv_87',
    'onnx::Conv_88',
  ]);
  const order = (await parametersOf(taught, engine)).map(({ name }) => name);
  assert.deepEqual(order.slice(-2), ['fc.weight', 'fc.bias']);
});

test('few examples: nothing is held out of fewer than five', async () => {
  const { session, report } = await fineTune(taught, named(pick('train', [7, 8], 3)), { engine, epochs: 3 });
  assert.deepEqual([report.examples, report.accepted], [{ trained: 6, heldOut: 0 }, true]);
  assert.deepEqual([report.before, report.classes.toSorted()], [{}, ['7', '8']]);
  assert.equal(await accuracyOf(session, pick('train', [7, 8], 3), report.classes.map(Number)), 1);
});

test('what does not fit is refused in a sentence, and a signal stops it', async () => {
  const data = named(pick('train', [7, 8], 5));
  const bad = [
    [{ ...data, labels: data.labels.slice(1) }, {}, /input 'input' has 10 rows, and there are 9 labels/],
    [{ ...data, labels: undefined }, {}, /data are \{ inputs, labels \}/],
    [{ inputs: {}, labels: data.labels }, {}, /have no inputs/],
    [{ ...data, labels: data.labels.map(() => '7') }, {}, /two classes at least, there is 7/],
    [data, { classes: ['7', '9'] }, /the label "8" in row \d+ is none of 7, 9/],
    [data, { epoch: 3 }, /epoch/],
    [data, { validation: 1 }, /validation is a share below 1/],
    [data, { replay: { ...data, ratio: 1 } }, /ratio is a number below 1/],
    [data, { head: { at: 'nowhere' } }, /computes no value 'nowhere'/],
  ];
  for (const [given, options, message] of bad)
    await assert.rejects(fineTune(taught, given, { engine, ...options }), { code: 'invalid-argument', message });
  const stop = new AbortController();
  const options = { engine, signal: stop.signal, onProgress: () => stop.abort() };
  await assert.rejects(fineTune(taught, data, options), { code: 'aborted' });
});
