// Seeds of the fuzz targets: ONNX's backend cases, Debian's and newer ones, the golden models, and what training makes
// of these, in build/fuzz/seeds.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compactArtifacts, generateArtifacts, TrainingSession } from '../../js/index.js';
import { remove, root } from '../../tools/programs.mjs';
import { packedCases } from '../onnx/packed.js';
import { THREADED } from '../support/engines.js';

const CASES = '/usr/share/libonnx-testdata/data';
const GOLDEN = join(root, 'tests/golden/data');
/**
 * Bytes of the largest seed. A longer input is slower without telling more, but `inference` reads one of more than 64
 * KB in place.
 */
const MOST = 32 << 10;
const MOST_IN_PLACE = 80 << 10;

/** Targets that take the bytes of a model. */
const OF_MODELS = ['model', 'inference', 'session'];
/** Targets that decode a case from any bytes. */
const OF_ANY_BYTES = ['names', 'graph', 'api'];

/** Golden networks to train, with options that lead to different artifacts. */
const TRAINED = [
  ['mlp_small', {}],
  ['mlp_small', { optimizer: { type: 'sgd', momentum: 0.9, nesterov: true } }],
  ['mlp_small', { optimizer: { type: 'adamw', clipGradNorm: 1 }, frozen: ['*bias'] }],
  ['mlp_small', { nominal: true }],
  ['mlp_small', { loss: 'outside' }],
  ['mlp_small', { loss: 'outside', additionalOutputs: ['/relu1/Relu_output_0'] }],
  ['cnn_bn', {}],
  ['conv1d', {}],
  ['tokens', {}],
  ['lora_linear', {}],
  ['scripted', {}],
  ['regression', { loss: 'mse', optimizer: 'sgd' }],
  ['quantized', {}],
];

/** Makes the seeds unless they are there; gives the folder, with one of each target in it. */
export async function makeSeeds(folder) {
  const done = join(folder, 'done');
  if (existsSync(done)) return folder;
  remove(folder);
  const put = (target, bytes, most = MOST) => {
    if (bytes.length > most) return;
    const into = join(folder, target);
    mkdirSync(into, { recursive: true });
    writeFileSync(join(into, createHash('sha1').update(bytes).digest('hex')), bytes);
  };
  for (const bytes of modelFiles())
    for (const target of OF_MODELS) put(target, bytes, target === 'inference' ? MOST_IN_PLACE : MOST);
  for (const [name, options] of TRAINED) await trained(put, name, options);
  await adapted(put);
  for (const target of OF_ANY_BYTES) for (let i = 1; i <= 64; i++) put(target, noise(`${target} ${i}`, 8 * i));
  for (const file of filesIn(join(GOLDEN, 'ort')))
    if (/checkpoint/.test(file)) put('ort_checkpoint', readFileSync(file));
  writeFileSync(done, '');
  return folder;
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

function modelFiles() {
  const cases = ['node', 'simple', 'pytorch-converted', 'pytorch-operator']
    .map((kind) => join(CASES, kind))
    .filter(existsSync)
    .flatMap(filesIn);
  const files = [...cases, ...filesIn(GOLDEN)].filter((file) => /\.(onnx|ort)$/.test(file));
  const newer = packedCases().flatMap(({ read }) => read('model.onnx') ?? []);
  return [...files.map((file) => readFileSync(file)), ...newer];
}

/** Artifacts of a network, its checkpoints and its exports. */
async function trained(put, name, options) {
  const model = readFileSync(join(GOLDEN, `${name}.onnx`));
  const made = await generateArtifacts(model, { ...THREADED, loss: 'cross-entropy', ...options });
  put('training', made.trainModel);
  for (const bytes of [made.trainModel, made.evalModel, made.optimizerModel]) put('model', bytes);
  putCheckpoint(put, made.checkpointState);
  for (const weights of ['exact', 'float16', 'int8'])
    put('compact', await compactArtifacts(made, { ...THREADED, weights }));
  if (options.nominal) return;
  const session = await TrainingSession.create(made, THREADED);
  session.properties?.set('note', 'a seed');
  session.properties?.set('count', 3n);
  session.properties?.set('rate', 0.5);
  putCheckpoint(put, await session.saveCheckpoint());
  const checkpointState = await session.saveCheckpoint();
  put('compact', await compactArtifacts({ ...made, checkpointState }, THREADED));
  for (const version of [1, 2]) put('ort_checkpoint', await session.saveCheckpoint({ format: 'ort', version }));
  for (const trainingInfo of [false, true]) {
    const bytes = await session.exportModel({ trainingInfo }).catch(() => new Uint8Array());
    for (const target of OF_MODELS) put(target, bytes);
  }
  await session.release();
}

/** Checkpoints of several adapters, whole ones and of adapters alone, with and without optimizer state. */
async function adapted(put) {
  const model = readFileSync(join(GOLDEN, 'mlp_small.onnx'));
  const made = await generateArtifacts(model, { ...THREADED, loss: 'cross-entropy', lora: { r: 2 } });
  const session = await TrainingSession.create(made, THREADED);
  const save = async () => {
    for (const base of [true, false])
      for (const optimizerState of [true, false])
        put('adapters', bodyOf(await session.saveCheckpoint({ base, optimizerState })));
  };
  await save();
  await session.addAdapter('work');
  await save();
  for (const adapter of ['work', null]) {
    await session.useAdapter(adapter);
    await save();
  }
  await session.release();
}

/** The bytes of a checkpoint without its checksum. */
function bodyOf(bytes) {
  let at = 13; // fields of a fixed length, then the body's: its key and its length, a varint
  while (bytes[at] & 128) at++;
  return bytes.subarray(at + 1);
}

/** The whole file, and its body alone, which the target wraps with a checksum of its own. */
function putCheckpoint(put, bytes) {
  put('checkpoint', bytes);
  put('checkpoint', bodyOf(bytes));
}

/** Bytes that are the same every time. */
function noise(text, length) {
  const blocks = [];
  for (let i = 0; blocks.length * 32 < length; i++) blocks.push(createHash('sha256').update(`${text} ${i}`).digest());
  return Buffer.concat(blocks).subarray(0, length);
}
