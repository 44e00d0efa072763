/** Features of frozen layers: the cache of a fit and the FeatureStore. */

import type { TrainletError } from './errors.js';
import type { TensorLike } from './tensor.js';

/** Options of the feature cache. */
export interface CacheFeatures {
  /** The limit of memory, in bytes. */
  maxBytes?: number;
  /** A store in which they outlive the call. Default: none, memory alone. */
  store?: FeatureStore;
}

/** The number of examples whose features were computed, and of those that had them from a store. */
export interface FeatureOrigins {
  /** The number of examples that were computed. */
  readonly computed: number;
  /** The store had them in memory, from a call before. */
  readonly fromMemory: number;
  /** The number of examples that were read from the storage. */
  readonly fromStorage: number;
}

/** Features that are kept of examples. */
export interface FeatureEvent {
  /** The examples whose features have been computed, and how many there are. */
  readonly done: number;
  /** The number of all examples. */
  readonly examples: number;
  /** The bytes of the features of all examples that are trained on. */
  readonly bytes: number;
  /** Origins of those that are done; only with a store. */
  readonly store?: FeatureOrigins;
}

/**
 * Features that were computed once: the names of the values, what they take, and the time they took, those of held-out
 * examples with them.
 */
export interface KeptFeatures {
  /** The names of the values in the model. */
  readonly values: readonly string[];
  /** The bytes that they take. */
  readonly bytes: number;
  /** The milliseconds that computing them took. */
  readonly ms: number;
  /**
   * The store that had them or was to have them; absent where it could not: the engine was shrunk and has no
   * `exportModel`, or features depend on the other examples of a batch in their last bits. `error`: why not all that
   * was computed is in the store's storage (`quota-exceeded`, `store-failed`), or what it has could not be read.
   */
  readonly store?: FeatureOrigins & {
    /** Why not all of them are in the store's storage. */
    readonly error?: TrainletError;
  };
}

/** Options of `FeatureStore.open`. */
export interface FeatureStoreOptions {
  /** Letters, digits, - and _; stores of different names are apart. Default `features`. */
  name?: string;
  /** In Node, the folder that has a folder of the store's name. Default `features`. */
  directory?: string;
  /** The limit of the storage; what was not used for longest is removed for what comes. Default 536,870,912, 512 MB. */
  maxBytes?: number;
  /** The limit of what was used last, which is in memory as well. Default 67,108,864, 64 MB. */
  maxMemoryBytes?: number;
}

/**
 * The outputs of frozen layers for examples, kept from call to call and from day to day: in IndexedDB in browsers, in
 * Node in a folder. It is found by a hash of an example's inputs and one of the frozen layers, their weights with them,
 * and has a checksum: what is damaged is computed again. Several tabs or processes may have the same store.
 *
 *     const features = await FeatureStore.open({ name: 'signs' });
 *     const { report } = await fineTune(model, await store.dataset(), { cacheFeatures: { store: features } });
 *     console.log(report.features.store); // { computed: 1, fromMemory: 0, fromStorage: 60 }
 *
 * Errors: `invalid-argument`, `store-failed`, `unsupported-browser` (a page that is not served by https or from
 * localhost).
 */
export class FeatureStore {
  private constructor();
  /** Opens the store of that name, which is made if there is none. */
  static open(options?: FeatureStoreOptions): Promise<FeatureStore>;
  /** True if there is anything of one of these examples, a row each, by the names of the model's inputs. */
  has(inputs: Readonly<Record<string, TensorLike>>): Promise<boolean>;
  /**
   * Removes what there is of these examples, a row each, of whatever layers. Resolves with how many were removed, when
   * they are gone from the storage. Another tab that is open may have them in memory until its next call.
   */
  delete(inputs: Readonly<Record<string, TensorLike>>): Promise<number>;
  /** The state of the storage: the number of examples with features, and their bytes. */
  total(): Promise<{
    /** The number of examples with features. */
    examples: number;
    /** The bytes of the features. */
    bytes: number;
  }>;
  /** Removes all of them. */
  clear(): Promise<void>;
}
