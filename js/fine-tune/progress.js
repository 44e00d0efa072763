/** The progress of a whole fineTune: one number that rises from 0 to 1 over its stages. */

/** @import { EngineOptions, FineTuneOptions, FineTuneProgress, LoadProgress } from '../types.js' */
/** @typedef {NonNullable<FineTuneOptions['onProgress']>} Listener */
/** @typedef {Omit<FineTuneProgress, 'progress'>} Event */
/**
 * @typedef {Omit<FineTuneOptions, 'onProgress'> & { onProgress?: (event: Event) => unknown }} Options of a call whose
 * events have no overall progress yet
 */
/** @typedef {{ name: 'model' | 'features' | 'head' | 'layers' | 'done', weight: number }} Stage */

/**
 * The time that each stage takes, relative to the others: as measured with 60 and 100 pictures on the demos' networks,
 * and once more where a phase runs all layers in each epoch. `done` stands for the gate and the calibration.
 */
const WEIGHTS = { model: 1, features: 4, head: 3, layers: 7, done: 0.5 };
const ALL_LAYERS = 20;
/** The share of a phase in which it computes features of its own, if it does. */
const OWN_FEATURES = 0.3;

/** @param {FineTuneOptions} options @returns {Stage[]} */
function stagesOf({ head, lastLayers, augment, cacheFeatures }) {
  const stage = (/** @type {Stage['name']} */ name, weight = WEIGHTS[name]) => ({ name, weight });
  const [model, done] = [stage('model'), stage('done')];
  if (head === false) return [model, stage('layers', ALL_LAYERS), done];
  const shares = !augment && cacheFeatures !== false;
  const phases = shares ? [stage('features'), stage('head')] : [stage('head', ALL_LAYERS)];
  return [model, ...phases, ...(lastLayers ? [stage('layers', shares ? WEIGHTS.layers : ALL_LAYERS)] : []), done];
}

export class Progress {
  #listener;
  #stages;
  #total;
  /** The stage of the last event. */
  #at = 0;
  /** The phase that computes features of its own. */
  #computes = -1;
  #progress = 0;
  /** The listener's answers while the model was loaded. @type {Promise<unknown> | undefined} */
  loaded;

  /** @param {Listener} listener @param {FineTuneOptions} options */
  constructor(listener, options) {
    this.#listener = listener;
    this.#stages = stagesOf(options);
    this.#total = this.#stages.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** @param {Event} event @returns {unknown} the listener's result, which may be a promise */
  tell = ({ phase, done, of, ...more }) => {
    const share = this.#shareOf(phase, Math.min(1, done / of));
    const before = this.#stages.slice(0, this.#at).reduce((sum, { weight }) => sum + weight, 0);
    const progress = phase === 'done' ? 1 : (before + share * this.#stages[this.#at].weight) / this.#total;
    this.#progress = Math.max(this.#progress, progress);
    return this.#listener({ phase, done, of, progress: this.#progress, ...more });
  };

  /**
   * The engine's options, by which the bytes of the model count too.
   * @param {FineTuneOptions['engine']} engine
   * @returns {EngineOptions}
   */
  heard(engine) {
    /** @param {LoadProgress} event */
    const onProgress = (event) => {
      engine?.onProgress?.(event);
      const { loadedBytes: done, totalBytes: of } = event;
      if (of) this.loaded = Promise.all([this.loaded, (async () => this.tell({ phase: 'model', done, of }))()]);
      this.loaded?.catch(() => {}); // reported to who awaits it
    };
    return { ...engine, onProgress };
  }

  /**
   * Goes on to the stage of an event. Features that come after their own stage are those of the phase that begins.
   * @param {Event['phase']} phase @param {number} share of it that is done
   * @returns {number} the share of the stage
   */
  #shareOf(phase, share) {
    const at = this.#stages.findIndex(({ name }) => name === phase);
    if (phase === 'features' && at < this.#at) {
      if (this.#computes !== this.#at) this.#computes = this.#at = Math.min(this.#at + 1, this.#stages.length - 2);
      return OWN_FEATURES * share;
    }
    this.#at = at;
    return this.#computes === at ? OWN_FEATURES + (1 - OWN_FEATURES) * share : share;
  }
}
