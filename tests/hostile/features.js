// Damaged packs of features in a store: what is not whole is computed again, and never ends a call.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FeatureCache } from '../../js/features/cache.js';
import { FeatureStore, generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { wrap, unwrap } from '../../js/storage/envelope.js';
import { memoryRoom } from './memory.js';
import { mutateText } from './mutate.js';
import { infoOf, sumSealed } from './sums.js';
import { HERE } from '../support/engines.js';

const EXAMPLES = 4;
const DATA = {
  inputs: {
    input: new Tensor(
      'float32',
      Float32Array.from({ length: EXAMPLES * 20 }, (_, i) => (i % 7) / 8),
      [EXAMPLES, 20],
    ),
  },
  labels: { labels: new Tensor('int64', [0n, 1n, 2n, 1n]) },
};

const golden = () => readFile(fileURLToPath(new URL('../golden/data/mlp_small.onnx', import.meta.url)));

/** A session of which only the last layer trains. */
async function opened() {
  const model = await golden();
  const artifacts = await generateArtifacts(model, { ...HERE, loss: 'cross-entropy', frozen: ['fc1.*', 'fc2.*'] });
  return await TrainingSession.create(artifacts, HERE);
}

/** A store with one pack, its file and that file's name. @param {string} folder @param {TrainingSession} session */
export async function packIn(folder, session) {
  const store = await FeatureStore.open({ directory: folder, name: 'whole' });
  await session.fit(DATA, { epochs: 2, batchSize: EXAMPLES, cacheFeatures: { store } });
  const directory = path.join(folder, 'whole');
  const [file] = (await readdir(directory)).filter((name) => name.endsWith('.trainlet') && !name.startsWith('used'));
  return { file, seed: await readFile(path.join(directory, file)) };
}

/** Another store of that one pack, damaged. @param {string} folder @param {string} file */
async function damagedStore(folder, file, bytes) {
  const directory = path.join(folder, 'damaged');
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  await writeFile(path.join(directory, file), bytes);
  return await FeatureStore.open({ directory: folder, name: 'damaged' });
}

/** @param {string} folder */
export async function featureTargets(folder) {
  const session = await opened();
  const { file, seed } = await packIn(folder, session);
  const read = async (bytes) => {
    const store = await damagedStore(folder, file, bytes);
    await store.total();
    await store.has(DATA.inputs);
    const { features } = await session.fit(DATA, { epochs: 2, batchSize: EXAMPLES, cacheFeatures: { store } });
    const { computed, fromMemory, fromStorage } = features.store;
    if (computed + fromMemory + fromStorage !== EXAMPLES) throw new Error(`${JSON.stringify(features)}`);
    await store.delete(DATA.inputs);
  };
  return {
    features: { seed, fix: sumSealed, read },
    'info of features': { ...infoOf(seed), mutate: mutateText, read },
  };
}

/** Stores what a network gives that gives its input, in a room without an engine. @param {any} room */
export async function gatherIn(room) {
  const kept = new FeatureCache(room, { maxBytes: 2 ** 20, maxMemoryBytes: 2 ** 20 });
  const { tensors, saved } = await kept.gather(ask, { examples: 2, feedsOf, inputBytes: 16 }, ['same'], { limit: 1e6 });
  await saved;
  const features = tensors.map(([name, { type, dims, data }]) => `${name} ${type} [${dims}] ${data}`).join();
  if (features !== 'same float32 [2,2] 1,2,3,4') throw new Error(`the features are ${features}`);
  return kept;
}

const model = Uint8Array.of(0x3a, 1, 7); // field 7, the graph
const feedsOf = (rows) => ({
  tensors: [{ name: 'x', type: 'float32', dims: [rows.length, 2], offset: 0, bytes: 8 * rows.length }],
  sequences: [],
  buffer: Float32Array.from([...rows].flatMap((i) => [2 * i + 1, 2 * i + 2])).buffer,
});
const ask = async (method, { buffer }) =>
  method === 'export'
    ? model
    : { same: { type: 'float32', data: new Float32Array(buffer), dims: [buffer.byteLength / 8, 2] } };

/** In this process alone: the store in a room of memory, and a network that gives its input. */
export async function featureParsers() {
  const inputs = { x: new Tensor('float32', [1, 2, 3, 4], [2, 2]) };
  const empty = memoryRoom();
  await gatherIn(empty);
  const [{ name, meta }] = (await empty.list()).filter((listed) => listed.name !== 'used');
  const magic = new Uint8Array(8).fill(7);
  const read = async (file) => {
    const stored = await unwrap(file, magic);
    const kept = await gatherIn(memoryRoom([[name, typeof stored === 'string' ? { bytes: file } : stored]]));
    await kept.delete(inputs);
  };
  const pack = wrap((await empty.read(name)).bytes, { meta }, magic);
  const { seed: info, fix } = infoOf(pack);
  return {
    features: { seeds: [pack], fix: sumSealed, read },
    'info of features': { seeds: [info], fix, mutate: mutateText, read },
  };
}
