/** Stores of checkpoints and samples. */

import type { FeatureStore } from './features.js';
import type { Bytes } from './internal/platform.js';
import type { Tensor, TensorLike } from './tensor.js';

/**
 * Checkpoints that survive a kill at any moment: in IndexedDB in browsers; in Node in a folder, where each version is
 * one file, `NAME.VERSION.trainlet` (a path to it is a `Source`), and no other file is touched. Two processes or tabs
 * may save under the same name: each save is a version of its own. A name is a string that is not empty and has no lone
 * surrogates; in a folder it may take at most 200 bytes of the file's name: one for each of a to z, digits, - and _,
 * three for every other byte of UTF-8. Errors: `invalid-argument`, `store-failed`, `quota-exceeded`,
 * `checkpoint-corrupt`.
 */
export class CheckpointStore {
  private constructor();
  /**
   * `database` (browsers) defaults to `trainlet`, `directory` (Node) to `checkpoints`; the last `keep` versions are
   * kept, default 2. A version whose meta has `diverged: true` drops none that has not; the last `keep` of these stay
   * beside, until a version without it is saved.
   */
  static open(options?: {
    /** The IndexedDB database (browsers). Default `trainlet`. */
    database?: string;
    /** The folder (Node). Default `checkpoints`. */
    directory?: string;
    /** Versions that are kept of each name, from 1 up. Default 2. */
    keep?: number;
  }): Promise<CheckpointStore>;
  /**
   * Takes the bytes and meta as they are at the call; resolves with the version's number when they are durable. A
   * folder keeps `meta` as JSON. If a browser's storage does not answer for 15 s, plus one for each MB, the save fails
   * with `store-failed`; it may still be done later.
   */
  save(name: string, bytes: Uint8Array, meta?: Record<string, unknown>): Promise<number>;
  /**
   * The `version` asked for, or else the newest one that is intact by its checksum; newer ones that are not are listed
   * in `skipped`. `checkpoint-corrupt` if there are versions but none is intact.
   */
  load(
    name: string,
    options?: {
      /** The number of the version. Default: the newest that is intact. */
      version?: number;
    },
  ): Promise<StoredCheckpoint | undefined>;
  /** Oldest first. */
  versions(name: string): Promise<readonly CheckpointVersion[]>;
  /** The names that there are, each with its newest version. */
  list(): Promise<
    readonly {
      /** The name. */
      name: string;
      /** The bytes of its newest version. */
      bytes: number;
      /** When that was saved. */
      savedAt: Date;
    }[]
  >;
  /** Deletes all versions of a name. */
  delete(name: string): Promise<void>;
  /**
   * Asks the browser not to delete the storage when the disk is nearly full; resolves with whether it agreed. In Node
   * true.
   */
  persist(): Promise<boolean>;
}

/** A checkpoint that a store has loaded. */
export interface StoredCheckpoint {
  /** The bytes, as `save` took them. */
  readonly bytes: Bytes;
  /** The `meta` of `save`; `{}` if there was none. */
  readonly meta: Record<string, unknown>;
  /** When it was saved. */
  readonly savedAt: Date;
  /** The number that `save` has given. */
  readonly version: number;
  /** Newer versions that are damaged. */
  readonly skipped: readonly {
    /** The number of the version. */
    version: number;
    /** Why it is not taken, a sentence. */
    reason: string;
  }[];
}

/** `bytes`: how many; `meta` is absent where the version is visibly damaged. */
export interface CheckpointVersion {
  /** The number that `save` has given. */
  readonly version: number;
  /** The number of bytes. */
  readonly bytes: number;
  /** When it was saved. */
  readonly savedAt: Date;
  /** The `meta` of `save`. */
  readonly meta?: Record<string, unknown>;
}

/** Options of `SampleStore.open`. */
export interface SampleStoreOptions {
  /** Letters, digits, - and _; stores of different names are apart. Default `samples`. */
  name?: string;
  /** In Node, the folder that has a folder of the store's name. Default `samples`. */
  directory?: string;
  /** Default 10,000. */
  maxSamples?: number;
  /** The limit of the samples' tensors; in Node of their files. Default 268,435,456, 256 MB. */
  maxBytes?: number;
  /** A store from which `delete` removes the features of the sample as well. Default: none. */
  features?: FeatureStore;
}

/** An example of one person: its tensors by the names of the model's inputs, and what it is. */
export interface Sample {
  /** Numbers of any type, 1 in their first dim, as `Tensor.fromImage` and `Tensor.fromAudio` give them. Copied. */
  readonly inputs: Readonly<Record<string, TensorLike>>;
  /** The name of a class, up to 200 characters; null, the default, where it is not known yet. */
  readonly label?: string | null;
  /** Whatever else is to be known, up to 65,536 characters of JSON. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A sample's id, label and size, without its inputs. */
export interface SampleInfo {
  /** The id that `add` has given. */
  readonly id: string;
  /** The name of its class; null where it is not known. */
  readonly label: string | null;
  /** The `meta` of the sample; `{}` if there was none. */
  readonly meta: Record<string, unknown>;
  /** When it was added. */
  readonly addedAt: Date;
  /** The bytes of its tensors. */
  readonly bytes: number;
}

/** A sample with its inputs. */
export interface StoredSample extends SampleInfo {
  /** Its tensors by the names of the model's inputs, 1 in their first dim. */
  readonly inputs: Record<string, Tensor>;
}

/**
 * A person's samples, kept as checkpoints are: in IndexedDB in browsers, in Node in a folder. What `add`, `label` and
 * `delete` have acknowledged holds after a kill at any moment. It is bounded: what would go past `maxSamples` or
 * `maxBytes` is refused (`quota-exceeded`), and nothing is dropped for it.
 *
 *     const store = await SampleStore.open();
 *     await store.add({ inputs: { x: await Tensor.fromImage(picture, { size: 96 }) }, label: 'cat' });
 *     await session.fit(await store.dataset());
 *
 * Errors: `invalid-argument`, `quota-exceeded`, `store-failed`, `checkpoint-corrupt` (a sample or a file that is
 * damaged).
 */
export class SampleStore {
  private constructor();
  /** Opens the store of that name, which is made if there is none. */
  static open(options?: SampleStoreOptions): Promise<SampleStore>;
  /**
   * Resolves with the sample's id when it is durable. No id is given twice, not after a `delete` either. Writes go one
   * after the other; if a browser's storage does not answer one for 15 s, plus one for each MB, that fails with
   * `store-failed`; it may still be done later. (In a tab that the browser slows down it takes up to three minutes.)
   */
  add(sample: Sample): Promise<string>;
  /** Names its class, or another one; null takes the label away. `invalid-argument` where there is no such sample. */
  label(id: string, label: string | null): Promise<void>;
  /** Without their tensors, oldest first: all, those of a label, or with `label: null` those without. */
  list(options?: {
    /** The label that they have; null: none. Default: all samples. */
    label?: string | null;
  }): Promise<SampleInfo[]>;
  /** The sample with its tensors; undefined if there is none. */
  get(id: string): Promise<StoredSample | undefined>;
  /** Resolves with whether there was one, when it is gone from the storage. */
  delete(id: string): Promise<boolean>;
  /** The labels in the order in which their oldest samples came: the index of each is what `dataset` makes of it. */
  classes(): Promise<string[]>;
  /**
   * The samples with a label as `fit` and `evaluate` take them, oldest first. `classes`: which index each label has
   * (default: as `classes()` tells; keep those of a trained head, for the order changes with what is deleted); a label
   * that is not among them is refused. `labels`: the model's label input, default `labels`.
   */
  dataset(options?: {
    /** The labels in the order of their indices. Default: as `classes()` gives them. */
    classes?: readonly string[];
    /** The name of the model's label input. Default `labels`. */
    labels?: string;
  }): Promise<{
    /** The tensors of all samples by the names of the inputs, a sample a row. */
    inputs: Record<string, Tensor>;
    /** Class indices, int64 (samples). */
    labels: Record<string, Tensor<'int64'>>;
  }>;
  /** All samples in one file, with a checksum. */
  export(): Promise<Bytes>;
  /**
   * Adds the samples of such a file, with their ids; those that are there already stay as they are. Resolves with how
   * many were added. A file that is damaged or something else is refused whole.
   */
  import(bytes: Uint8Array): Promise<number>;
  /**
   * Asks the browser not to delete the storage when the disk is nearly full; resolves with whether it agreed. In Node
   * true.
   */
  persist(): Promise<boolean>;
}
