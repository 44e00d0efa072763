/** The sessions as pages import them. Their methods are loaded while the engine is: nobody can call them before. */

import { notByNew } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { checkEngineOptions } from '../engine/options.js';
import { sumsOf } from './made.js';
import { INTERNALS, ORT_OPTIONS, open, PART_NAMES, sourcesOf } from './open.js';

/**
 * @import { ArtifactSources, CompactSource, LoadSessionOptions, SessionOptions, Source } from '../types.js'
 * @import { TrainingSessionOptions } from '../types.js'
 * @typedef {import('./training.js').TrainingSession} TrainingSession
 * @typedef {import('./inference.js').InferenceSession} InferenceSession
 */

/** @template T @param {() => Promise<T>} load */
function early(load) {
  const loading = lazy(load);
  loading.catch(() => {}); // thrown where it is awaited
  return loading;
}

class TrainingDoor {
  constructor() {
    throw notByNew('a session is made', 'TrainingSession.create(artifacts)');
  }

  /** @param {ArtifactSources | CompactSource} artifacts @param {TrainingSessionOptions} [options] */
  static async create(artifacts, options = {}) {
    const sources = sourcesOf('TrainingSession.create', artifacts);
    checkEngineOptions('TrainingSession.create', options, PART_NAMES, [...ORT_OPTIONS, 'bounds', 'backend']);
    const methods = early(() => import('./training.js'));
    if (options.bounds !== undefined) (await lazy(() => import('./bounds.js'))).checkBounds(options.bounds);
    /** @type {any} */
    const made = { sources, externalData: options.externalData };
    return await open(
      sources,
      options,
      async (...given) => (await methods).createTraining(...given, made),
      (files) => {
        made.sums = sumsOf(files);
      },
    );
  }

  /** @param {string} name @param {LoadSessionOptions} [options] @returns {Promise<TrainingSession>} */
  static async load(name, options) {
    return await (await lazy(() => import('./saved.js'))).load(name, options, TrainingDoor.create);
  }

  /** @param {any} session @returns {session is TrainingSession} */
  static [Symbol.hasInstance](session) {
    return Boolean(session?.[INTERNALS]?.info.train);
  }

  static get name() {
    return 'TrainingSession';
  }
}

class InferenceDoor {
  constructor() {
    throw notByNew('a session is made', 'InferenceSession.create(model)');
  }

  /** @param {Source} model @param {SessionOptions} [options] */
  static async create(model, options = {}) {
    checkEngineOptions('InferenceSession.create', options, ['model'], ORT_OPTIONS);
    const methods = early(() => import('./inference.js'));
    return await open([['model', 'model', model]], options, async (...given) =>
      (await methods).createInference(...given),
    );
  }

  /** @param {any} session @returns {session is InferenceSession} */
  static [Symbol.hasInstance](session) {
    return Boolean(session?.[INTERNALS]?.info.model);
  }

  static get name() {
    return 'InferenceSession';
  }
}

export const TrainingSession =
  /** @type {typeof TrainingDoor & { prototype: TrainingSession, new (): TrainingSession }} */ (
    /** @type {unknown} */ (TrainingDoor)
  );
export const InferenceSession =
  /** @type {typeof InferenceDoor & { prototype: InferenceSession, new (): InferenceSession }} */ (
    /** @type {unknown} */ (InferenceDoor)
  );
