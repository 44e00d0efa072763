/**
 * Samples that survive a kill at any moment, in IndexedDB or in a folder of Node: what is acknowledged can be loaded.
 */

import { checkKeys, checkWhole, invalid, nameOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { concatRows } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { CUT } from './envelope.js';
import { codeOfFault } from './faults.js';
import { checkId, checkLabel, ID, isRecord, newId, packSample, timeOf, unpackSample } from './sample.js';
import { readSamples, writeSamples } from './sample-file.js';
import { guard, openBackend } from './versions.js';

/** @import { Sample, SampleInfo, SampleStoreOptions, StoredSample } from '../types.js' */
/** @import { Backend } from './versions.js' */
/** @import { Entry } from './sample-file.js' */
/** @import { Noted } from './sample.js' */

export const STORE_KEYS = /** @type {const} */ (['name', 'directory', 'maxSamples', 'maxBytes', 'features']);
const MOST = { maxSamples: 10_000, maxBytes: 2 ** 28 };

/** @param {SampleStoreOptions} options */
export async function openSamples(options) {
  checkKeys('SampleStore.open', options, STORE_KEYS);
  const { name = 'samples', directory, maxSamples = MOST.maxSamples, maxBytes = MOST.maxBytes, features } = options;
  if (typeof name !== 'string' || !/^[\w-]{1,100}$/.test(name))
    throw invalid(`a store's name has 1 to 100 letters, digits, - and _, not ${nameOf(name)}`);
  checkWhole('maxSamples', maxSamples, 1);
  checkWhole('maxBytes', maxBytes, 1);
  if (features !== undefined && !(/** @type {any} */ (features)?.gather))
    throw invalid(`SampleStore.open: features is what FeatureStore.open gives, not ${nameOf(features)}`);
  const usual = { database: `trainlet-samples-${name}`, directory: `samples/${name}` };
  const backend = await openBackend(
    { directory: typeof directory === 'string' && directory ? `${directory}/${name}` : directory },
    usual,
  );
  return new Samples(backend, { maxSamples, maxBytes }, features);
}

export class Samples {
  #backend;
  #most;
  #features;
  /** Writes go one after the other. @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /**
   * @param {Backend} backend @param {{ maxSamples: number, maxBytes: number }} most
   * @param {SampleStoreOptions['features']} [features]
   */
  constructor(backend, most, features) {
    this.#backend = backend;
    this.#most = most;
    this.#features = features;
  }

  /** @param {Sample} sample */
  async add(sample) {
    const { record, bytes } = packSample(sample);
    const id = newId();
    await this.#write('the sample could not be added', async () => {
      await this.#needRoom(1, bytes.length);
      await this.#put({ id, record, bytes });
    });
    return id;
  }

  /** @param {string} id @param {string | null} label */
  async label(id, label) {
    checkId(id);
    const named = checkLabel(label);
    await this.#write(`sample '${id}' could not be labelled`, async () => {
      const { record, bytes } = (await this.#read(id)) ?? missing(id);
      await this.#put({ id, record: { ...record, label: named }, bytes });
    });
  }

  /** @param {{ label?: string | null }} [options] @returns {Promise<SampleInfo[]>} */
  async list(options = {}) {
    checkKeys('SampleStore.list', options, ['label']);
    const { label } = options;
    if (label !== undefined) checkLabel(label);
    const all = (await this.#all()).map(({ info }) => info);
    return all.filter((info) => label === undefined || info.label === label);
  }

  /** @param {string} id @returns {Promise<StoredSample | undefined>} */
  async get(id) {
    checkId(id);
    const found = await guard(`sample '${id}' could not be loaded`, () => this.#read(id));
    if (!found) return undefined;
    const { record, bytes } = found;
    return { ...infoOf(id, record, bytes.length), inputs: unpackSample(record, bytes) };
  }

  /** @param {string} id */
  async delete(id) {
    checkId(id);
    return await this.#write(`sample '${id}' could not be deleted`, async () => {
      const there = (await this.#backend.versions(id)).length > 0;
      if (there) await this.#deleteFeatures(id);
      if (there) await this.#backend.delete(id);
      return there;
    });
  }

  /** Before the sample itself, so that after a kill it is done again; of one that is damaged, whichever those are. */
  async #deleteFeatures(/** @type {string} */ id) {
    if (!this.#features) return;
    const found = await this.#read(id).catch(() => undefined);
    await (found ? this.#features.delete(unpackSample(found.record, found.bytes)) : this.#features.clear());
  }

  async classes() {
    return classesOf(await this.list());
  }

  /** @param {{ classes?: readonly string[], labels?: string }} [options] */
  async dataset(options = {}) {
    checkKeys('SampleStore.dataset', options, ['classes', 'labels']);
    const labelled = (await this.#all()).filter(({ info }) => info.label !== null);
    const samples = (await this.#readAll(labelled)).filter(({ record }) => record.label !== null);
    if (!samples.length) throw invalid('dataset: there is no sample with a label in the store');
    const { classes = classesOf(samples.map(({ record }) => record)), labels = 'labels' } = options;
    const indices = samples.map(({ id, record }) => indexOf(classes, id, /** @type {string} */ (record.label)));
    const inputs = stacked(samples.map(({ id, record, bytes }) => ({ id, inputs: unpackSample(record, bytes) })));
    return { inputs, labels: { [labels]: new Tensor('int64', indices) } };
  }

  async export() {
    return await writeSamples(await this.#readAll(await this.#all()));
  }

  /** @param {Uint8Array} bytes */
  async import(bytes) {
    if (!isKind(bytes, 'Uint8Array')) throw invalid(`import: wanted a Uint8Array, not ${nameOf(bytes)}`);
    const entries = await readSamples(bytes.slice());
    return await this.#write('the samples could not be imported', async () => {
      const known = new Set((await this.#backend.list()).map(({ name }) => name));
      const fresh = entries.filter(({ id }) => !known.has(id));
      await this.#needRoom(
        fresh.length,
        fresh.reduce((sum, entry) => sum + entry.bytes.length, 0),
      );
      for (const entry of fresh) await this.#put(entry);
      return fresh.length;
    });
  }

  persist() {
    return guard('the storage could not be made persistent', () => this.#backend.persist());
  }

  /** @param {Entry} entry */
  async #put({ id, record, bytes }) {
    await this.#backend.save(id, this.#backend.pack(bytes, record), 1);
  }

  /**
   * Its newest version that is whole: a kill while it is labelled leaves the one before.
   * @param {string} id
   * @returns {Promise<{ record: Noted, bytes: Uint8Array<ArrayBuffer> } | undefined>}
   */
  async #read(id) {
    let reason;
    for (const version of (await this.#backend.versions(id)).reverse()) {
      const stored = await this.#backend.read(id, version);
      if (!stored) return await this.#read(id); // it was labelled anew meanwhile, or deleted
      if (typeof stored === 'string') reason ??= stored.replace(CUT, 'is cut short');
      else if (isRecord(stored.meta, stored.bytes.length)) return { record: stored.meta, bytes: stored.bytes };
      else reason ??= 'is not what a store of samples wrote';
    }
    if (reason) throw new TrainletError(codeOfFault(reason), `sample '${id}' ${reason}`);
    return undefined;
  }

  /**
   * Our samples in the storage, with their versions.
   * @returns {Promise<{ info: SampleInfo, version?: number }[]>}
   */
  async #all() {
    const listed = await guard('the samples could not be listed', () => this.#backend.list());
    const ours = listed.filter(({ name }) => ID.test(name));
    const found = await Promise.all(
      ours.map(async ({ name: id, version, bytes, meta }) => {
        if (isRecord(meta, bytes)) return { info: infoOf(id, meta, bytes), version };
        const older = await this.#read(id).catch(() => undefined); // a damaged one is told where it is asked for
        return older && { info: infoOf(id, older.record, older.bytes.length) };
      }),
    );
    return found.flatMap((item) => item ?? []).sort((a, b) => (a.info.id < b.info.id ? -1 : 1));
  }

  /**
   * Reads the listed samples, without looking for their versions again.
   * @param {{ info: SampleInfo, version?: number }[]} listed
   * @returns {Promise<Entry[]>} without those that were deleted meanwhile
   */
  async #readAll(listed) {
    /** @type {Entry[]} */
    const entries = [];
    for (const { info, version } of listed) {
      const { id, bytes: size, addedAt: savedAt } = info;
      const found = await guard(`sample '${id}' could not be loaded`, async () => {
        const stored = version && (await this.#backend.read(id, { version, bytes: size, savedAt }));
        if (typeof stored === 'object' && isRecord(stored.meta, stored.bytes.length))
          return { record: stored.meta, bytes: stored.bytes };
        return await this.#read(id);
      });
      if (found) entries.push({ id, ...found });
    }
    return entries;
  }

  /** Refuses what goes past the bounds: nothing is dropped for it. @param {number} count @param {number} bytes */
  async #needRoom(count, bytes) {
    const { maxSamples, maxBytes } = this.#most;
    const held = await this.#backend.total();
    const full = held.count + count > maxSamples ? `${maxSamples} samples` : `${maxBytes} bytes`;
    if (held.count + count <= maxSamples && held.bytes + bytes <= maxBytes) return;
    throw new TrainletError(
      'quota-exceeded',
      `the store may hold ${full}; it has ${held.count} of ${held.bytes} bytes and ${count} of ${bytes} came: ` +
        'delete some first',
    );
  }

  /**
   * @template T
   * @param {string} what
   * @param {() => Promise<T>} work
   */
  async #write(what, work) {
    const written = this.#turn.then(() => guard(what, work));
    this.#turn = written.catch(() => {});
    return await written;
  }
}

/** @param {string} id @returns {never} */
const missing = (id) => {
  throw invalid(`there is no sample '${id}'`);
};

/** @param {string} id @param {Noted} record @param {number} bytes @returns {SampleInfo} */
const infoOf = (id, { label, meta }, bytes) => ({ id, label, meta, addedAt: timeOf(id), bytes });

/** In the order of their oldest samples. @param {{ label: string | null }[]} samples */
const classesOf = (samples) => [...new Set(samples.flatMap(({ label }) => label ?? []))];

/** @param {readonly string[]} classes @param {string} id @param {string} label */
function indexOf(classes, id, label) {
  const index = classes.indexOf(label);
  if (index >= 0) return index;
  throw invalid(`dataset: sample '${id}' is a '${label}', which is not among the classes ${classes.join(', ')}`);
}

/** @typedef {Pick<StoredSample, 'id' | 'inputs'>} Unpacked */

/** One tensor for each input, a row for each sample. @param {Unpacked[]} samples */
function stacked(samples) {
  const [first] = samples;
  const odd = samples.find((sample) => describe(sample) !== describe(first));
  if (odd)
    throw invalid(
      `dataset: sample '${odd.id}' has ${describe(odd)}, and sample '${first.id}' ${describe(first)}; ` +
        'all must be alike',
    );
  return Object.fromEntries(
    Object.keys(first.inputs).map((name) => [name, concatRows(samples.map(({ inputs }) => inputs[name]))]),
  );
}

/** @param {Unpacked} sample */
const describe = ({ inputs }) =>
  Object.entries(inputs)
    .map(([name, { type, dims }]) => `'${name}' ${type} [${dims.join(', ')}]`)
    .sort()
    .join(', ');
