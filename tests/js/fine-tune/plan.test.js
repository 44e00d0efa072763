// The calls that fineTune makes: which layers learn, how long and how fast, what is judged, and where it goes on.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, mock, test } from 'node:test';
import { Core } from '../../../js/engine/core.js';
import { check, fineTune, tune } from '../../../js/fine-tune/fine-tune.js';
import { CheckpointStore, FeatureStore, Tensor } from '../../../js/index.js';
import { TrainingSession } from '../../../js/session/training.js';
import { clusters, golden } from '../../support/clusters.js';
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

const engine = { worker: false, threads: 1 };
const mlp = golden('mlp_small.onnx'); // fc1, fc2, fc3
const names = ['a', 'b', 'c', 'd', 'e'];
const pointsOf = (n, seed) => {
  const { inputs, labels } = clusters(n, seed);
  return { inputs, labels: Array.from(labels.labels.data, (label) => names[Number(label)]) };
};
const points = pointsOf(50, 3); // 40 learned, 10 held out
const data = { ...points, labels: points.labels.map((name) => names.indexOf(name)) };
const folder = mkdtempSync(join(tmpdir(), 'trainlet-plan-'));
after(() => rmSync(folder, { recursive: true }));

// ── what it asks for ──

let fits, groups, released, artifacts, heard;
const make = Core.prototype.artifacts;
const real = Object.fromEntries(
  ['fit', 'setParameterGroups', 'release'].map((name) => [name, TrainingSession.prototype[name]]),
);
const trainsIn = ({ parameters }) => parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
/** The session's own fit, or what stands in its place. */
let fitting;
/** Learns nothing: what it was asked for is what counts. */
const idle = async () => ({ epochs: [] });
beforeEach(() => {
  [fits, groups, released, fitting, artifacts, heard] = [[], [], [], real.fit];
  mock.restoreAll();
  mock.method(TrainingSession.prototype, 'fit', async function (examples, options) {
    fits.push({ trains: trainsIn(this), rows: Object.values(examples.inputs)[0].dims[0], options, session: this });
    return await fitting.call(this, examples, options);
  });
  mock.method(Core.prototype, 'artifacts', function (asked) {
    artifacts = asked;
    heard?.();
    return make.call(this, asked);
  });
  mock.method(TrainingSession.prototype, 'setParameterGroups', async function (all) {
    groups.push(all);
    return await real.setParameterGroups.call(this, all);
  });
  mock.method(TrainingSession.prototype, 'release', async function () {
    released.push(this);
    return await real.release.call(this);
  });
});
const run = async (options = {}, given = points, model = mlp) =>
  await fineTune(model, given, { engine, epochs: 1, ...options });
/** The settings that generateArtifacts gives to the engine: each setting, those that come several times as arrays. */
function settings() {
  /** @type {Record<string, string | string[]>} */
  const all = {};
  for (const [key, value] of artifacts.settings) all[key] = key in all ? [all[key], value].flat() : value;
  return all;
}
const valuesOf = async (session) => (await session.getContiguousParameters(false)).data.slice();
const FC = (n) => [`fc${n}.weight`, `fc${n}.bias`];
const HEAD = ['head.weight', 'head.bias'];

test('by default a new head learns alone', async () => {
  const { session, report } = await run({ epochs: undefined });
  assert.deepEqual(settings(), {
    maxMemoryBytes: '0',
    'loss.type': 'cross-entropy',
    'loss.labelSmoothing': '0.1',
    'loss.sampleWeights': '1',
    'optimizer.type': 'adamw',
    'optimizer.lr': '0.001',
    'optimizer.weightDecay': '0.0001',
    'head.classes': names,
  });
  const [{ trains, rows, options }, ...more] = fits;
  assert.deepEqual([trains, rows, more, groups], [HEAD, 40, [], []]);
  const { epochs, batchSize, dropLast, seed, classWeight, schedule, earlyStopping, resume } = options;
  assert.deepEqual(
    { epochs, batchSize, dropLast, seed, classWeight, schedule, earlyStopping, resume },
    {
      epochs: 40,
      batchSize: 16,
      dropLast: undefined,
      seed: 0,
      classWeight: 'balanced',
      schedule: { type: 'cosine', lr: 1e-3, warmup: 6 }, // a twentieth of 40 · 3 steps
      earlyStopping: { patience: 8, monitor: 'val_loss', restoreBest: true },
      resume: false,
    },
  );
  for (const none of ['budget', 'checkpoint', 'augment', 'cacheFeatures']) assert.equal(options[none], undefined, none);
  assert.equal(options.validation.inputs.input.dims[0], 10);
  const { ms, phases, features, ...judgement } = report;
  assert.deepEqual([judgement.accepted, judgement.share, judgement.reason], [true, 1, undefined]);
  assert.deepEqual([judgement.classes, judgement.examples], [names, { trained: 40, heldOut: 10 }]);
  assert.ok(judgement.calibration.temperature > 0);
  assert.ok(judgement.after.heldOut.loss <= judgement.before.heldOut.loss);
  assert.ok(!('checkpoint' in judgement));
  assert.deepEqual([phases.length, phases[0].name, phases[0].improved], [1, 'head', true]);
  assert.ok(features.bytes > 0 && phases[0].ms <= ms && ms < 60_000);
  assert.deepEqual(trainsIn(session), HEAD);
});

test('options take the place of the defaults', async () => {
  fitting = idle;
  const listeners = Object.fromEntries(['onCheckpoint', 'onPause', 'onResume'].map((name) => [name, () => {}]));
  const { signal } = new AbortController();
  const given = { epochs: 61, batchSize: 20, dropLast: true, patience: 3, seed: 7, lr: 0.01, labelSmoothing: 0.3 };
  let listens = 0;
  heard = () => {
    listens = getEventListeners(signal, 'abort').length;
  };
  const { report } = await run({
    ...given,
    ...listeners,
    signal,
    validation: 0.4,
    cacheFeatures: false,
    head: { hidden: 4 },
  });
  const [{ options, rows }] = fits;
  assert.deepEqual([rows, report.examples], [30, { trained: 30, heldOut: 20 }]);
  const asked = settings();
  assert.deepEqual([asked['head.classes'], asked['head.hidden'], asked['loss.labelSmoothing']], [names, '4', '0.3']);
  assert.deepEqual([asked['optimizer.lr'], options.signal], ['0.01', signal]);
  assert.ok(listens > 0, 'the signal stops the making of artifacts, too');
  assert.deepEqual(options.schedule, { type: 'cosine', lr: 0.01, warmup: 4 }); // a twentieth of 61 steps
  assert.deepEqual([options.earlyStopping.patience, options.cacheFeatures], [3, false]);
  for (const key of ['epochs', 'batchSize', 'dropLast', 'seed']) assert.equal(options[key], given[key], key);
  for (const [name, listener] of Object.entries(listeners)) assert.equal(options[name], listener);
  assert.ok(!('features' in report), 'none was kept');
});

test('layers below the head learn after it, slower and shorter, drawn to the base', async () => {
  fitting = idle;
  await run({ epochs: 6, lastLayers: 1 });
  const [head, below] = fits;
  assert.deepEqual([head.trains, below.trains.toSorted()], [HEAD, [...FC(2), ...HEAD].toSorted()]);
  assert.deepEqual(
    [head, below].map(({ options }) => options.epochs),
    [6, 2],
  );
  assert.equal(below.options.schedule.lr, 1e-3 * 0.1);
  assert.deepEqual(groups, [[{ params: FC(2), anchor: 0.1 }]]);
  await run({ lastLayers: 2, anchor: 3 });
  assert.deepEqual(fits[3].trains.toSorted(), [...FC(1), ...FC(2), ...HEAD].toSorted());
  assert.deepEqual(groups[1], [{ params: [...FC(2), ...FC(1)], anchor: 3 }]);
  await run({ lastLayers: 9, anchor: 0 });
  assert.deepEqual([fits[5].trains.length, groups.length], [6, 2]);
  await run({ epochs: undefined, lastLayers: 1 });
  assert.deepEqual(
    fits.slice(6).map(({ options }) => options.epochs),
    [40, 10],
  );
});

test('a model that keeps its outputs learns as a whole, or its last layers do', async () => {
  fitting = idle;
  const whole = await run({ epochs: undefined, head: false }, data);
  assert.ok(!Object.keys(settings()).some((key) => key.startsWith('head')));
  assert.deepEqual(
    whole.report.phases.map(({ name }) => name),
    ['layers'],
  );
  const [{ trains, options }] = fits;
  assert.deepEqual(trains.toSorted(), [...FC(1), ...FC(2), ...FC(3)].toSorted());
  assert.deepEqual(
    [options.epochs, options.batchSize, options.schedule.lr, options.augment],
    [20, 16, 1e-3, undefined],
  );
  assert.deepEqual(groups, [[{ params: [...FC(3), ...FC(2), ...FC(1)], anchor: 0.1 }]]);
  assert.deepEqual([whole.report.classes, 'features' in whole.report], [['0', '1', '2', '3', '4'], false]);
  await run({ head: false, lastLayers: 1 }, data);
  assert.deepEqual(fits[1].trains, FC(3));
  const replay = await run({ epochs: undefined, head: false, classes: names, replay: pointsOf(40, 9) });
  const { options: beside } = fits[2];
  assert.deepEqual([beside.epochs, beside.batchSize, replay.report.classes], [10, 32, names]);
  await run({ epochs: 3, batchSize: 5, head: false, replay: data }, data);
  assert.deepEqual([fits[3].options.epochs, fits[3].options.batchSize], [3, 5]);
  await run({ replay: pointsOf(40, 9) });
  assert.equal(fits[4].options.batchSize, 16, 'of a new head');
});

test('weights that never train, as statistics, are no layer', async () => {
  fitting = idle;
  const pictures = new Tensor(
    'float32',
    Float32Array.from({ length: 8 * 3 * 144 }, (_, i) => Math.sin(i)),
    [8, 3, 12, 12],
  );
  const given = { inputs: { input: pictures }, labels: [0, 1, 2, 3, 0, 1, 2, 3] };
  await run({ head: false }, given, golden('cnn_bn.onnx'));
  const [{ trains, options }] = fits;
  assert.ok(trains.includes('bn1.weight') && !trains.includes('bn1.running_mean'), trains.join());
  const moved = [
    { type: 'shift', x: 0.07, y: 0.07 },
    { type: 'rotate', degrees: 10 },
  ];
  assert.deepEqual(options.augment, moved, 'pictures are moved');
  for (const [more, augment] of [
    [{ head: false, augment: false }, undefined],
    [{ head: false, augment: ['flip'] }, ['flip']],
    [{}, undefined],
    [{ augment: moved }, moved],
  ]) {
    const { report } = await run(
      more,
      { ...given, labels: more.head === false ? given.labels : given.labels.map(String) },
      golden('cnn_bn.onnx'),
    );
    assert.deepEqual(fits.at(-1).options.augment, augment);
    assert.equal('features' in report, more.head !== false && !augment, 'moved pictures have other features each time');
  }
});

const TYPES = { float32: 1, uint8: 2, int32: 6 };
/** Two scores of inputs (N, 1, 2, 2). @param {Record<string, keyof TYPES>} inputs by their types */
function readerOf(inputs) {
  const names = Object.keys(inputs);
  const node = (op, from, to, attributes = {}) =>
    nodeProto({
      input: from,
      output: to,
      opType: op,
      attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    });
  const nodes = [
    ...names.map((name) => node('Cast', [name], `${name}.float`, { to: 1 })),
    node(
      'Concat',
      names.map((name) => `${name}.float`),
      'all',
      { axis: 1 },
    ),
    node('Flatten', ['all'], 'flat'),
    node('MatMul', ['flat', 'weight'], 'y'),
  ];
  const dims = [4 * names.length, 2];
  const data = Float32Array.from({ length: dims[0] * 2 }, (_, i) => Math.cos(i));
  return modelProto({
    opsetImport: opsetId(17),
    graph: graphProto({
      node: nodes,
      name: 'reader',
      initializer: tensor('weight', { type: 'float32', dims, data }),
      input: names.map((name) => info(name, TYPES[inputs[name]], ['N', 1, 2, 2])),
      output: valueInfoProto({ name: 'y' }),
    }),
  });
}

test('only one picture is moved without being asked for: no other inputs of four dims', async () => {
  fitting = idle;
  const tensorOf = (type, n) =>
    new Tensor(
      type,
      [...Array(n * 4).keys()].map((i) => (type === 'float32' ? i / 9 : i % 9)),
      [n, 1, 2, 2],
    );
  for (const [inputs, isMoved] of [
    [{ x: 'float32' }, true],
    [{ x: 'uint8' }, true],
    [{ x: 'int32' }, false],
    [{ x: 'float32', z: 'float32' }, false],
  ]) {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, type]) => [name, tensorOf(type, 4)]));
    await run({ head: false, classes: ['a', 'b'] }, { inputs: given, labels: ['a', 'b', 'a', 'b'] }, readerOf(inputs));
    assert.equal(Boolean(fits.at(-1).options.augment), isMoved, JSON.stringify(inputs));
  }
});

test('the seed chooses what is held out; 0 without it', async () => {
  fitting = idle;
  const [usual, zero, one] = [await run(), await run({ seed: 0 }), await run({ seed: 1 })];
  assert.deepEqual(usual.report.before, zero.report.before);
  assert.notDeepEqual(usual.report.before, one.report.before);
});

// ── what is learned ──

test('features computed once give the weights that computing them each time gives', async () => {
  const replay = pointsOf(60, 9);
  const options = { epochs: 3, replay, lastLayers: 1 };
  const told = [];
  const once = await run({ ...options, onProgress: (event) => told.push(event) });
  const each = await run({ ...options, cacheFeatures: false });
  assert.deepEqual(await valuesOf(once.session), await valuesOf(each.session));
  assert.deepEqual(once.report.before, each.report.before);
  assert.deepEqual(once.report.after, each.report.after);
  assert.deepEqual(once.report.calibration, each.report.calibration);
  const [first] = told;
  assert.deepEqual(first, { phase: 'features', done: first.done, of: first.of, progress: first.progress });
  assert.deepEqual([fits[0].rows, first.of], [70, 70 + 10 + 30], 'learned, held out, and of the replay what judges');
  const hidden = { head: { hidden: 4 }, epochs: 2 };
  const [deep, slow] = [await run(hidden), await run({ ...hidden, cacheFeatures: false })];
  assert.deepEqual(await valuesOf(deep.session), await valuesOf(slow.session), 'two layers that are new');
  const epochs = told
    .filter(({ metrics }) => metrics)
    .map(({ phase, done, of, metrics }) => [phase, done, of, metrics.val_loss > 0]);
  assert.deepEqual(epochs, [
    ['head', 1, 3, true],
    ['head', 2, 3, true],
    ['head', 3, 3, true],
    ['layers', 1, 1, true],
  ]);
});

test('a store of features says what it had', async () => {
  const store = await FeatureStore.open({ directory: join(folder, 'features') });
  const told = [];
  const options = { cacheFeatures: { store }, onProgress: (event) => told.push(event) };
  const first = await run(options);
  const again = await run(options);
  assert.deepEqual([first.report.features.store.computed, again.report.features.store.computed], [50, 0]);
  assert.ok(told.some(({ store }) => store));
});

test('rollback gives the weights that were judged first, to the bit', async () => {
  let begun;
  fitting = async function (...given) {
    begun ??= await valuesOf(this);
    return await real.fit.call(this, ...given);
  };
  const { session, rollback, ...more } = await run({ epochs: 3, lastLayers: 1 });
  assert.notDeepEqual(await valuesOf(session), begun);
  await rollback();
  assert.deepEqual(await valuesOf(session), begun);
  assert.deepEqual(Object.keys(more), ['artifacts', 'report']);
});

test('nothing held out: nothing is judged, and all is taken', async () => {
  const { report } = await run({ validation: 0 });
  assert.deepEqual([report.examples, report.before, report.after], [{ trained: 50, heldOut: 0 }, {}, {}]);
  assert.deepEqual([report.accepted, report.phases[0].improved, 'calibration' in report], [true, true, false]);
  const { validation, earlyStopping } = fits[0].options;
  assert.deepEqual([validation, earlyStopping], [undefined, undefined]);
});

test('a phase that makes the held-out loss larger is undone, one that leaves it as it is counts', async () => {
  const spoil = async function (...given) {
    const history = await real.fit.call(this, ...given);
    await this.setParameter('head.bias', new Tensor('float32', Float32Array.of(50, 0, 0, 0, 0), [5]));
    return history;
  };
  fitting = spoil;
  const spoiled = await run();
  const { before, after, phases, accepted } = spoiled.report;
  assert.deepEqual([phases[0].improved, after, accepted], [false, before, true]);
  fitting = idle;
  assert.equal((await run()).report.phases[0].improved, true);
});

test('the gate decides, by the limits of the call', async () => {
  const { report } = await run({ accept: { lossRise: -1 } });
  assert.deepEqual([report.accepted, report.share], [false, 0]);
  assert.match(report.reason, /^the loss of the held-out examples is/);
});

// ── the time that it has ──

test('the budget is for all of the call: what has passed and what judging will take is left out', async () => {
  let now = 1000;
  mock.method(performance, 'now', () => now);
  const judge = TrainingSession.prototype.evaluate;
  mock.method(TrainingSession.prototype, 'evaluate', async function (...given) {
    now += 100;
    return await judge.call(this, ...given);
  });
  const plan = async (maxMs, pausedMs = 500) => {
    fits = [];
    fitting = async () => {
      now += 2000;
      return { epochs: [], ...(pausedMs && { pausedMs }) };
    };
    const { report } = await run({ lastLayers: 1, cacheFeatures: false, budget: { maxMs, saveBattery: true } });
    assert.equal(report.phases.length, fits.length);
    return [fits.map(({ options }) => options.budget), report.ms, report.phases.map(({ ms }) => ms)];
  };
  const told = (maxMs) => ({ maxMs, saveBattery: true });
  // 100 to judge the beginning, 100 kept for the end; 2000 and twice 100 for a phase, of which it waited 500
  assert.deepEqual(await plan(10_000), [[told(9800), told(8100)], 4600, [2200, 2200]]);
  assert.deepEqual(await plan(10_000, 0), [[told(9800), told(7600)], 4600, [2200, 2200]]);
  assert.deepEqual(await plan(1901), [[told(1701), told(1)], 4600, [2200, 2200]]);
  assert.deepEqual(await plan(1900), [[told(1700)], 2400, [2200]]);
  assert.deepEqual(await plan(200), [[], 200, []]);
  fits = [];
  await run({ cacheFeatures: false, budget: { saveBattery: true } });
  assert.deepEqual(fits[0].options.budget, { saveBattery: true });
});

// ── cut short, and gone on with ──

test('a call that was cut short goes on where it was, to the bit', async () => {
  const saved = [];
  const store = {
    save: async (_, bytes, meta) => saved.push({ bytes: bytes.slice(), meta }),
    load: async () => saved.at(-1),
  };
  const options = { epochs: 5, lastLayers: 1, batchSize: 8 };
  const whole = await run(options);
  const checkpoint = { store, name: 'run', everySteps: 1 };
  for (const phase of ['head', 'layers']) {
    const stop = new AbortController();
    const cut = { ...options, checkpoint, signal: stop.signal };
    const onProgress = (event) => event.phase === phase && event.done === (phase === 'head' ? 2 : 1) && stop.abort();
    released = [];
    await assert.rejects(run({ ...cut, onProgress }), { code: 'aborted' });
    assert.equal(released.length, 1, 'its session is released');
    [fits, released] = [[], []];
    const tuned = await run({ ...options, checkpoint });
    assert.deepEqual(await valuesOf(tuned.session), await valuesOf(whole.session), phase);
    assert.deepEqual(tuned.report.after, whole.report.after);
    const at = phase === 'head' ? 0 : 1;
    assert.deepEqual(
      fits.map(({ options: { resume, checkpoint } }) => [resume, Boolean(checkpoint)]),
      [
        [at === 0, at === 0],
        [at === 1, true],
      ],
      'what came before is not saved anew',
    );
    assert.equal(released.length, 1, 'the session that another took the place of');
    assert.equal(tuned.report.checkpoint.version, saved.length);
    saved.length = 0;
  }
});

test('a signal that comes between two phases ends the call there', async () => {
  const stop = new AbortController();
  const onProgress = ({ phase }) => phase === 'head' && stop.abort();
  await assert.rejects(run({ lastLayers: 1, signal: stop.signal, onProgress }), { code: 'aborted' });
  assert.equal(fits.length, 1);
});

test('what other calls saved under the name is removed where that is asked for', async () => {
  const store = await CheckpointStore.open({ directory: join(folder, 'others'), keep: 9 });
  const tuned = async (alone) => {
    await store.save('run', new Uint8Array(9));
    return await tune(mlp, points, { engine, epochs: 1, checkpoint: { store, name: 'run' } }, alone);
  };
  const beside = await tuned(undefined);
  assert.deepEqual([beside.removed, (await store.versions('run')).length], [0, 2]);
  const alone = await tuned(true);
  assert.deepEqual([alone.removed, (await store.versions('run')).length], [3, 1]);
  assert.match(alone.key, /^[0-9a-f]{64}$/);
  const { key, removed } = await tune(mlp, points, { engine, epochs: 1 }, true);
  assert.deepEqual([key, removed], [undefined, undefined]);
  assert.equal((await tune(mlp, points, { engine, epochs: 1 })).removed, 0);
});

test('a call that fails leaves no session open', async () => {
  for (const [options, given, message] of [
    [{ replay: { ...points, ratio: 2 } }, points, /ratio is a number below 1/],
    [{ head: false, classes: ['x', 'y'] }, data, /the model has 5 classes/],
  ]) {
    released = [];
    await assert.rejects(run(options, given), { message });
    assert.equal(released.length, 1);
  }
  mock.method(TrainingSession.prototype, 'release', async () => Promise.reject(new Error('gone already')));
  await assert.rejects(run({ replay: { ...points, ratio: 2 } }), { message: /ratio is a number below 1/ });
});

test('options that cannot be are refused before anything is read', async () => {
  const none = 'there-is-none.onnx'; // source-unreadable where it is read
  const whole = (name, least) => `fineTune: ${name} must be a whole number of at least ${least}, not`;
  for (const [options, message] of [
    [{ epochs: 0 }, `${whole('epochs', 1)} 0`],
    [{ epochs: 1.5 }, `${whole('epochs', 1)} 1.5`],
    [{ batchSize: 0 }, `${whole('batchSize', 1)} 0`],
    [{ lastLayers: -1 }, `${whole('lastLayers', 0)} -1`],
    [{ lastLayers: 0, head: false }, `${whole('lastLayers', 1)} 0`],
    [{ patience: 0 }, `${whole('patience', 1)} 0`],
    [{ validation: 1 }, 'fineTune: validation is a share below 1, not 1'],
    [{ validation: -0.1 }, 'fineTune: validation is a share below 1, not -0.1'],
    [{ anchor: -1 }, 'fineTune: anchor is a number from 0 up, not -1'],
    [{ anchor: Infinity }, 'fineTune: anchor is a number from 0 up, not Infinity'],
    [{ lr: 0 }, 'fineTune: lr is a number above 0, not 0'],
    [{ lr: Infinity }, 'fineTune: lr is a number above 0, not Infinity'],
    [{ lr: '1', patience: 'x' }, `${whole('patience', 1)} 'x'`],
    [{ epoch: 3 }, /^fineTune: there is no option 'epoch'; it knows classes, head/],
    [{ replay: { samples: [] } }, /^fineTune: replay: there is no option 'samples'/],
    [{ accept: { loss: 1 } }, /^fineTune: accept: there is no option 'loss'/],
    [{ budget: { ms: 1 } }, /^fineTune: budget: there is no option 'ms'/],
    [{ checkpoint: { every: 1 } }, /^fineTune: checkpoint: there is no option 'every'/],
    [{ cacheFeatures: { maxBytes: -1 } }, /^fineTune: cacheFeatures: maxBytes/],
    [{ onProgress: 'x' }, "fineTune: onProgress must be a function, not 'x'"],
    [{ onCheckpoint: 1 }, 'fineTune: onCheckpoint must be a function, not 1'],
    [{ signal: {} }, 'signal must be an AbortSignal, not an Object'],
  ])
    await assert.rejects(fineTune(none, points, { engine, ...options }), { code: 'invalid-argument', message });
  for (const fits of [
    {},
    { lastLayers: 0, lr: 1e-9, anchor: 0, validation: 0 },
    { lastLayers: 1, head: false, epochs: 1 },
  ])
    assert.doesNotThrow(() => check(fits));
  assert.throws(() => check({ epoch: 3 }), { message: /^fineTune: there is no option 'epoch'/ });
  await assert.rejects(fineTune(mlp, { ...points, labels: points.labels.map(() => 'a') }), {
    message: /two classes at least, there is a$/,
  });
  assert.equal(artifacts, undefined, 'nothing was made of the model');
});

test('a model whose batch is fixed is refused by its input', async () => {
  const tensor = new Tensor('float32', new Float32Array(16), [4, 4]);
  for (const [input, message] of [
    ['x', /^fineTune: input 'x' takes 2 at a time, for so it was exported: export the model with a dynamic first dim/],
    ['z', /'x'/],
  ])
    await assert.rejects(
      run(
        { head: false, classes: ['a', 'b', 'c'] },
        { inputs: { [input]: tensor }, labels: ['a', 'b', 'c', 'a'] },
        golden('fixed_batch/together_dynamo_2.onnx'),
      ),
      (error) => message.test(error.message) && /takes 2/.test(error.message) === (input === 'x'),
    );
});

test('the model is read as the options of the engine say, and a signal is heard', async () => {
  await assert.rejects(run({ signal: AbortSignal.abort() }), { code: 'aborted' });
  const told = [];
  const onProgress = ({ source, loadedBytes }) => told.push([source, loadedBytes]);
  fitting = idle;
  const { report } = await run({ engine: { ...engine, onProgress } }, points, new Response(mlp));
  assert.ok(report.accepted);
  assert.deepEqual(told[0], ['model', mlp.length]);
});
