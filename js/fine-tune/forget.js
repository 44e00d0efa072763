/**
 * Forgetting samples: they are deleted, with the checkpoints that learned from them, and the others are learned anew
 * from the base.
 */

import { invalid, nameOf } from '../base/errors.js';
import { leaveOut } from '../data/labelled-examples.js';
import { check, tune } from './fine-tune.js';

/** @import { FineTuneData, FineTuneOptions, Forgotten, SampleStore, Source, StoredSample } from '../types.js' */

/**
 * The samples themselves go after what learned from them: as long as they are listed, a call that was killed is to be
 * made again. One that finds them gone goes on where it was cut short.
 * @param {Source} model @param {SampleStore} store @param {string | readonly string[]} ids
 * @param {FineTuneOptions} [options]
 * @returns {Promise<Forgotten>}
 */
export async function forgetSamples(model, store, ids, options = {}) {
  const all = idsOf(ids);
  check(options);
  for (const method of /** @type {const} */ (['get', 'delete', 'classes', 'dataset']))
    if (typeof store?.[method] !== 'function')
      throw invalid(`forgetSamples: the store is what SampleStore.open gives, not ${nameOf(store)}`);
  const { checkpoint } = options;
  const there = (await Promise.all(all.map((id) => store.get(id)))).flatMap((sample) => sample ?? []);
  const replay = options.replay && leaveOut('fineTune: replay', options.replay, there);
  const versions = there.length ? ((await checkpoint?.store.versions(checkpoint.name)) ?? []) : [];
  if (there.length) await checkpoint?.store.delete(checkpoint.name);
  const features = await deleteFeatures(options.cacheFeatures, there);
  for (const id of all) await store.delete(id);
  const data = await dataOf(store, options.classes);
  const { key, removed = 0, ...tuned } = await tune(model, data, { ...options, replay: replay?.data }, true);
  const left = [
    ...(await samplesLeft(store, there, data)),
    ...(await versionsLeft(checkpoint, key)),
    ...(await featuresLeft(options.cacheFeatures, there)),
  ];
  const forgotten = {
    samples: there.map(({ id }) => id),
    checkpoints: versions.length + removed,
    replay: replay?.rows ?? 0,
    ...(features !== undefined && { features }),
    left,
  };
  return { ...tuned, report: { ...tuned.report, forgotten } };
}

/** @param {string | readonly string[]} ids */
function idsOf(ids) {
  const all = [ids].flat();
  if (all.length && all.every((id) => typeof id === 'string')) return /** @type {string[]} */ (all);
  throw invalid(`forgetSamples: wanted the id of a sample, or an array of ids, not ${nameOf(ids)}`);
}

/**
 * The store's examples with the names of their classes; fineTune decides on their order. @param {SampleStore} store
 * @param {readonly string[]} [named]
 */
async function dataOf(store, named) {
  const classes = named ?? (await store.classes());
  const { inputs, labels } = await store.dataset({ classes });
  return { inputs, labels: Array.from(labels.labels.data, (index) => classes[Number(index)]) };
}

/**
 * Samples with those ids that are there again, and others that are the same.
 * @param {SampleStore} store @param {StoredSample[]} gone @param {FineTuneData} data
 */
async function samplesLeft(store, gone, data) {
  const again = (await Promise.all(gone.map(({ id }) => store.get(id)))).flatMap((sample) => sample?.id ?? []);
  const { rows } = leaveOut('fineTune: data', data, gone);
  return [
    ...again.map((id) => `sample '${id}' is in the store again`),
    ...(rows ? [`${rows} other sample${rows > 1 ? 's have' : ' has'} the same inputs`] : []),
  ];
}

/**
 * Lists versions of other calls, which may have learned from the sample.
 * @param {FineTuneOptions['checkpoint']} checkpoint
 * @param {string} [key]
 */
async function versionsLeft(checkpoint, key) {
  const versions = (await checkpoint?.store.versions(checkpoint.name)) ?? [];
  return versions
    .filter(({ meta }) => /** @type {any} */ (meta)?.fineTune?.key !== key)
    .map(({ version }) => `version ${version} of checkpoint '${checkpoint?.name}' was saved by another call`);
}

/**
 * @param {FineTuneOptions['cacheFeatures']} cacheFeatures @param {StoredSample[]} gone
 * @returns {Promise<number | undefined>} how many of theirs there were; undefined: there is no store of them
 */
async function deleteFeatures(cacheFeatures, gone) {
  const { store } = typeof cacheFeatures === 'object' ? cacheFeatures : {};
  let count = 0;
  for (const { inputs } of gone) count += Number(await store?.delete(inputs));
  return store && count;
}

/**
 * Another that has the same inputs has the same features. @param {FineTuneOptions['cacheFeatures']} cacheFeatures
 * @param {StoredSample[]} gone
 */
async function featuresLeft(cacheFeatures, gone) {
  const { store } = typeof cacheFeatures === 'object' ? cacheFeatures : {};
  const there = await Promise.all(gone.map(async ({ id, inputs }) => ((await store?.has(inputs)) ? id : [])));
  return there.flat().map((id) => `the store of features has those of sample '${id}' again`);
}
