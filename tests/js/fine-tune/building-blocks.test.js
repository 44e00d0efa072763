// Parts of fine-tuning, each held to twenty steps of it in PyTorch (tests/golden/scripts/make_tuning.py).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Plateau } from '../../../js/fit/schedule.js';
import { compactArtifacts, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { HERE } from '../../support/engines.js';
import { batchTensor, batchUnit } from '../../support/recipe.js';
import { loadOrtTraining } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const golden = new URL('../../golden/data/', import.meta.url);
const { steps: STEPS, runs, plateaus } = JSON.parse(readFileSync(new URL('tuning.json', golden), 'utf8'));

/** The batches of all steps as one array. */
function rowsOf(spec, batch) {
  const batches = Array.from({ length: STEPS }, (_, step) => batchTensor(spec, batch, step));
  const [{ type, data, dims }] = batches;
  const all = new data.constructor(STEPS * data.length);
  batches.forEach((one, i) => {
    all.set(one.data, i * data.length);
  });
  return new Tensor(type, all, [STEPS * batch, ...dims.slice(1)]);
}

const dataOf = ({ input, label, sampleWeight, batch }) => ({
  inputs: { [input.name]: rowsOf(input, batch) },
  labels: { [label.name]: rowsOf(label, batch) },
  ...(sampleWeight && { sampleWeight: rowsOf(sampleWeight, batch).data }),
});

const make = async ({ model, loss, optimizer }) =>
  await generateArtifacts(readFileSync(new URL(model, golden)), { loss, optimizer, ...HERE });

async function create(t, artifacts) {
  const session = await TrainingSession.create(artifacts, HERE);
  t.after(() => session.release());
  return session;
}

async function valuesOf(session) {
  const values = {};
  for (const { name } of session.parameters) values[name] = (await session.getParameter(name)).data.slice();
  return values;
}

function holdChanges(before, now, wanted) {
  for (const [name, [want, size]] of Object.entries(wanted)) {
    let change = 0;
    now[name].forEach((value, i) => {
      change += (value - before[name][i]) * (2 * batchUnit(7, i) - 1);
    });
    assert.ok(Math.abs(change - want) <= 1e-4 * size, `${name} changed by ${change}, in PyTorch by ${want} of ${size}`);
  }
}

/** One pass through the data in order; the losses of its steps. */
async function fit(session, run, options) {
  const losses = [];
  const { batch: batchSize, classWeight, schedule, ema } = run;
  const told = { batchSize, classWeight, schedule, ema, shuffle: false, onBatch: ({ loss }) => losses.push(loss) };
  await session.fit(dataOf(run), { ...told, ...options });
  return losses;
}

/** The run as PyTorch has it. */
async function holds(t, run, options) {
  const session = await create(t, await make(run));
  if (run.groups) await session.setParameterGroups(run.groups);
  const before = await valuesOf(session);
  const losses = await fit(session, run, options);
  assert.equal(losses.length, STEPS);
  losses.forEach((loss, i) => {
    const wanted = run.torch.losses[i];
    assert.ok(Math.abs(loss - wanted) <= 1e-4 * wanted, `loss ${i} is ${loss}, in PyTorch ${wanted}`);
  });
  holdChanges(before, await valuesOf(session), run.torch.changes);
  return session;
}

const near = (found, wanted) => assertNear(found, wanted, { relative: 2e-6 });

// ── Label smoothing ──

for (const [name, run] of Object.entries(runs).filter(([name]) => name.startsWith('smoothing')))
  test(`${name}: losses and weights as in PyTorch`, async (t) => {
    const session = await holds(t, run);
    const data = dataOf(run);
    const means = await Promise.all([7, 1000].map((batchSize) => session.evaluate(data, { batchSize })));
    near(means[0].loss, means[1].loss);
  });

test('label smoothing: perplexity is no longer the exponential of the loss', async (t) => {
  const session = await create(t, await make(runs.smoothing));
  const asked = session.evaluate(dataOf(runs.smoothing), { metrics: ['perplexity'] });
  await assert.rejects(asked, { code: 'invalid-argument', message: /^perplexity needs .* without labelSmoothing/ });
});

test('label smoothing and weights: onnxruntime-web trains the artifacts', async () => {
  const ort = loadOrtTraining();
  const input = { ...runs.smoothing.input, dims: [9] };
  const label = { ...runs.smoothing.label, high: 3 };
  const sampleWeight = { ...runs.samples.sampleWeight, dims: [] };
  for (const more of [
    {},
    { weights: [1, 0, 2.5] },
    { ignoreIndex: 1 },
    { weights: [1, 2, 0.5], ignoreIndex: 2 },
    { sampleWeights: true },
    { sampleWeights: true, ignoreIndex: 2 },
  ]) {
    const loss = { type: 'cross-entropy', labelSmoothing: 0.125, ...more };
    const artifacts = await make({ model: 'regression.onnx', loss, optimizer: 'adamw' }); // with ONNX Runtime's rate
    assert.deepEqual(artifacts.warnings, []);
    const [theirs, ours] = [
      await ort.TrainingSession.create(artifacts, { executionProviders: ['wasm'] }),
      await TrainingSession.create(artifacts, HERE),
    ];
    for (let step = 0; step < 5; step++) {
      const losses = [];
      const feeds = Object.fromEntries(
        [input, label, ...(more.sampleWeights ? [sampleWeight] : [])].map((spec) => {
          const { type, data, dims } = batchTensor(spec, 6, step);
          return [spec.name, new ort.Tensor(type, data, dims)];
        }),
      );
      for (const session of [theirs, ours]) {
        losses.push((await session.runTrainStep(feeds)).loss.data[0]);
        await session.runOptimizerStep();
        await session.lazyResetGrad();
      }
      near(losses[0], losses[1]);
    }
    await Promise.all([theirs.release(), ours.release()]);
  }
});

// ── Weights of examples and classes ──

for (const [name, run] of Object.entries(runs).filter(([name]) => /^(samples|classes)/.test(name)))
  test(`${name}: losses and weights as in PyTorch`, async (t) => {
    const session = await holds(t, run);
    const data = dataOf(run);
    const means = await Promise.all([7, 1000].map((batchSize) => session.evaluate(data, { batchSize })));
    near(means[0].loss, means[1].loss);
  });

test('classWeight: by index, of a stream and of validation', async (t) => {
  const run = runs.classes;
  const [all, some] = [[1, 1, 4, 1, 1], { 2: 4 }];
  const artifacts = await make(run);
  const losses = [];
  for (const classWeight of [all, some]) {
    const session = await create(t, artifacts);
    losses.push(await fit(session, { ...run, classWeight }, { validation: 0.1 }));
  }
  assert.deepEqual(losses[0], losses[1]);
  const streamed = await create(t, artifacts);
  const batches = Array.from({ length: 18 }, (_, step) =>
    Object.fromEntries(
      [run.input, run.label].map((spec) => {
        const { type, data, dims } = batchTensor(spec, run.batch, step);
        return [spec.name, new Tensor(type, data, dims)];
      }),
    ),
  );
  const found = [];
  await streamed.fit(batches, { classWeight: some, onBatch: ({ loss }) => found.push(loss) });
  assert.deepEqual(found, losses[0]);
  // held-out examples are not weighted
  const [weighted, plain] = [
    await create(t, artifacts),
    await create(t, await make({ ...run, loss: 'cross-entropy' })),
  ];
  const { epochs } = await weighted.fit(dataOf(run), { validation: 0.25, shuffle: false, classWeight: some });
  await plain.loadParametersBuffer(new Uint8Array((await weighted.getContiguousParameters()).data.buffer));
  const held = Object.entries({ ...dataOf(run).inputs, ...dataOf(run).labels }).map(([key, { type, data, dims }]) => [
    key,
    new Tensor(type, data.slice((data.length / 4) * 3), [dims[0] / 4, ...dims.slice(1)]),
  ]);
  near(epochs[0].metrics.val_loss, (await plain.evaluate({ inputs: Object.fromEntries(held) })).loss);
});

test('classWeight: by the names of a head', async (t) => {
  const run = { ...runs.classes, classWeight: { two: 4, 3: 0.5 } };
  const head = { classes: ['zero', 'one', 'two', 'three', 'four'] };
  const model = readFileSync(new URL(run.model, golden));
  const artifacts = await generateArtifacts(model, { loss: run.loss, optimizer: run.optimizer, head, ...HERE });
  const byName = await fit(await create(t, artifacts), run);
  assert.deepEqual(byName, await fit(await create(t, artifacts), { ...run, classWeight: [1, 1, 4, 0.5, 1] }));
  const session = await create(t, artifacts);
  const unknown = session.fit(dataOf(run), { classWeight: { five: 2 } });
  await assert.rejects(unknown, { message: "fit: classWeight: there is no class 'five', they are 0 to 4" });
});

test('weights that do not fit are refused in a sentence', async (t) => {
  const run = runs.classes;
  const session = await create(t, await make(run));
  const plain = await create(t, await make({ ...run, loss: 'cross-entropy' }));
  const data = dataOf({ ...run, sampleWeight: undefined });
  const refusals = [
    [
      plain,
      data,
      { classWeight: 'balanced' },
      /^classWeight needs artifacts made with loss: \{ type, sampleWeights: true/,
    ],
    [plain, { ...data, sampleWeight: [1] }, {}, /^sampleWeight needs artifacts made with/],
    [session, { ...data, sampleWeight: [1, 2] }, {}, /sampleWeight has 2 weights; wanted 320, one for each example/],
    [session, { ...data, sampleWeight: new Float32Array(320).fill(-1) }, {}, /sampleWeight has -1 at 0; from 0 up/],
    [session, data, { classWeight: 'fair' }, /classWeight is 'balanced' or numbers, not 'fair'/],
    [session, data, { classWeight: [1, 2] }, /classWeight has 2 weights, the scores have 5 classes/],
    [session, data, { classWeight: { cat: 2 } }, /there is no class 'cat', they are 0 to 4/],
    [session, data, { classWeight: { 1: -2 } }, /classWeight of 1 must be a number from 0 up, not -2/],
    [session, [], { classWeight: 'balanced' }, /classWeight 'balanced' needs whole arrays/],
  ];
  for (const [one, given, options, message] of refusals) {
    const stream = Array.isArray(given) ? [{ ...data.inputs, ...data.labels }] : given;
    await assert.rejects(one.fit(stream, options), { message });
  }
});

// ── Parameter groups ──

for (const [name, run] of Object.entries(runs).filter(([name]) => /^(groups|anchor)/.test(name)))
  test(`${name}: losses and weights as in PyTorch`, async (t) => {
    const session = await holds(t, run);
    const plain = await fit(await create(t, await make(run)), { ...run });
    assert.ok(
      plain.some((loss, i) => Math.abs(loss - run.torch.losses[i]) > 1e-4 * loss),
      'groups change something',
    );
    if (name !== 'groups_schedule') return;
    await assert.rejects(session.exportModel({ trainingInfo: true }), {
      message: /cannot say that .* is of another group/,
    });
  });

for (const [what, run] of Object.entries({ 'parameter groups': runs.groups, anchors: runs.anchor_adamw }))
  test(`${what}: saved, resumed to the bit, forgotten, in compact files`, async (t) => {
    const artifacts = await make(run);
    const whole = await create(t, artifacts);
    await whole.setParameterGroups(run.groups);
    const losses = await fit(whole, run);
    const cut = await create(t, artifacts);
    await cut.setParameterGroups(run.groups);
    const first = await fit(cut, run, { maxSteps: 7 });
    const checkpointState = await cut.saveCheckpoint();
    const compact = await compactArtifacts({ ...artifacts, checkpointState }, HERE);
    for (const from of [{ ...artifacts, checkpointState }, { compact }]) {
      const resumed = await create(t, from);
      assert.deepEqual([...first, ...(await fit(resumed, run))], losses);
      assert.deepEqual(await valuesOf(resumed), await valuesOf(whole));
    }
    const [forgotten, never] = [await create(t, artifacts), await create(t, artifacts)];
    await forgotten.setParameterGroups([{ params: '*', lrScale: 3 }]);
    await forgotten.setParameterGroups([]);
    assert.deepEqual(await fit(forgotten, run), await fit(never, run));
    assert.equal(version(checkpointState), 4);
    assert.equal(version(await never.saveCheckpoint()), 1);
  });

test('anchors: the base stays as it was when they were set, also with setTrainable and other strengths', async (t) => {
  const run = runs.anchor;
  const session = await create(t, await make(run));
  const base = await valuesOf(session);
  await session.setParameterGroups([{ params: '*', anchor: 1 }]);
  await session.setTrainable(['fc2.*']);
  await fit(session, run);
  await session.setTrainable(['*']);
  await fit(session, run);
  const distance = async () => {
    const now = await valuesOf(session);
    return Object.keys(now).reduce(
      (sum, name) => sum + now[name].reduce((s, x, i) => s + (x - base[name][i]) ** 2, 0),
      0,
    );
  };
  const far = await distance();
  await session.setParameterGroups([{ params: '*', anchor: 7 }]);
  await fit(session, run);
  const near = await distance();
  assert.ok(near < 0.2 * far, `${far} then, ${near} now`);
});

/** A checkpoint's format. */
const version = (bytes) => bytes[6];

test('parameter groups that cannot be are refused, and change nothing', async (t) => {
  const run = runs.groups;
  const [session, plain] = [await create(t, await make(run)), await create(t, await make(run))];
  for (const [groups, message] of [
    [[{ params: ['*'], lrScale: 2 }, { params: ['fc9.*'] }], "parameter groups: 'fc9.*' matches no float32 parameter"],
    [[{ params: 'fc1.*', lrScale: -1 }], "parameter groups: lrScale of 'fc1.*' must be a number from 0 up, not -1"],
    [
      [{ params: 'fc1.*', weightDecay: NaN }],
      "parameter groups: weightDecay of 'fc1.*' must be a number from 0 up, not NaN",
    ],
    [[{ params: 'fc1.*', anchor: -1 }], "parameter groups: anchor of 'fc1.*' must be a number from 0 up, not -1"],
    [
      [{ params: 'fc1.*', lr: 1 }],
      "setParameterGroups: there is no option 'lr'; it knows params, lrScale, weightDecay, anchor",
    ],
    [['fc1.*'], "setParameterGroups: wanted an object, not 'fc1.*'"],
    [[{}], "parameter groups: 'undefined' matches no float32 parameter"],
  ])
    await assert.rejects(session.setParameterGroups(groups), { code: 'invalid-argument', message });
  assert.deepEqual(await fit(session, run), await fit(plain, run));
});

// ── An average, and clipping by value ──

test('ema: the average is as in PyTorch, evaluated and exported on demand', async (t) => {
  const run = runs.ema;
  const session = await holds(t, run);
  const data = dataOf(run);
  const own = await valuesOf(session);
  const exported = await session.exportModel({ ema: true });
  assert.deepEqual(await valuesOf(session), own);
  const fresh = await create(t, await make(run));
  const before = await valuesOf(fresh);
  const averaged = await create(
    t,
    await generateArtifacts(exported, { loss: run.loss, optimizer: run.optimizer, ...HERE }),
  );
  holdChanges(before, await valuesOf(averaged), run.torch.averages);
  assert.equal((await session.evaluate(data, { ema: true })).loss, (await averaged.evaluate(data)).loss);
  assert.notEqual((await session.evaluate(data)).loss, (await averaged.evaluate(data)).loss);
  assert.deepEqual(await valuesOf(session), own);
  await assert.rejects(fresh.evaluate(data, { ema: true }), {
    code: 'invalid-argument',
    message: /^there is no average/,
  });
  await assert.rejects(fresh.fit(data, { ema: { decay: 1 } }), {
    message: /decay must be a number above 0 and below 1, not 1/,
  });
  await session.step({ ...batchOf(run, 0) });
  assert.equal((await session.evaluate(data, { ema: true })).loss, (await averaged.evaluate(data)).loss); // it stays
  await session.setTrainable(['fc3.*']);
  await assert.rejects(session.exportModel({ ema: true }), { message: /^there is no average/ });
});

const batchOf = (run, step) =>
  Object.fromEntries(
    [run.input, run.label].map((spec) => {
      const { type, data, dims } = batchTensor(spec, run.batch, step);
      return [spec.name, new Tensor(type, data, dims)];
    }),
  );

test('ema: resumed to the bit, begun anew by another fit', async (t) => {
  const run = runs.ema;
  const artifacts = await make(run);
  const whole = await create(t, artifacts);
  await fit(whole, run);
  const cut = await create(t, artifacts);
  await fit(cut, run, { maxSteps: 9 });
  const checkpointState = await cut.saveCheckpoint();
  const compact = await compactArtifacts({ ...artifacts, checkpointState }, HERE);
  for (const from of [{ ...artifacts, checkpointState }, { compact }]) {
    const resumed = await create(t, from);
    await fit(resumed, run);
    assert.deepEqual(await resumed.exportModel({ ema: true }), await whole.exportModel({ ema: true }));
  }
  await fit(whole, run, { maxSteps: 1, resume: false });
  assert.deepEqual(await whole.exportModel({ ema: true }), await whole.exportModel()); // a copy after the first step
});

for (const name of ['clip_value', 'clip_value_adamw'])
  test(`${name}: losses and weights as in PyTorch`, async (t) => {
    const run = runs[name];
    const session = await holds(t, run);
    await assert.rejects(session.exportModel({ trainingInfo: true }), {
      message: /clipped \(clipGradValue 0\.015625\)/,
    });
    assert.deepEqual((await make(run)).warnings, []);
    const both = make({ ...run, optimizer: { type: 'sgd', clipGradValue: 1, clipGradNorm: 1 } });
    await assert.rejects(both, { message: /clipped by it or by clipGradNorm, not by both/ });
    const compact = await compactArtifacts(await make(run), HERE);
    const losses = await fit(await create(t, { compact }), run);
    assert.deepEqual(losses, await fit(await create(t, await make(run)), run));
  });

// ── Schedules ──

for (const name of ['one_cycle', 'one_cycle_linear'])
  test(`${name}: rates, losses and weights as in PyTorch, resumed to the bit`, async (t) => {
    const run = runs[name];
    const rates = [];
    const whole = await holds(t, run);
    const cut = await create(t, await make(run));
    const tell = { onBatch: ({ lr }) => rates.push(lr) };
    await fit(cut, run, { ...tell, maxSteps: 6 });
    await fit(cut, run, tell);
    assert.equal(rates.length, STEPS);
    rates.forEach((rate, i) => {
      near(rate, run.torch.rates[i]);
    });
    assert.deepEqual(await valuesOf(cut), await valuesOf(whole));
  });

test('plateau: rates as in PyTorch', () => {
  for (const { options, values, rates } of plateaus) {
    let plateau = new Plateau({ type: 'plateau', ...options });
    const found = values.map((loss, i) => {
      const { lr } = plateau;
      plateau.see({ loss }, 'loss');
      if (i % 2) plateau = new Plateau({ type: 'plateau', ...options }, JSON.parse(JSON.stringify(plateau.sums)));
      return lr;
    });
    assert.ok(new Set(rates).size > 2);
    found.forEach((rate, i) => {
      near(rate, rates[i]);
    });
  }
});

test('plateau: a fit falls by what its epochs bring, and is resumed to the bit', async (t) => {
  const run = runs.one_cycle;
  const schedule = { type: 'plateau', lr: 0.5, factor: 0.5, patience: 0, minDelta: 0.01, cooldown: 1 };
  const options = { schedule, epochs: 8, validation: 0.25, shuffle: true, seed: 5 };
  const artifacts = await make(run);
  const whole = await create(t, artifacts);
  const { epochs } = await whole.fit(dataOf(run), options);
  const wanted = new Plateau(schedule);
  for (const { lr, metrics } of epochs) {
    near(lr, wanted.lr);
    wanted.see(metrics, 'val_loss');
  }
  assert.ok(new Set(epochs.map(({ lr }) => lr)).size > 2);
  let cut = await create(t, artifacts);
  let [found, stopped] = [[], ''];
  while (stopped !== 'completed') {
    const history = await cut.fit(dataOf(run), { ...options, maxSteps: 11 });
    stopped = history.stopped;
    found = [...found, ...history.epochs];
    cut = await create(t, { ...artifacts, checkpointState: await cut.saveCheckpoint() });
  }
  assert.deepEqual(
    found.map(({ metrics, lr }) => [metrics, lr]),
    epochs.map(({ metrics, lr }) => [metrics, lr]),
  );
  assert.deepEqual(await valuesOf(cut), await valuesOf(whole));
});

test('schedules that cannot be are refused in a sentence', async (t) => {
  const run = runs.one_cycle;
  const session = await create(t, await make(run));
  for (const [schedule, message] of [
    [{ type: 'wave', lr: 1 }, 'schedule: the type is constant, linear, cosine, step, one-cycle, plateau, not wave'],
    [
      { type: 'one-cycle', lr: 1, warmup: 2 },
      /^schedule: there is no option 'warmup'; it knows type, lr, steps, pctStart/,
    ],
    [{ type: 'one-cycle', lr: 1, pctStart: 2 }, 'schedule: pctStart must be from 0 to 1, not 2'],
    [{ type: 'one-cycle', lr: 1, divFactor: 0 }, 'schedule: divFactor must be a number above 0, not 0'],
    [{ type: 'one-cycle', lr: 1, annealStrategy: 'sin' }, "schedule: annealStrategy is 'cos' or 'linear', not sin"],
    [{ type: 'plateau', lr: 1, factor: 1 }, 'schedule: factor must be from 0 up and below 1, not 1'],
    [{ type: 'plateau', lr: 1, patience: -1 }, 'schedule: patience must be a whole number of at least 0, not -1'],
    [{ type: 'plateau', lr: 1, minDelta: -1 }, 'schedule: minDelta must be a number from 0 up, not -1'],
    [{ type: 'plateau', lr: 1, monitor: 'f1' }, /^schedule: there is no 'f1' to monitor; there are loss/],
  ])
    await assert.rejects(session.fit(dataOf(run), { schedule, batchSize: 64 }), { code: 'invalid-argument', message });
});

// ── What is held out ──

test('validation: the last examples, or whole groups of them', async (t) => {
  const run = runs.one_cycle;
  const session = await create(t, await make(run));
  const n = 12;
  const inputs = {
    input: new Tensor(
      'float32',
      new Float32Array(n * 20).map((_, i) => Math.floor(i / 20)),
      [n, 20],
    ),
  };
  const labels = { labels: new Tensor('int64', new BigInt64Array(n), [n]) };
  /** Its rows, by what the training set lacks. */
  async function heldOut(validation) {
    const seen = [];
    const batches = [];
    const metric = { name: 'm', resetState() {}, updateState: ({ dims }) => batches.push(dims[0]), result: () => 0 };
    const options = {
      validation,
      metrics: [metric],
      shuffle: false,
      resume: false,
      schedule: { type: 'constant', lr: 0 },
    };
    await session.fit({ inputs, labels }, { ...options, batchSize: 1, onBatch: ({ loss }) => seen.push(loss) });
    const each = [];
    for (let i = 0; i < n; i++) {
      const one = { input: new Tensor('float32', new Float32Array(20).fill(i), [1, 20]) };
      const { loss } = await session.evaluate({ inputs: one, labels: { labels: new Tensor('int64', [0n]) } });
      if (!seen.some((other) => Math.abs(other - loss) < 1e-6 * loss)) each.push(i);
    }
    assert.equal(batches.length, n - seen.length);
    return each;
  }
  assert.deepEqual(await heldOut(0.25), [9, 10, 11]);
  assert.deepEqual(await heldOut({ share: 0.25 }), [9, 10, 11]);
  assert.deepEqual(await heldOut({ share: 0.25, splitBy: 'time' }), [9, 10, 11]);
  const sessions = ['a', 'b', 'a', 'c', 'b', 'b', 'a', 'c', 'a', 'a', 'a', 'a'];
  assert.deepEqual(await heldOut({ share: 0.1, splitBy: sessions }), [3, 7]);
  assert.deepEqual(await heldOut({ share: 0.25, splitBy: sessions }), [1, 3, 4, 5, 7]);
  for (const [validation, message] of [
    [
      { share: 0.5, splitBy: ['a'] },
      /splitBy is 'time' or an array with the group of each of the 12 examples, not an a/,
    ],
    [{ share: 0.5, splitBy: 'session' }, /splitBy is 'time' or an array .*, not 'session'/],
    [{ share: 0.5, splitBy: new Array(12).fill(1) }, /a validation share of 0.5 of 12 examples leaves one side empty/],
    [{ share: 0.5, by: 'time' }, /^validation: there is no option 'by'; it knows share, splitBy/],
    [{ share: 2 }, /validation as a share must be between 0 and 1, not 2/],
  ])
    await assert.rejects(session.fit({ inputs, labels }, { validation }), { message });
});
