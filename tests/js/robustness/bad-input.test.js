/** Bad input to the real engine: each is one clear sentence with a code, and the session that got it goes on. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId } from '../../support/onnx-file.js';
import { batchBits } from '../../support/recipe.js';
import { clusters, golden } from '../../support/clusters.js';
import { ALONE } from '../../support/engines.js';

const MODEL = golden('mlp_small.onnx');
const DATA = clusters(8, 1);
const FEEDS = { ...DATA.inputs, ...DATA.labels };
/** @type {import('../../../js/index.js').Artifacts} */
let artifacts;
/** @type {TrainingSession} */
let session;

before(async () => {
  artifacts = await generateArtifacts(MODEL, { loss: 'cross-entropy', optimizer: 'sgd', ...ALONE });
  session = await TrainingSession.create(artifacts, ALONE);
});
after(() => session.release());

/** One sentence, the code, and the words. @param {string | readonly string[]} codes @param {RegExp} [words] */
const is =
  (codes, words = /./) =>
  (error) => {
    assert.ok(error instanceof TrainletError, String(error));
    assert.ok([codes].flat().includes(error.code), `${error.code}: ${error.message}`);
    assert.match(error.message, words);
    assert.doesNotMatch(error.message, /\n|undefined|NULL|\[object/);
    return true;
  };

test('a wrong feed names the input, what was wanted and what came, and the session goes on', async () => {
  const before = (await session.getContiguousParameters()).data;
  const { input, labels } = FEEDS;
  await assert.rejects(session.step({ imput: input, labels }), is('invalid-feed', /'imput'.*'input'/));
  await assert.rejects(session.step({ input }), is('invalid-feed', /labels/));
  await assert.rejects(
    session.step({ input: new Tensor('float64', Float64Array.from(input.data), input.dims), labels }),
    is('invalid-feed', /input.*(float32.*float64|float64.*float32)/),
  );
  await assert.rejects(
    session.step({
      input,
      labels: new Tensor(
        'float32',
        Float32Array.from(labels.data, (label) => Number(label) + 0.5),
      ),
    }),
    is('invalid-feed', /labels.*no class/),
  );
  await assert.rejects(
    session.step({ input: new Tensor('float32', new Float32Array(8 * 19), [8, 19]), labels }),
    is('invalid-feed', /input.*(20.*19|19.*20)/),
  );
  await assert.rejects(
    session.step({ input: new Tensor('float32', new Float32Array(160)), labels }),
    is('invalid-feed', /input/),
  );
  await assert.rejects(
    session.step({ input, labels: new Tensor('int64', [0, 1]) }),
    is(['invalid-feed', 'invalid-model']),
  );
  await assert.rejects(session.runEvalStep(FEEDS, ['logit']), is(['invalid-feed', 'invalid-argument'], /logit/));
  assert.deepEqual((await session.getContiguousParameters()).data, before);
  assert.ok(Number.isFinite((await session.step(FEEDS)).loss));
});

test('labels that are no class are refused, never read out of bounds', async () => {
  for (const label of [5, 2 ** 40, -1, -(2 ** 40)]) {
    const labels = new Tensor('int64', [label, 0, 1, 2, 3, 4, 0, 1]);
    await assert.rejects(session.runEvalStep({ ...FEEDS, labels }), is('invalid-feed', /in row 0, .* 5 classes/));
  }
});

test('a loss that is not finite changes no parameter', async () => {
  const before = (await session.getContiguousParameters()).data;
  for (const value of [NaN, Infinity]) {
    const input = new Tensor(
      'float32',
      FEEDS.input.data.map((v, i) => (i === 5 ? value : v)),
      FEEDS.input.dims,
    );
    await assert.rejects(session.step({ ...FEEDS, input }), is('non-finite-loss'));
  }
  assert.deepEqual((await session.getContiguousParameters()).data, before);
  assert.ok(Number.isFinite((await session.step(FEEDS)).loss));
});

/** A tensor-like that shows `first` when a field is first looked at, and `later` ever after. */
function fickle(first, later) {
  const seen = new Set();
  const get = (_, key) => {
    const shown = seen.has(key) ? later : first;
    seen.add(key);
    return shown[key];
  };
  return new Proxy({ type: '', data: [], dims: [] }, { get, has: () => true });
}

test('a tensor that is another at a second look is what it was at the first, everywhere', async () => {
  const { input, labels } = FEEDS;
  const evil = [
    { type: 'float32', data: new Float32Array(1e6), dims: [8, 20] },
    { type: 'float32', data: input.data, dims: [1e5, 20] },
    { type: 'float64', data: new Float64Array(1e6), dims: [1e6] },
    {},
  ];
  const fed = async (/** @type {any} */ given) =>
    (await session.runEvalStep({ input: given, labels }))[session.evalOutputNames[0]].data;
  const wanted = await fed(input);
  const weight = session.parameters[0];
  const before = await session.getParameter(weight.name);
  for (const later of evil) {
    assert.deepEqual(await fed(fickle(input, later)), wanted);
    assert.deepEqual(
      await session.evaluate({ inputs: { input: fickle(input, later) }, labels: { labels: fickle(labels, later) } }),
      await session.evaluate({ inputs: { input }, labels: { labels } }),
    );
    await session.setParameter(weight.name, fickle(before, later));
    assert.deepEqual((await session.getParameter(weight.name)).data, before.data);
    await assert.rejects(fed(fickle(later, input)), is('invalid-feed'));
  }
  const dims = fickle({ length: 2, 0: 8, 1: 20, [Symbol.iterator]: [][Symbol.iterator] }, { length: 2, 0: 1e6, 1: 20 });
  await assert.rejects(fed({ type: 'float32', data: input.data, dims }), is('invalid-feed'));
});

test('typed arrays that lie about themselves, or shrink, are seen through', async () => {
  const { input, labels } = FEEDS;
  const lie = (/** @type {object} */ fields) =>
    Object.defineProperties(
      new Float32Array(8),
      Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, { value }])),
    );
  const spoofed = [
    lie({ length: 160 }),
    lie({ length: 160, byteLength: 640, buffer: input.data.buffer }),
    lie({ [Symbol.toStringTag]: 'Float32Array', length: 160 }),
    { length: 160, [Symbol.toStringTag]: 'Float32Array' },
    { length: 160, [Symbol.toStringTag]: 'toString' },
  ];
  for (const data of spoofed) {
    for (const type of ['float32', 'toString', '__proto__', 'constructor']) {
      await assert.rejects(
        session.step(/** @type {any} */ ({ input: { type, data, dims: [8, 20] }, labels })),
        is('invalid-feed'),
      );
    }
  }
  const room = new ArrayBuffer(640, { maxByteLength: 1280 });
  const data = new Float32Array(room);
  data.set(input.data);
  const shrinks = {
    get dims() {
      room.resize(64);
      return [8];
    },
    type: 'int64',
    data: labels.data,
  };
  await assert.rejects(
    session.step({ input: { type: 'float32', data, dims: [8, 20] }, labels: shrinks }),
    is('invalid-feed', /'input'.*resized or transferred/),
  );
  const gone = Float32Array.from(input.data);
  const detaches = {
    get dims() {
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      return [8];
    },
    type: 'int64',
    data: labels.data,
  };
  await assert.rejects(
    session.step({ input: { type: 'float32', data: gone, dims: [8, 20] }, labels: detaches }),
    is('invalid-feed', /'input'.*resized or transferred/),
  );
  await assert.rejects(
    session.step({ input: { type: 'float32', data: gone, dims: [8, 20] }, labels }),
    is('invalid-feed', /160 elements, but the data has 0/),
  );
  assert.ok(Number.isFinite((await session.step(FEEDS)).loss));
});

test("data transferred in the middle of a fit end it with a sentence, so does a fetched tensor's room", async () => {
  const {
    inputs: { input },
    labels: { labels },
  } = clusters(8, 1);
  const onBatch = () => {
    structuredClone(input.data.buffer, { transfer: [input.data.buffer] });
  };
  const fitting = session.fit({ inputs: { input }, labels: { labels } }, { batchSize: 2, epochs: 3, onBatch });
  await assert.rejects(fitting, is('invalid-feed', /'input'.*resized or transferred/));
  const [name] = session.evalOutputNames;
  const own = (await session.runEvalStep(FEEDS))[name];
  const room = Float32Array.from(own.data);
  const running = session.runEvalStep(FEEDS, { [name]: { type: own.type, dims: own.dims, data: room } });
  structuredClone(room.buffer, { transfer: [room.buffer] });
  await assert.rejects(running, is('invalid-feed', /resized or transferred/));
  const bytes = new Uint8Array((await session.getParametersSize()) * 4);
  Object.defineProperty(bytes, 'length', { value: 8 });
  await session.loadParametersBuffer(bytes).catch(() => {});
  const few = Object.defineProperty(new Uint8Array(8), 'length', { value: bytes.byteLength });
  await assert.rejects(session.loadParametersBuffer(few), is('invalid-argument', /not 8/));
});

test('external data is looked at once', async () => {
  const model = golden('external/one_file.onnx'),
    data = golden('external/one_file.onnx.data');
  const looks = { count: 0 };
  const externalData = {
    get 'one_file.onnx.data'() {
      return looks.count++ ? /** @type {any} */ (1e9) : data;
    },
  };
  await (await InferenceSession.create(model, { ...ALONE, externalData })).release();
  assert.equal(looks.count, 1);
  looks.count = 0;
  await generateArtifacts(model, { ...ALONE, loss: 'cross-entropy', externalData });
  assert.equal(looks.count, 1);
});

/** Codes for a truncated, random or damaged file. */
const DAMAGE = [
  'invalid-model',
  'checkpoint-corrupt',
  'checkpoint-mismatch',
  'unsupported-op',
  'out-of-memory',
  'invalid-argument',
];

test('a truncated model is refused wherever it is cut', async () => {
  for (let i = 0; i < 24; i++) {
    const cut = MODEL.slice(0, Math.floor((MODEL.length * i) / 24));
    await assert.rejects(generateArtifacts(cut, { loss: 'cross-entropy', ...ALONE }), is(DAMAGE));
    await assert.rejects(InferenceSession.create(cut, ALONE), is(DAMAGE));
  }
});

test('random bytes are neither model nor checkpoint', async () => {
  for (let seed = 0; seed < 16; seed++) {
    const noise = Uint8Array.from({ length: 1 << seed }, (_, i) => batchBits(seed, i));
    await assert.rejects(generateArtifacts(noise, { loss: 'mse', ...ALONE }), is(DAMAGE));
    await assert.rejects(TrainingSession.create({ ...artifacts, checkpointState: noise }, ALONE), is(DAMAGE));
    await assert.rejects(TrainingSession.create({ ...artifacts, trainModel: noise }, ALONE), is(DAMAGE));
    await assert.rejects(TrainingSession.create({ ...artifacts, optimizerModel: noise }, ALONE), is(DAMAGE));
  }
});

test('a damaged checkpoint is known as such, whichever byte it is', async () => {
  const saved = await session.saveCheckpoint();
  for (let i = 0; i < 32; i++) {
    const bytes = saved.slice();
    bytes[batchBits(1, i) % bytes.length] ^= 1 << (i % 8);
    await assert.rejects(
      TrainingSession.create({ ...artifacts, checkpointState: bytes }, ALONE),
      is(['checkpoint-corrupt', 'checkpoint-mismatch']),
    );
    const cut = saved.slice(0, Math.floor((saved.length * i) / 32));
    await assert.rejects(
      TrainingSession.create({ ...artifacts, checkpointState: cut }, ALONE),
      is('checkpoint-corrupt'),
    );
  }
});

test('a damaged model never does worse than fail or load', async () => {
  for (let i = 0; i < 48; i++) {
    const bytes = MODEL.slice();
    for (let k = 0; k < 4; k++) bytes[batchBits(2, 4 * i + k) % bytes.length] = batchBits(3, 4 * i + k);
    await generateArtifacts(bytes, { loss: 'cross-entropy', ...ALONE }).catch(is(DAMAGE));
  }
});

test('a shape that depends on a fed value of a kind that no exporter writes ends in a sentence', {
  timeout: 20_000,
}, async () => {
  const INT16 = 5,
    FLOAT16 = 10;
  const graph = graphProto({
    node: node('Resize', ['X', '', '', 'sizes'], 'Y'),
    input: [info('X', INT16, ['n', 'm']), info('sizes', FLOAT16, [2])],
    output: info('Y', INT16, ['p', 'q']),
  });
  const session = await InferenceSession.create(modelProto({ graph, opsetImport: opsetId(17) }), ALONE);
  const feeds = {
    X: new Tensor('int16', Int16Array.of(1, 2), [1, 2]),
    sizes: new Tensor('float16', Uint16Array.of(0x3c00, 0x4000), [2]),
  };
  await assert.rejects(
    session.run(feeds),
    is('unsupported-op', /shapes of the model depend on values inside of one operator/),
  );
});

test('axes whose number is fed reduce, whatever shape the model declares', async () => {
  const FLOAT = 1,
    INT64 = 7;
  const reduce = node('ReduceSum', ['x', 'axes'], 'y', attribute('noop_with_empty_axes', 1));
  const graph = graphProto({
    node: reduce,
    input: [info('x', FLOAT, [3, 61, 2]), info('axes', INT64, ['n'])],
    output: info('y', FLOAT, [3, 2, 2]),
  });
  const session = await InferenceSession.create(modelProto({ graph, opsetImport: opsetId(13) }), ALONE);
  const sums = async (...axes) =>
    (
      await session.run({
        x: new Tensor('float32', new Float32Array(366).fill(1), [3, 61, 2]),
        axes: new Tensor('int64', BigInt64Array.from(axes, BigInt), [axes.length]),
      })
    ).y;
  for (const [axes, dims, sum] of [
    [[1], [3, 1, 2], 61],
    [[], [3, 61, 2], 1],
    [[0, 2], [1, 61, 1], 6],
  ]) {
    const y = await sums(...axes);
    assert.deepEqual([y.dims, new Set(y.data)], [dims, new Set([sum])]);
  }
  await assert.rejects(sums(1, 1), is('invalid-model', /axis 1 is given twice/));
});

test("another model's checkpoint is a mismatch", async () => {
  const other = await generateArtifacts(golden('conv1d.onnx'), { loss: 'cross-entropy', ...ALONE });
  await assert.rejects(
    TrainingSession.create({ ...artifacts, checkpointState: other.checkpointState }, ALONE),
    is('checkpoint-mismatch'),
  );
});

test('artifact options that mean nothing are refused', async () => {
  const refused = (options, words) =>
    assert.rejects(
      generateArtifacts(MODEL, { loss: 'cross-entropy', ...ALONE, ...options }),
      is('invalid-argument', words),
    );
  await refused({ loss: 'hinge' }, /hinge/);
  await refused({ loss: undefined }, /holds no training_info, so a loss is needed/);
  await refused({ loss: { type: 'cross-entropy', gamma: 2 } }, /no option 'loss.gamma'; it knows type, reduction/);
  await refused({ optimizer: 'lion' }, /lion/);
  await refused(
    { optimizer: { type: 'adam', groups: [] } },
    /no option 'optimizer.groups'; it knows type, lr, betas, eps/,
  );
  await refused({ optimizer: { type: 'adam', lr: NaN } }, /lr/);
  await refused({ requiresGrad: 'fc*' }, /requiresGrad must be an array/);
  await refused({ lora: { rank: 4, targets: [] } }, /lora: there is no option 'rank'; it knows r,/);
  await refused({ lorra: { r: 4 } }, /no option 'lorra'/);
  await refused({ additionalOutputs: ['nothing'] }, /nothing/);
});

test('a plan over maxMemoryBytes is refused', async () => {
  await assert.rejects(async () => {
    const small = await TrainingSession.create(artifacts, { ...ALONE, maxMemoryBytes: 1000 });
    await small.step(FEEDS);
  }, is('out-of-memory'));
});

test('a graph that is none, and times of runs that were not, are refused, and the session goes on', async () => {
  const session = await TrainingSession.create(artifacts, ALONE);
  for (const graph of ['model', '', null]) {
    await assert.rejects(session.getGraphText(graph), is('invalid-argument', /^the graph is 'train' or 'eval', not /));
    await assert.rejects(session.endProfiling(graph), is('invalid-argument', /^the graph is 'train' or 'eval', not /));
  }
  await assert.rejects(session.endProfiling(), is('invalid-argument', /^no run of this model was timed$/));
  await session.step(FEEDS); // untimed
  await assert.rejects(session.endProfiling(), is('invalid-argument', /^no run of this model was timed$/));
  await session.startProfiling();
  await session.step(FEEDS);
  const { runs, peak, nodes } = await session.endProfiling();
  assert.ok(runs === 1 && peak > 0 && nodes.some(({ op, work }) => op === 'Gemm' && work > 0), JSON.stringify(nodes));
  assert.ok((await session.getGraphText()).split('\n').length > nodes.length);
  await session.release();
});

test('passes are switched off by name, and a name that is none is refused', async () => {
  const loss = async (passes) => {
    const session = await TrainingSession.create(artifacts, { ...ALONE, passes });
    return (await session.step(FEEDS)).loss;
  };
  const all = await loss(undefined);
  for (const passes of ['none', [], ['fold'], ['transpose', 'bias']])
    assert.ok(Math.abs((await loss(passes)) - all) <= 1e-5 * all, `${passes}`);
  await assert.rejects(loss(['bais']), is('invalid-argument', /no pass 'bais'.*bias/));
  await assert.rejects(loss('all'), is('invalid-argument', /passes must be an array/));
});

test('an engine that is missing or none is one sentence', async () => {
  for (const worker of [true, false]) {
    await assert.rejects(
      InferenceSession.create(MODEL, { worker, wasmUrl: new URL('./none.wasm', import.meta.url) }),
      is('source-unreadable', /engine could not be loaded from .*none\.wasm/),
    );
    await assert.rejects(
      InferenceSession.create(MODEL, { worker, wasmBinary: new Uint8Array(9) }),
      is('unsupported-browser', /^the engine cannot run here: its file is no WebAssembly that compiles/),
    );
  }
});

test('none of any number of inputs may be absent', async () => {
  const graph = graphProto({
    node: node('Sum', ['x', ''], ['y']),
    name: 'absent',
    input: info('x', 1, [2]),
    output: info('y', 1, [2]),
  });
  const model = modelProto({ graph, opsetImport: opsetId(17) });
  await assert.rejects(InferenceSession.create(model, ALONE), {
    code: 'invalid-model',
    message: "Sum 'Sumy': input 1 must be there",
  });
});
