/** Images and sounds: the sources that become tensors, and how. */

import type { Blob, Known, URL } from './internal/platform.js';

/**
 * A sound: an AudioBuffer, what has its fields, or samples of one channel. A Blob is a file that the page decodes, with
 * the browser's own resampling, which differs between browsers.
 */
export type AudioSource =
  | {
      /** Samples a second. */
      readonly sampleRate: number;
      /** The number of channels. */
      readonly numberOfChannels: number;
      /** The samples of a channel, from -1 to 1. */
      getChannelData(channel: number): Float32Array;
    }
  | Float32Array
  | Blob;

/** Options of `Tensor.fromAudio`. */
export interface AudioOptions {
  /** Samples a second that are wanted, a whole number up to 768,000. Default: the source's; a Blob's is 48,000. */
  sampleRate?: number;
  /** The rate of a Float32Array, which does not say it. Default: as `sampleRate`, so nothing is resampled. */
  sourceRate?: number;
  /** Samples at the rate wanted: what is longer is cut at its end, what is shorter gets silence there. Default: all. */
  length?: number;
  /** Samples in frames of `length`, one each `hop` (default: `length`); what is left at the end is dropped. */
  frames?: {
    /** Samples of a frame. */
    length: number;
    /** Samples from one frame to the next. Default: `length`. */
    hop?: number;
  };
  /** A mel spectrogram. */
  mel?: MelOptions;
}

/**
 * A mel spectrogram: how loud each pitch is, frame by frame. Names, defaults and numbers are those of torchaudio's
 * MelSpectrogram, with a periodic Hann window; `melScale: 'onnx'` with `center: false` gives those of ONNX's STFT and
 * MelWeightMatrix.
 */
export interface MelOptions {
  /** Samples of a Fourier transform; default 400. */
  nFft?: number;
  /** Samples that are heard in it, in its middle; default `nFft`. */
  winLength?: number;
  /** Samples from one frame to the next; default half of `winLength`. */
  hopLength?: number;
  /** Default 128. */
  nMels?: number;
  /** In Hz; default 0. */
  fMin?: number;
  /** In Hz; default half the sample rate. */
  fMax?: number;
  /** The power of the magnitudes: 2 (default) or 1. */
  power?: 1 | 2;
  /** True if half a window of the sound's mirror image is put before and after it; default true. */
  center?: boolean;
  /** `htk` (default), `slaney` as in librosa, or `onnx`: HTK's, with the triangles of ONNX's MelWeightMatrix. */
  melScale?: 'htk' | 'slaney' | 'onnx';
  /** `slaney`: each triangle has the same area, as in librosa. Default null: the same height. */
  norm?: 'slaney' | null;
  /** Natural logarithms, of the value plus 1e-6. Default false. */
  log?: boolean;
}

/**
 * A picture. A Blob, or a URL, is a file that the browser decodes, turned as its camera says; of a video it is the
 * frame that is shown; ImageData is four bytes a pixel: red, green, blue, alpha.
 */
export type ImageSource =
  | Known<'ImageBitmap'>
  | Known<'HTMLCanvasElement'>
  | Known<'OffscreenCanvas'>
  | Known<'HTMLImageElement'>
  | Known<'HTMLVideoElement'>
  | Known<'VideoFrame'>
  | {
      /** Four bytes a pixel: red, green, blue, alpha. */
      readonly data: Uint8ClampedArray | Uint8Array;
      /** Pixels in a row. */
      readonly width: number;
      /** Rows of pixels. */
      readonly height: number;
    }
  | Blob
  | string
  | URL;

/** The way from a picture to numbers. `tensorLayout`, `tensorFormat`, `norm` and `dataType` are ONNX Runtime's. */
export interface ImageOptions<T extends 'float32' | 'uint8' = 'float32'> {
  /**
   * Pixels of both sides, or of each; 1 to 16,384. Default: the picture's own, which must be the same for all of a
   * batch.
   */
  size?: number | readonly [height: number, width: number];
  /**
   * The treatment of a picture of other proportions than `size`. `center` (default): it is scaled until it covers that
   * size, and what sticks out is cut off; false: it is stretched.
   */
  crop?: 'center' | false;
  /** 3 (default), or 1 for grey (0.299 red + 0.587 green + 0.114 blue). */
  channels?: 1 | 3;
  /** Default NCHW: (pictures, channels, height, width). */
  layout?: 'NCHW' | 'NHWC';
  /** The same as `layout`. */
  tensorLayout?: 'NCHW' | 'NHWC';
  /** The order of the channels; default RGB. */
  tensorFormat?: 'RGB' | 'BGR' | 'RBG';
  /**
   * For red, green and blue, or one number for all: (pixel / 255 − mean) / std. Defaults 0 and 1: numbers from 0 to 1.
   * Networks pretrained on ImageNet mostly want mean [0.485, 0.456, 0.406] and std [0.229, 0.224, 0.225].
   */
  mean?: number | readonly number[];
  /** The divisor of each channel, or one for all, as of `mean`. Default 1. */
  std?: number | readonly number[];
  /** Instead of both: (pixel + bias) / mean, of pixels from 0 to 255. Defaults 0 and 255. */
  norm?: {
    /** The divisor of each channel, or one for all. Default 255. */
    mean?: number | readonly number[];
    /** The number that is added to each channel, or one for all. Default 0. */
    bias?: number | readonly number[];
  };
  /** Default float32; `uint8` are the pixels as they are. */
  dataType?: T;
  /** The color behind transparent pixels: red, green and blue from 0 to 255. Default [255, 255, 255], white. */
  background?: readonly [red: number, green: number, blue: number];
}
