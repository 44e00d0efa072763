/** Augmentation: what each step does to pictures and signals, the same run for the same seed, resumed to the bit. */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openAugmenter } from '../../../js/data/augment.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { assertNear } from '../../support/near.js';

const refused = (work, message, code = 'invalid-argument') =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, message);
    return true;
  });

/** Augments one batch of an input. @param {any} augment @param {number[]} dims */
async function changed(augment, data, dims, place = [7, 0, 0]) {
  const type = data instanceof Uint8Array ? 'uint8' : 'float32';
  const augmenter = openAugmenter(augment, [{ name: 'x', type, dims: ['N', ...dims.slice(1)] }], []);
  const buffer = data.slice().buffer;
  const feeds = { tensors: [{ name: 'x', type, dims, offset: 0, bytes: buffer.byteLength }], sequences: [], buffer };
  const one = [{ done: false, value: { feeds, examples: dims[0] } }];
  const batches = augmenter.over({ next: () => one.shift() ?? { done: true } }, place);
  try {
    const { value } = await batches.next();
    return new data.constructor(value.feeds.buffer);
  } finally {
    augmenter.close();
  }
}
const ramp = (count) => Float32Array.from({ length: count }, (_, i) => i + 1);
const near = (came, wanted) => assertNear(came, wanted, { absolute: 1e-4 });

test('flip mirrors, of all pictures or of half of them', async () => {
  const flip = (axis) => [{ type: 'flip', p: 1, axis }];
  assert.deepEqual([...(await changed(flip(), ramp(6), [1, 1, 2, 3]))], [3, 2, 1, 6, 5, 4]);
  assert.deepEqual([...(await changed(flip('vertical'), ramp(6), [1, 1, 2, 3]))], [4, 5, 6, 1, 2, 3]);
  assert.deepEqual([...(await changed(flip(), ramp(6), [1, 2, 1, 3]))], [1, 2, 3, 4, 5, 6], 'channels last');
  assert.deepEqual([...(await changed(flip('vertical'), ramp(6), [1, 2, 1, 3]))], [4, 5, 6, 1, 2, 3]);
  const nhwc = await changed({ steps: flip(), layout: 'NHWC' }, ramp(6), [1, 1, 3, 2]);
  assert.deepEqual([...nhwc], [5, 6, 3, 4, 1, 2]);
  const many = await changed(
    ['flip'],
    Float32Array.from({ length: 400 }, (_, i) => i % 2),
    [200, 1, 1, 2],
  );
  const mirrored = many.filter((value, i) => i % 2 === 0 && value === 1).length;
  assert.ok(mirrored > 70 && mirrored < 130, `${mirrored} of 200`);
});

test('shift moves by whole pixels and repeats the edge; of a signal what comes in is silence', async () => {
  const seen = new Set();
  for (let batch = 0; batch < 40; batch++) {
    const row = [...(await changed([{ type: 'shift', x: 0.5, y: 0 }], ramp(4), [1, 1, 1, 4], [1, 0, batch]))];
    const moves = { 0: [1, 2, 3, 4], 1: [1, 1, 2, 3], 2: [1, 1, 1, 2], '-1': [2, 3, 4, 4], '-2': [3, 4, 4, 4] };
    const [move] =
      Object.entries(moves).find(([, wanted]) => String(wanted) === String(row)) ?? assert.fail(String(row));
    seen.add(move);
    if (seen.size === 5) break;
  }
  assert.equal(seen.size, 5);
  const signals = await changed(
    [{ type: 'shift', x: 1 }],
    Float32Array.from({ length: 60 }, () => 5),
    [10, 2, 3],
  );
  for (let i = 0; i < 60; i += 3) assert.match([...signals.subarray(i, i + 3)].join(), /^(0,)*(5,?)*(0,?)*$/);
  assert.ok(signals.includes(0) && signals.includes(5));
});

test('rotate turns about the middle: a plane stays a plane of the same slope, and its middle stays', async () => {
  const [size, slope] = [21, [0.3, -0.2]];
  const plane = Float32Array.from(
    { length: size * size },
    (_, i) => slope[0] * ((i % size) - 10) + slope[1] * (Math.floor(i / size) - 10),
  );
  const angles = [];
  for (let batch = 0; batch < 6; batch++) {
    const turned = await changed([{ type: 'rotate', degrees: 30 }], plane, [1, 1, size, size], [3, 0, batch]);
    const at = (x, y) => turned[(y + 10) * size + x + 10];
    const [gx, gy] = [at(1, 0) - at(0, 0), at(0, 1) - at(0, 0)];
    near([at(0, 0), Math.hypot(gx, gy), at(3, 2), at(-4, 1)], [0, Math.hypot(...slope), 3 * gx + 2 * gy, gy - 4 * gx]);
    angles.push((Math.atan2(gy, gx) - Math.atan2(slope[1], slope[0])) * (180 / Math.PI));
  }
  assert.ok(
    angles.every((angle) => Math.abs(angle) <= 30) && Math.max(...angles) - Math.min(...angles) > 10,
    String(angles),
  );
});

test('crop enlarges a part: a plane stays a plane, less steep', async () => {
  const plane = Float32Array.from({ length: 200 }, (_, i) => (i % 20) + 10 * Math.floor(i / 20));
  const shares = [];
  for (const batch of [0, 1, 2, 3]) {
    const cut = await changed([{ type: 'crop', least: 0.5 }], plane, [1, 1, 10, 20], [3, 0, batch]);
    const share = cut[1] - cut[0];
    assert.ok(share >= 0.5 && share <= 1 && cut[0] >= 0 && cut[199] <= 109.001, `${share} from ${cut[0]}`);
    near(
      cut,
      Float32Array.from(cut, (_, i) => cut[0] + share * plane[i]),
    );
    shares.push(share);
  }
  assert.equal(new Set(shares).size, 4);
});

test('noise is normal with its deviation; colour and scale stay in their ranges', async () => {
  const noise = await changed([{ type: 'noise', std: 0.5 }], new Float32Array(40_000), [2, 20_000]);
  const mean = noise.reduce((sum, value) => sum + value, 0) / noise.length;
  const std = Math.sqrt(noise.reduce((sum, value) => sum + (value - mean) ** 2, 0) / noise.length);
  const wide = noise.filter((value) => Math.abs(value) > 1).length / noise.length;
  assert.ok(
    Math.abs(mean) < 0.02 && Math.abs(std - 0.5) < 0.02 && Math.abs(wide - 0.0455) < 0.01,
    `${mean} ${std} ${wide}`,
  );
  const scaled = await changed([{ type: 'scale', by: 0.5 }], new Float32Array(100).fill(2), [50, 2]);
  for (let i = 0; i < 100; i += 2) assert.equal(scaled[i], scaled[i + 1]);
  assert.ok(Math.min(...scaled) >= 1 && Math.max(...scaled) <= 3 && new Set(scaled).size > 40);
  const only = (options) => [{ type: 'colour', brightness: 0, contrast: 0, tint: 0, ...options }];
  const pixels = Float32Array.of(0.2, 0.4, 0.6, 0.8, 0.5, 0.5);
  const bright = await changed(only({ brightness: 0.3 }), pixels, [1, 3, 1, 2]);
  near(
    Float32Array.from(bright, (value, i) => value - pixels[i]),
    new Float32Array(6).fill(bright[0] - 0.2),
  );
  assert.ok(Math.abs(bright[0] - 0.2) <= 0.3 && bright[0] !== Math.fround(0.2));
  const contrast = await changed(only({ contrast: 0.5 }), pixels, [1, 3, 1, 2]);
  const factor = (contrast[0] - 0.5) / -0.3;
  near(
    contrast,
    Float32Array.from(pixels, (value) => 0.5 + factor * (value - 0.5)),
  );
  const tinted = await changed(only({ tint: 0.5 }), pixels, [1, 3, 1, 2]);
  assert.equal(new Set([0, 2, 4].map((i) => (tinted[i] / pixels[i]).toFixed(5))).size, 3);
  near([tinted[1] / tinted[0], tinted[3] / tinted[2]], [2, 8 / 6]);
});

test('bytes stay bytes', async () => {
  const bytes = Uint8Array.from({ length: 768 }, (_, i) => i % 256);
  const found = await changed(['rotate', 'crop', 'noise', { type: 'colour', brightness: 2 }], bytes, [1, 3, 16, 16]);
  assert.equal(found.length, 768);
  assert.notDeepEqual(found, bytes);
});

test('the same place gives the same numbers, every other one others, each row its own', async () => {
  const steps = ['noise', 'scale'];
  const of = (place) => changed(steps, new Float32Array(20).fill(1), [2, 10], place);
  const first = await of([5, 2, 3]);
  assert.deepEqual(await of([5, 2, 3]), first);
  assert.notDeepEqual(first.subarray(0, 10), first.subarray(10));
  for (const place of [
    [6, 2, 3],
    [5, 3, 3],
    [5, 2, 4],
    [5, 3, 2],
    [-1, 2, 3],
  ])
    assert.notDeepEqual(await of(place), first);
});

/** x (N, 1, 4, 4) ─ Flatten ─ MatMul ─▶ scores (N, 3) */
const model = () =>
  modelProto({
    graph: graphProto({
      node: [node('Flatten', ['x'], ['flat']), node('MatMul', ['flat', 'w'], ['scores'])],
      name: 'g',
      initializer: tensor('w', {
        type: 'float32',
        dims: [16, 3],
        data: Float32Array.from({ length: 48 }, (_, i) => Math.sin(i)),
      }),
      input: info('x', 1, ['N', 1, 4, 4]),
      output: info('scores', 1, ['N', 3]),
    }),
    opsetImport: opsetId(17),
  });
const data = {
  inputs: {
    x: new Tensor(
      'float32',
      Float32Array.from({ length: 22 * 16 }, (_, i) => Math.cos(i * i)),
      [22, 1, 4, 4],
    ),
  },
  labels: {
    labels: new Tensor(
      'int64',
      Array.from({ length: 22 }, (_, i) => i % 3),
    ),
  },
};
const AUGMENT = ['flip', { type: 'shift', x: 0.3 }, 'rotate', 'crop', 'noise', 'colour'];
const OPTIONS = { epochs: 3, batchSize: 4, seed: 11, augment: AUGMENT };

/** @param {(session: TrainingSession) => Promise<unknown>} work @returns {Promise<Float32Array>} the weights then */
async function trained(work, artifacts) {
  const session = await TrainingSession.create(artifacts, { worker: false });
  try {
    await work(session);
    return (await session.getContiguousParameters()).data;
  } finally {
    await session.release();
  }
}
let artifacts, folder;
before(async () => {
  artifacts = await generateArtifacts(model(), { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.01 } });
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-augment-'));
});
after(() => rm(folder, { recursive: true }));

test('one seed, one fit; another without augmentation or with another seed; data stay as they are', async () => {
  const [before, x] = [data.inputs.x.data.slice(), data.inputs.x.data];
  const first = await trained((session) => session.fit(data, OPTIONS), artifacts);
  assert.deepEqual(x, before);
  assert.deepEqual(await trained((session) => session.fit(data, OPTIONS), artifacts), first);
  assert.notDeepEqual(await trained((session) => session.fit(data, { ...OPTIONS, seed: 12 }), artifacts), first);
  const { augment, ...plain } = OPTIONS;
  assert.notDeepEqual(await trained((session) => session.fit(data, plain), artifacts), first);
  assert.equal(augment.length, 6);
});

test('cut short in the middle of an epoch and continued in another session: the same bits', async () => {
  const whole = await trained((session) => session.fit(data, OPTIONS), artifacts);
  for (const maxSteps of [1, 5, 8, 13]) {
    let checkpointState;
    await trained(async (session) => {
      assert.equal((await session.fit(data, { ...OPTIONS, maxSteps })).stopped, 'max-steps');
      checkpointState = await session.saveCheckpoint();
    }, artifacts);
    const rest = await trained((session) => session.fit(data, OPTIONS), { ...artifacts, checkpointState });
    assert.deepEqual(rest, whole, `${maxSteps} steps`);
  }
});

test('features of frozen layers are not kept where examples change', async () => {
  const small = new Uint8Array(await readFile(new URL('../../golden/data/mlp_small.onnx', import.meta.url)));
  const made = await generateArtifacts(small, { loss: 'cross-entropy', frozen: ['fc1.*'] });
  const x = new Tensor(
    'float32',
    Float32Array.from({ length: 160 }, (_, i) => Math.sin(i)),
    [8, 20],
  );
  const rows = { inputs: { input: x }, labels: { labels: new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]) } };
  const features = async (augment) => {
    let history;
    await trained(async (session) => {
      history = await session.fit(rows, { epochs: 3, augment });
    }, made);
    return history.features;
  };
  assert.ok((await features(undefined)).bytes > 0);
  assert.equal(await features(['noise']), undefined);
});

test('batches that come one after another are changed too', async () => {
  const batches = () =>
    Array.from({ length: 3 }, (_, i) => ({
      x: new Tensor('float32', new Float32Array(32).fill(i), [2, 1, 4, 4]),
      labels: new Tensor('int64', [0, 1]),
    }));
  const fit = (augment) => trained((session) => session.fit(batches, { augment }), artifacts);
  assert.deepEqual(await fit({ steps: ['noise'], input: 'x' }), await fit({ steps: ['noise'], input: 'x' }));
  assert.notDeepEqual(await fit({ steps: ['noise'], input: 'x' }), await fit(undefined));
});

test('a module of the user, by URL or path; what it throws is told', async () => {
  const file = path.join(folder, 'own.mjs');
  await writeFile(
    file,
    `export default ({ data, dims, random, epoch, batch, options }) => {
       if (options === 'fail') throw new Error('not today');
       data.fill(dims[0] + 10 * epoch + 100 * batch + options.add + Math.floor(random()));
     };`,
  );
  for (const module of [file, pathToFileURL(file), pathToFileURL(file).href]) {
    const found = await changed(
      [
        { module, options: { add: 0.5 } },
        { type: 'flip', p: 1 },
      ],
      ramp(4),
      [1, 1, 2, 2],
      [1, 2, 3],
    );
    assert.deepEqual([...found], [321.5, 321.5, 321.5, 321.5]);
  }
  const fit = (step) => trained((session) => session.fit(data, { ...OPTIONS, augment: [step] }), artifacts);
  await refused(fit({ module: file, options: 'fail' }), /^augment: not today$/);
  await refused(fit({ module: path.join(folder, 'none.mjs') }), /^augment: Cannot find module .*none\.mjs/);
  await writeFile(path.join(folder, 'empty.mjs'), 'export const x = 1;');
  await refused(
    fit({ module: path.join(folder, 'empty.mjs') }),
    /^augment: .*empty\.mjs has no function as its default export$/,
  );
  await writeFile(path.join(folder, 'exits.mjs'), 'export default () => process.exit(3);');
  await refused(
    fit({ module: path.join(folder, 'exits.mjs') }),
    /^the worker of augmentation died: it exited with code 3$/,
    'worker-died',
  );
});

test('a signal stops a fit that waits for a module without end', { timeout: 20_000 }, async () => {
  await writeFile(path.join(folder, 'waits.mjs'), 'export default () => new Promise(() => {});');
  const signal = AbortSignal.timeout(500);
  const augment = [{ module: path.join(folder, 'waits.mjs') }];
  await refused(
    trained((session) => session.fit(data, { ...OPTIONS, augment, signal }), artifacts),
    /./,
    'aborted',
  );
});

test('what does not fit is one sentence each', async () => {
  const session = await TrainingSession.create(artifacts, { worker: false });
  const bad = (augment, message) => refused(session.fit(data, { augment }), message);
  await bad([], /^augment must be an array of steps, as \['flip', \{ type: 'shift', x: 0\.2 \}\]$/);
  await bad('flip', /^augment: wanted an object, not 'flip'$/);
  await bad(
    ['mirror'],
    /^augment: there is no step 'mirror'; there are flip, shift, rotate, crop, noise, colour, scale$/,
  );
  await bad([null], /^augment: there is no step undefined; /);
  await bad([{ type: 'shift', z: 1 }], /^augment: shift: there is no option 'z'; it knows x, y$/);
  await bad([{ type: 'shift', axis: 'horizontal' }], /^augment: shift: there is no option 'axis'/);
  await bad([{ type: 'shift', x: 2 }], /^augment: shift: x must be a number from 0 to 1, not 2$/);
  await bad([{ type: 'noise', std: -1 }], /^augment: noise: std must be a number from 0 up, not -1$/);
  await bad([{ type: 'flip', axis: 'both' }], /^augment: flip: axis must be 'horizontal' or 'vertical', not 'both'$/);
  await bad(['scale'], /^augment: scale is for signals, and the input is of pictures$/);
  await bad({ steps: ['flip'], layout: 'CHW' }, /^augment: layout must be 'NCHW' or 'NHWC', not 'CHW'$/);
  await bad(
    { steps: ['flip'], inputs: 'x' },
    /^augment: there is no option 'inputs'; it knows steps, input, layout \(is it input\?\)$/,
  );
  await bad(
    { steps: ['flip'], input: 'y' },
    /^augment: there is no input 'y' of two to four dims, float32 or uint8; there are 'x' \(float32 \[N, 1, 4, 4\]\)$/,
  );
  await bad([{ module: 7 }], /^augment: module must be a URL or a path, not 7$/);
  await bad(
    [{ module: 'a.mjs', options: () => {} }],
    /^augment: the options of a module must be what a worker can be sent: /,
  );
  await session.release();
});
