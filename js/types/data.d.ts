/** Data sets: examples, their weights, augmentation and validation split. */

import type { URL } from './internal/platform.js';
import type { Feeds, TensorLike } from './tensor.js';

/** One number from 0 up for each example, or for each label where an example has several. */
export type SampleWeight = readonly number[] | Float32Array | Float64Array | TensorLike;

/** Tensors of all examples, one a row. A tensor without a name is the only input, or the only one for labels. */
export interface WholeArrays {
  /** The model's inputs by name, or the only one. */
  inputs: Feeds | TensorLike;
  /** The labels by the name of their input, or the only ones; absent for a loss without labels. */
  labels?: Feeds | TensorLike;
  /** The weight of each example, from 0 up. Default: 1. */
  sampleWeight?: SampleWeight;
}

/**
 * Labels of a cross-entropy are class indices, of any integer type or whole floats, (N) or (N, 1), or one-hot rows.
 * Whole arrays (all with the same first dim; `inputs` and `labels` together are the feeds), or batches one after
 * another, of which only the one in flight and the next are held.
 *
 * `sampleWeight`, for artifacts made with `sampleWeights`: how much each example counts. A batch of its own may bring
 * them as the input `sample_weight`.
 */
export type Dataset =
  | WholeArrays
  | AsyncIterable<Feeds>
  | Iterable<Feeds>
  | (() => AsyncIterable<Feeds> | Iterable<Feeds>);

/** Steps of augmentation, and the input that they change. */
export interface AugmentOptions {
  /** The steps, in the order in which they are applied. */
  readonly steps: readonly Augmentation[];
  /**
   * The name of the input, float32 or uint8: of four dims pictures, of two or three, (N, samples) or (N, channels,
   * samples), signals. Default: the only one that is not among the data set's labels.
   */
  readonly input?: string;
  /**
   * The layout of pictures. Default: NHWC where the model says that the last dim is 1 or 3 and the second is not, else
   * NCHW.
   */
  readonly layout?: 'NCHW' | 'NHWC';
}

/**
 * One step, by its name with its defaults or with options; each example draws its own numbers, evenly from the ranges.
 * Beyond the edge of a picture lies the edge's nearest pixel, beyond a signal 0.
 */
export type Augmentation =
  | 'flip'
  | 'shift'
  | 'rotate'
  | 'crop'
  | 'noise'
  | 'colour'
  | 'scale'
  /** Pictures are mirrored with probability `p`, 0.5; axis `horizontal` (default): left and right change places. */
  | {
      /** The name of the step. */
      readonly type: 'flip';
      /** The probability, from 0 to 1. Default 0.5. */
      readonly p?: number;
      /** `horizontal` (default): left and right change places; `vertical`: top and bottom. */
      readonly axis?: 'horizontal' | 'vertical';
    }
  /** Shifts by whole pixels or samples, up to this share of the width (0.1) and height (0.1), either way. */
  | {
      /** The name of the step. */
      readonly type: 'shift';
      /** The farthest shift along the width or the signal, as a share of it. Default 0.1. */
      readonly x?: number;
      /** The farthest shift along the height, as a share of it; pictures only. Default 0.1. */
      readonly y?: number;
    }
  /** Pictures, about their middle, up to so many degrees either way; 15. */
  | {
      /** The name of the step. */
      readonly type: 'rotate';
      /** The largest angle, in degrees. Default 15. */
      readonly degrees?: number;
    }
  /** A part of a picture, at least this share of its sides (0.8), is enlarged to all of it. */
  | {
      /** The name of the step. */
      readonly type: 'crop';
      /** The smallest part, as a share of the sides, above 0 and up to 1. Default 0.8. */
      readonly least?: number;
    }
  /** Normal noise of this standard deviation, 0.05 in the input's numbers; of uint8 in 255ths. */
  | {
      /** The name of the step. */
      readonly type: 'noise';
      /** The standard deviation, in the input's numbers; of uint8 in 255ths. Default 0.05. */
      readonly std?: number;
    }
  /**
   * Pictures: up to `brightness` (0.2, in the input's numbers) is added, the contrast is changed by up to that share
   * (0.2), and each channel by itself by up to `tint` (0.1).
   */
  | {
      /** The name of the step. */
      readonly type: 'colour';
      /** The most that is added, either way, in the input's numbers. Default 0.2. */
      readonly brightness?: number;
      /** The largest change of the contrast, as a share of it. Default 0.2. */
      readonly contrast?: number;
      /** The most that is added to one channel, either way, in the input's numbers. Default 0.1. */
      readonly tint?: number;
    }
  /** Signals become louder or softer by up to this share; 0.2. */
  | {
      /** The name of the step. */
      readonly type: 'scale';
      /** The largest change, as a share of the signal. Default 0.2. */
      readonly by?: number;
    }
  /**
   * A module of your own, whose default export changes a batch: `export default ({ data, dims, random, epoch, batch,
   * options }) => { … }` writes into `data`; `random()` gives numbers from 0 up to 1, the same each time for the same
   * batch. In browsers a URL, in Node also a path.
   */
  | {
      /** The module: in browsers a URL, in Node also a path. */
      readonly module: string | URL;
      /** The argument `options` of its function: data that a worker can be sent. Default: undefined. */
      readonly options?: unknown;
    };

/** The share of whole arrays that is held out for validation. */
export interface ValidationSplit {
  /** Above 0 and below 1. */
  readonly share: number;
  /**
   * 'time' (default): the examples are in the order in which they came, and the last are held out. An array with the
   * group of each example, as its session or person: whole groups, those that begin last, are held out until they are
   * the share.
   */
  readonly splitBy?: 'time' | ArrayLike<string | number>;
}
