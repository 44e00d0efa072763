// fineTune: a person's few examples on a pretrained model, judged on real digits; nothing worse than before is taken.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { SharedFeatures } from '../../../js/fine-tune/shared-features.js';
import { fineTune, generateArtifacts, parametersOf, SampleStore, Tensor, TrainingSession } from '../../../js/index.js';
import { TrainingSession as Session } from '../../../js/session/training.js';
import { root } from '../../../tools/programs.mjs';
import { golden } from '../../support/clusters.js';
import { accuracyOf, DIGITS, foreign, pick, readerOfDigits } from '../../support/hands.js';

const engine = { worker: false, threads: 1 };
const named = (data) => ({ ...data, labels: data.labels.map(String) });

const NEW = [5, 6, 7, 8, 9];
const taught = golden('resnet_folded.onnx'); // the digits 0 to 4
let base; // all ten
const test500 = pick('test', DIGITS, 50);
const hand500 = pick('test', DIGITS, 50, { hand: foreign });
const known = pick('train', DIGITS, 90, { from: 20_000 });

before(async () => {
  base = await readerOfDigits(engine);
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
  assert.deepEqual([...new Set(told.map(({ phase }) => phase))], ['features', 'head', 'done']);
  const computed = told.filter(({ phase }) => phase === 'features').at(-1);
  assert.deepEqual([computed.done, computed.of], [100, 100], 'each once, those held out too');
  const { labels } = await session.predict(pick('test', NEW, 1).inputs, { labels: true });
  assert.ok(labels.data.every((label) => classes.includes(label)));
});

test('dropLast leaves the smaller last batch of each epoch out, of a head and of the layers below', async () => {
  const data = named(pick('train', NEW, 7));
  const stepsOf = async (/** @type {boolean | undefined} */ dropLast) => {
    const options = { engine, epochs: 4, lastLayers: 1, validation: 0, batchSize: 16, dropLast };
    const { session, report } = await fineTune(taught, data, options);
    await session.release();
    return report.phases.map(({ history }) => history.steps);
  };
  assert.deepEqual(await stepsOf(true), [8, 2]);
  assert.deepEqual(await stepsOf(undefined), [12, 3]);
});

test('a foreign hand is learned, and what was known stays: each by itself costs the other', async () => {
  const data = pick('train', DIGITS, 5, { from: 30_000, hand: foreign });
  const plain = await fineTune(base, data, { head: false, engine, accept: { lossRise: 9, replayDrop: 1 } });
  const { session, report, rollback } = await fineTune(base, data, { head: false, engine, replay: known });
  const [mine, others] = [await accuracyOf(session, hand500, DIGITS), await accuracyOf(session, test500, DIGITS)];
  const forgot = await accuracyOf(plain.session, test500, DIGITS);
  await rollback();
  const [before, knew] = [await accuracyOf(session, hand500, DIGITS), await accuracyOf(session, test500, DIGITS)];
  const said = `hand ${before} → ${mine}, others' ${knew} → ${others}, without replay ${forgot}`;
  assert.ok(report.accepted && mine >= before + 0.06, said);
  assert.ok(others >= knew - 0.01 && others > forgot, said);
});

/** Distance of all weights from the base. */
async function distanceOf(options, data) {
  const open = { lossRise: 9, replayDrop: 1 };
  const { session, report, rollback } = await fineTune(base, data, { head: false, engine, accept: open, ...options });
  const { data: now } = await session.getContiguousParameters(false);
  const there = now.slice();
  await rollback();
  const { data: was } = await session.getContiguousParameters(false);
  await session.release();
  return { distance: Math.hypot(...there.map((x, i) => x - was[i])), report };
}

test('an anchor keeps all layers near the base, without replay too; augmentation makes other pictures', async () => {
  const data = pick('train', DIGITS, 5, { from: 30_000, hand: foreign });
  const distances = [];
  for (const anchor of [0, undefined, 10]) distances.push((await distanceOf({ anchor, epochs: 5 }, data)).distance);
  assert.ok(distances[0] > distances[1] && distances[1] > 1.4 * distances[2], distances.join(', '));
  const [still, moved] = [await distanceOf({ augment: false, epochs: 2 }, data), await distanceOf({ epochs: 2 }, data)];
  const lossOf = ({ report }) => report.phases[0].history.epochs.at(-1).metrics.loss;
  assert.ok(lossOf(moved) > 1.05 * lossOf(still), `${lossOf(moved)}, of pictures as they are ${lossOf(still)}`);
});

test('beside replay each example is learned several times an epoch, as the ratio says', async () => {
  const data = pick('train', DIGITS, 5, { from: 30_000, hand: foreign });
  const { inputs, labels } = known;
  for (const [replay, steps] of [
    [{ ratio: 0.5 }, 20], // 8 · 40 of the person's, 320 others
    [{ ratio: 0.9 }, 25], // 2 · 40 and 720
    [{ ratio: 0 }, 10],
  ]) {
    const { session, report } = await fineTune(base, data, {
      head: false,
      engine,
      epochs: 1,
      replay: { inputs, labels, ...replay },
    });
    assert.deepEqual([report.phases[0].history.steps, report.examples.trained], [steps, 40]);
    await session.release();
  }
});

test('with a new head, what the base has is anchored alone', async () => {
  const data = named(pick('train', NEW, 6));
  const { session } = await fineTune(taught, data, { engine, epochs: 1, lastLayers: 1, anchor: 2 });
  const checkpoint = await session.saveCheckpoint();
  const text = Buffer.from(checkpoint).toString('latin1');
  const count = (name) => text.split(name).length - 1;
  // once more in its group and in its base
  assert.equal(count('onnx::Conv_87') - count('head.weight'), 2);
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

test('the samples of a store are taken as they are', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'trainlet-fine-tune-'));
  const store = await SampleStore.open({ directory });
  const { inputs, labels } = named(pick('train', [7, 8], 3));
  for (const [i, label] of labels.entries()) {
    const input = new Tensor('float32', inputs.input.data.slice(i * 784, (i + 1) * 784), [1, 1, 28, 28]);
    await store.add({ inputs: { input }, label });
  }
  const classes = await store.classes();
  const { report } = await fineTune(taught, await store.dataset(), { classes, engine, epochs: 3 });
  const named3 = await fineTune(taught, { inputs, labels }, { classes, engine, epochs: 3 });
  assert.deepEqual(
    report.phases[0].history.epochs.at(-1).metrics,
    named3.report.phases[0].history.epochs.at(-1).metrics,
  );
  await assert.rejects(
    fineTune(taught, await store.dataset(), { engine }),
    /indices of the classes that the option classes names/,
  );
  rmSync(directory, { recursive: true });
});

test('the program of docs/guides/fine-tuning.md runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trainlet-fine-tune-'));
  const [, program] = /^```js\n(.*?)^```/ms.exec(readFileSync(join(root, 'docs/guides/fine-tuning.md'), 'utf8'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/trainlet'), 'junction');
  writeFileSync(join(folder, 'model.onnx'), taught);
  writeFileSync(join(folder, 'program.mjs'), program);
  const store = await SampleStore.open({ name: 'signs', directory: join(folder, 'samples') });
  const { inputs, labels } = named(pick('train', [7, 8], 6));
  for (const [i, label] of labels.entries()) {
    const input = new Tensor('float32', inputs.input.data.slice(i * 784, (i + 1) * 784), [1, 1, 28, 28]);
    await store.add({ inputs: { input }, label });
  }
  const printed = execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' });
  assert.match(printed, /^true \{ trained: 10, heldOut: 2 \}\n\[/);
  rmSync(folder, { recursive: true });
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
    [data, { anchor: -1 }, /anchor is a number from 0 up, not -1/],
    [data, { augment: ['spin'] }, /there is no step 'spin'/],
    [data, { replay: { ...data, ratio: 1 } }, /ratio is a number below 1/],
    [data, { head: false, classes: ['7', '8'] }, /the model has 5 classes, and classes are 7, 8/],
    [data, { head: { at: 'nowhere' } }, /computes no value 'nowhere'/],
  ];
  for (const [given, options, message] of bad)
    await assert.rejects(fineTune(taught, given, { engine, ...options }), { code: 'invalid-argument', message });
  const fixed = {
    inputs: { x: new Tensor('float32', new Float32Array(16), [4, 4]) },
    labels: ['a', 'b', 'c', 'a'],
  };
  const together = golden('fixed_batch/together_dynamo_2.onnx');
  await assert.rejects(fineTune(together, fixed, { engine, head: false, classes: ['a', 'b', 'c'] }), {
    code: 'invalid-argument',
    message: /^fineTune: input 'x' takes 2 at a time, .*: export the model with a dynamic first dim/,
  });
  const stop = new AbortController();
  const options = { engine, signal: stop.signal, onProgress: () => stop.abort() };
  await assert.rejects(fineTune(taught, data, options), { code: 'aborted' });
});

test('a signal is heard at each of the questions between the phases, in the gate and in the calibration', async (t) => {
  const data = named(pick('train', [7, 8], 5));
  let [calls, at, stop] = [0, Infinity, new AbortController()];
  for (const [owner, names] of [
    [Session.prototype, ['evaluate', 'predict']],
    [SharedFeatures.prototype, ['evaluate', 'scoresOf']],
  ])
    for (const name of names) {
      const whole = owner[name];
      t.mock.method(owner, name, function counted(...given) {
        if (++calls === at) stop.abort();
        return whole.apply(this, given);
      });
    }
  for (const more of [{}, { cacheFeatures: false }]) {
    const tune = async (place) => {
      [calls, at, stop] = [0, place, new AbortController()];
      const options = { engine, epochs: 1, signal: stop.signal, ...more };
      const { session } = await fineTune(taught, data, options);
      await session.release();
    };
    await tune(Infinity);
    const all = calls;
    assert.ok(all >= 4, `${all} questions`);
    for (let place = 1; place <= all; place++) {
      await assert.rejects(tune(place), { code: 'aborted' }, `question ${place} of ${all}`);
      assert.ok(calls <= place + 1, `${calls} questions, and the signal came at ${place}`);
    }
  }
});
