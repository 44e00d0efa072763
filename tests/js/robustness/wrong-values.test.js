/**
 * Plain wrong values, as a page passes them by mistake: in each option of js/types and in each argument, they end in
 * a TrainletError or are taken.
 */

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import * as trainlet from '../../../js/index.js';
import { HERE } from '../../support/engines.js';

const { TrainletError, Tensor, TrainingSession, InferenceSession } = trainlet;
const here = (file) => new URL(file, import.meta.url);
const folder = here('../../../js/types/');
const subjects = (await readdir(folder)).filter((name) => name.endsWith('.d.ts')); // skips folders of other entries
const types = (await Promise.all(subjects.map((name) => readFile(new URL(name, folder), 'utf8')))).join('');
const model = new Uint8Array(await readFile(here('../../golden/data/mlp_small.onnx')));
const directory = await mkdtemp(path.join(tmpdir(), 'trainlet-wrong-'));
process.chdir(directory); // a string is a folder's name to some
after(() => rm(directory, { recursive: true }));

class Thing {
  type = 7;
}
const wrong = () => [
  null,
  7,
  -1.5,
  NaN,
  '',
  'x',
  true,
  [],
  [null],
  ['x', 'x'],
  {},
  { a: null },
  Object.create(null),
  Object.freeze({ type: 'x' }),
  new Thing(),
  new Map([['a', 1]]),
  new Date(NaN),
  new Uint8Array(3),
  () => {},
  10n,
  Symbol('x'),
  Promise.resolve(1),
];

/** The text between the braces of an interface. @param {string} name */
function bodyOf(name) {
  const head = new RegExp(`export interface ${name}(?:<[^{]*>)?( extends [^{]+)? \\{`).exec(types);
  assert.ok(head, name);
  const start = head.index + head[0].length;
  let [end, depth] = [start, 1];
  while (depth) depth += { '{': 1, '}': -1 }[types[end++]] ?? 0;
  return { body: types.slice(start, end), bases: head[1] ?? '' };
}

/** The options of an interface, and of what it extends. @param {string} name @returns {string[]} */
function keysOf(name) {
  const { body, bases } = bodyOf(name);
  const own = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, key]) => key);
  assert.ok(own.length, name);
  return [...new Set([...own, ...[...bases.matchAll(/\b[A-Z]\w+/g)].flatMap(([base]) => keysOf(base))])];
}

/** @type {string[]} */
let faults = [];

/** @param {string} what @param {() => unknown} work */
async function ours(what, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer within 5 s')), 5000);
  });
  try {
    await Promise.race([work(), late]);
  } catch (error) {
    const [, at] = String(error?.stack).split('\n    at ');
    if (!(error instanceof TrainletError)) faults.push(`${what}: ${error?.message ?? error} (${at})`);
    else if (!error.message) faults.push(`${what}: no sentence`);
  } finally {
    clearTimeout(timer);
  }
}

const told = (value) =>
  typeof value === 'object' ? (value?.constructor?.name ?? String(value && 'bare')) : String(value);

/** The platform's own error tells that an address has no text. */
const isNoAddress = (key, value) =>
  key === 'wasmUrl' && (typeof value === 'symbol' || (typeof value === 'object' && value && !('toString' in value)));

/** Each option, and all of them. */
async function options(name, keys, call, right = {}) {
  for (const value of wrong()) await ours(`${name}(${told(value)})`, () => call(value));
  for (const key of keys)
    for (const value of wrong().filter((one) => !isNoAddress(key, one)))
      await ours(`${name}({ ${key}: ${told(value)} })`, () => call({ ...right, [key]: value }));
}

/** Each argument in turn. */
async function args(name, call, ...right) {
  for (let i = 0; i < right.length; i++)
    for (const value of wrong())
      await ours(`${name}, argument ${i}: ${told(value)}`, () => call(...right.with(i, value)));
}

/** Tells the faults since the last time. */
function none() {
  const found = faults;
  faults = [];
  assert.equal(found.length, 0, `${found.length} faults:\n${found.join('\n')}`);
}

const MADE = { loss: 'cross-entropy', optimizer: 'sgd', ...HERE };
const artifacts = await trainlet.generateArtifacts(model, MADE);
const session = await TrainingSession.create(artifacts, HERE);
const inference = await InferenceSession.create(model, HERE);
const adapted = await TrainingSession.create(
  await trainlet.generateArtifacts(model, { ...MADE, lora: { r: 2 } }),
  HERE,
);
after(() => Promise.all([session, inference, adapted].map((one) => one.release())));
const x = new Tensor('float32', new Float32Array(80), [4, 20]);
const labels = new Tensor('int64', new BigInt64Array(4), [4]);
const data = { inputs: { input: x }, labels: { labels } };
const released = async (making) => (await making).release();

test('generateArtifacts', async () => {
  const make = (given) => trainlet.generateArtifacts(model, given);
  await options('generateArtifacts', keysOf('ArtifactOptions'), make, MADE);
  for (const [key, type, right] of [
    ['loss', 'LossOptions', { type: 'cross-entropy' }],
    ['loss', 'WeightedLoss', { type: 'cross-entropy', weight: 1 }],
    ['optimizer', 'OptimizerOptions', { type: 'adamw' }],
    ['head', 'HeadOptions', { classes: ['a', 'b'] }],
    ['lora', 'LoraOptions', { r: 2 }],
  ])
    await options(key, keysOf(type), (given) => make({ ...MADE, [key]: given }), right);
  await options('loss', ['0', '1'], (given) => make({ ...MADE, loss: [given] }));
  await args('generateArtifacts', (given) => trainlet.generateArtifacts(given, MADE), model);
  none();
});

test('parametersOf, planMemory and compactArtifacts', async () => {
  const { parametersOf, planMemory, compactArtifacts } = trainlet;
  await options(
    'parametersOf',
    [...keysOf('EngineOptions'), 'freeDimensionOverrides'],
    (o) => parametersOf(model, o),
    HERE,
  );
  await options('planMemory', keysOf('PlanMemoryOptions'), (o) => planMemory(model, o), { ...MADE, batchSize: 4 });
  await options('compactArtifacts', keysOf('CompactOptions'), (o) => compactArtifacts(artifacts, o), HERE);
  const PARTS = [...keysOf('ArtifactSources'), 'compact'];
  await options('compactArtifacts of', PARTS, (o) => compactArtifacts(o, HERE), artifacts);
  await args('parametersOf', (given) => parametersOf(given, HERE), model);
  await args('planMemory', (given) => planMemory(given, MADE), model);
  none();
});

test('sessions', async () => {
  const OPTIONS = keysOf('TrainingSessionOptions');
  await options('TrainingSession.create', OPTIONS, (o) => released(TrainingSession.create(artifacts, o)), HERE);
  await options(
    'InferenceSession.create',
    keysOf('SessionOptions'),
    (o) => released(InferenceSession.create(model, o)),
    HERE,
  );
  const PARTS = [...keysOf('ArtifactSources'), 'compact'];
  await options('TrainingSession.create of', PARTS, (o) => released(TrainingSession.create(o, HERE)), artifacts);
  await args('InferenceSession.create', (given) => released(InferenceSession.create(given, HERE)), model);
  await options('release', ['signal'], async (o) => (await InferenceSession.create(model, HERE)).release(o));
  none();
});

test('calls of sessions', async () => {
  const feeds = { input: x };
  const RUN = keysOf('RunOptions');
  await options('run', RUN, (o) => inference.run(feeds, o));
  await options('run', RUN, (o) => inference.run(feeds, inference.outputNames, o));
  await options('runTrainStep', keysOf('StepOptions'), (o) => session.runTrainStep({ ...feeds, labels }, o));
  await options('runEvalStep', keysOf('StepOptions'), (o) => session.runEvalStep({ ...feeds, labels }, [], o));
  await options('predict', keysOf('PredictOptions'), (o) => session.predict(feeds, o));
  await options('step', RUN, (o) => session.step({ ...feeds, labels }, o));
  await options('runOptimizerStep', RUN, (o) => session.runOptimizerStep(o));
  for (const call of ['runTrainStep', 'runEvalStep', 'step', 'forward', 'predict'])
    await options(call, ['input', 'labels'], (o) => session[call](o), { ...feeds, labels });
  await options('feeds', ['input'], (o) => inference.run(o), feeds);
  await options('a tensor', ['type', 'data', 'dims'], (o) => inference.run({ input: o }), {
    type: 'float32',
    data: x.data,
    dims: [4, 20],
  });
  await options('fetches', inference.outputNames, (o) => inference.run(feeds, o));
  for (const call of ['initializeHead', 'calibrate', 'evaluate'])
    await options(call, ['inputs', 'labels', 'sampleWeight'], (o) => session[call](o), data);
  await options('calibrate', keysOf('CalibrateOptions'), (o) => session.calibrate(data, o));
  await options('evaluate', keysOf('EvaluateOptions'), (o) => session.evaluate(data, o), { batchSize: 4 });
  none();
});

test('weights, checkpoints and exports', async () => {
  await options('saveCheckpoint', keysOf('CheckpointOptions'), (o) => session.saveCheckpoint(o));
  await options('exportModel', keysOf('ExportOptions'), (o) => session.exportModel(o));
  await options('extendOutput', keysOf('ExtendOptions'), (o) =>
    session.extendOutput(inference.outputNames[0], ['new'], o),
  );
  await args('extendOutput', (...given) => session.extendOutput(...given), inference.outputNames[0], ['new']);
  const [{ name }] = session.parameters;
  await args('setParameter', (...given) => session.setParameter(...given), name, await session.getParameter(name));
  await args('loadParametersBuffer', (...given) => session.loadParametersBuffer(...given), new Uint8Array(4), true);
  for (const call of [
    'setTrainable',
    'setParameterGroups',
    'getGraphText',
    'endProfiling',
    'getParameter',
    'getGradient',
    'setLearningRate',
    'setSeed',
    'getParametersSize',
    'getContiguousParameters',
  ])
    await args(call, (given) => session[call](given), undefined);
  await options('group', keysOf('ParameterGroup'), (o) => session.setParameterGroups([o]), { params: name });
  await args('properties.set', (...given) => session.properties.set(...given), 'a', 7);
  await args('properties.get', (given) => session.properties.get(given), 'a');
  await args('properties.delete', (given) => session.properties.delete(given), 'a');
  none();
});

test('adapters', async () => {
  const files = await adapted.exportAdapter();
  await options('exportAdapter', keysOf('ExportAdapterOptions'), (o) => adapted.exportAdapter(o));
  await options('loadAdapter', Object.keys(files), (o) => adapted.loadAdapter(o), files);
  await options('loadAdapter', ['adapter.onnx_adapter'], (o) => adapted.loadAdapter(o));
  await args('addAdapter', (...given) => adapted.addAdapter(...given), 'more', files);
  await args('useAdapter', (given) => adapted.useAdapter(given), 'more');
  await args('deleteAdapter', (given) => adapted.deleteAdapter(given), 'more');
  none();
});

test('fineTune, forgetSamples, generate and packText', async () => {
  const { fineTune, generate, packText } = trainlet;
  const examples = { inputs: { input: x }, labels: ['a', 'b', 'a', 'b'] };
  const RIGHT = { epochs: 1, engine: HERE };
  const tune = (given) => fineTune(model, examples, given).then(({ session: tuned }) => tuned.release());
  await options('fineTune', keysOf('FineTuneOptions'), tune, RIGHT);
  await options('fineTune of', keysOf('FineTuneData'), (o) => fineTune(model, o, RIGHT), examples);
  await options('generate', keysOf('GenerateOptions'), (o) => generate(inference, [1, 2], o));
  await args('generate', (...given) => generate(...given), inference, [1, 2]);
  await options('packText', keysOf('PackOptions'), (o) => packText([[1, 2], [3]], o), { length: 4 });
  await args('packText', (given) => packText(given, { length: 4 }), [1, 2]);
  await options('packText of', ['prompt', 'answer'], (o) => packText([o], { length: 4 }), { prompt: [1], answer: [2] });
  none();
});

test('tensors of images, of sounds and of numbers', async () => {
  const image = { data: new Uint8ClampedArray(16), width: 2, height: 2 };
  const sound = { sampleRate: 8000, length: 8, numberOfChannels: 1, getChannelData: () => new Float32Array(8) };
  await options('fromImage', keysOf('ImageOptions'), (o) => Tensor.fromImage(image, o));
  await options('norm', ['mean', 'bias'], (o) => Tensor.fromImage(image, { norm: o }));
  await options('fromImage of', Object.keys(image), (o) => Tensor.fromImage(o), image);
  await options('fromAudio', keysOf('AudioOptions'), (o) => Tensor.fromAudio(sound, o));
  await options('mel', keysOf('MelOptions'), (o) => Tensor.fromAudio(sound, { mel: o }));
  await options('frames', ['length', 'hop'], (o) => Tensor.fromAudio(sound, { frames: o }), { length: 4 });
  await options('fromAudio of', Object.keys(sound), (o) => Tensor.fromAudio(o), sound);
  await args('Tensor', async (...given) => new Tensor(...given), 'float32', [1, 2], [2]);
  await args('Tensor', async (...given) => new Tensor(...given), new Float32Array(2), [2]);
  none();
});

test('stores', async () => {
  const { CheckpointStore, SampleStore, FeatureStore } = trainlet;
  const within = { directory };
  await options('CheckpointStore.open', ['database', 'directory', 'keep'], (o) => CheckpointStore.open(o), within);
  await options('SampleStore.open', keysOf('SampleStoreOptions'), (o) => SampleStore.open(o), within);
  await options('FeatureStore.open', keysOf('FeatureStoreOptions'), (o) => FeatureStore.open(o), within);
  const checkpoints = await CheckpointStore.open(within);
  await args('save', (...given) => checkpoints.save(...given), 'a', new Uint8Array(3), {});
  await options('load', ['version'], (o) => checkpoints.load('a', o));
  for (const call of ['load', 'versions', 'delete']) await args(call, (given) => checkpoints[call](given), 'a');
  const samples = await SampleStore.open(within);
  await options('add', keysOf('Sample'), (o) => samples.add(o), { inputs: { x } });
  await args('label', (...given) => samples.label(...given), 'a', 'b');
  await options('list', ['label'], (o) => samples.list(o));
  await options('dataset', ['classes', 'labels'], (o) => samples.dataset(o));
  for (const call of ['get', 'delete', 'import']) await args(call, (given) => samples[call](given), 'a');
  const features = await FeatureStore.open(within);
  for (const call of ['has', 'delete']) await options(call, ['x'], (o) => features[call](o), { x });
  const forget = (...given) => trainlet.forgetSamples(...given);
  await args('forgetSamples', forget, model, samples, ['a'], { engine: HERE });
  none();
});
