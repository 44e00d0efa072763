/** Tensors of sounds: samples at the rate a network wants, as they are, in frames, or as a mel spectrogram. */

import { checkKeys, checkWhole, invalid, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { concatFloats } from '../base/rows.js';
import { Tensor } from '../base/tensor.js';
import { resample } from './audio-resample.js';
import { melOf, melSpectrogram } from './spectrogram.js';

/** @import { AudioOptions, AudioSource } from '../types.js' */
/**
 * @typedef {{ samples: Float32Array, rate?: number }} Sound one channel; a Float32Array alone does not tell its rate
 */
/** @typedef {{ data: Float32Array, dims: number[] }} Made of one sound */

export const AUDIO_KEYS = /** @type {const} */ (['sampleRate', 'sourceRate', 'length', 'frames', 'mel']);
export const FRAME_KEYS = /** @type {const} */ (['length', 'hop']);
/** The default sample rate of a decoded file. */
const USUAL_RATE = 48_000;
const RATE_MOST = 768_000;

/** @param {AudioSource | readonly AudioSource[]} source @param {AudioOptions} [options] */
export async function fromAudio(source, options = {}) {
  checkOptions(options);
  const sources = Array.isArray(source) ? source : [source];
  if (!sources.length) throw invalid('Tensor.fromAudio: there is no sound in the array');
  /** @type {Made[]} */
  const made = [];
  for (const [i, sound] of sources.entries()) {
    const what = Array.isArray(source) ? `sound ${i}` : 'the sound';
    made.push(make(what, await soundOf(what, sound, options), options));
    checkSame(what, made[0], made[i]);
  }
  return new Tensor('float32', concatFloats(made.map(({ data }) => data)), [made.length, ...made[0].dims]);
}

/** @param {AudioOptions} options */
function checkOptions(options) {
  checkKeys('Tensor.fromAudio', options, AUDIO_KEYS);
  const { sampleRate, sourceRate, length, frames, mel } = options;
  for (const [name, rate] of Object.entries({ sampleRate, sourceRate })) {
    if (rate === undefined) continue;
    checkWhole(name, rate, 1);
    if (rate > RATE_MOST) throw invalid(`${name} can be ${RATE_MOST} samples a second at most, not ${rate}`);
  }
  if (length !== undefined) checkWhole('length', length, 1);
  checkKeys('frames', frames, FRAME_KEYS);
  if (frames) checkWhole('frames: length', frames.length, 1);
  if (frames?.hop !== undefined) checkWhole('frames: hop', frames.hop, 1);
  if (frames && mel) throw invalid('frames are samples as they are, and mel is what becomes of them: give one of both');
}

/** @param {string} what @param {AudioSource} source @param {AudioOptions} options @returns {Promise<Sound>} */
async function soundOf(what, source, { sampleRate, sourceRate }) {
  if (isKind(source, 'Float32Array')) return { samples: source, rate: sourceRate };
  if (sourceRate !== undefined)
    throw invalid('sourceRate is for a Float32Array; other sounds have a rate of their own');
  if (isKind(source, 'Blob')) return mono(what, await decode(what, source, sampleRate ?? USUAL_RATE));
  return mono(what, source);
}

/** The mean of its channels. @param {string} what @param {any} buffer @returns {Sound} */
function mono(what, buffer) {
  const { numberOfChannels, sampleRate: rate } = buffer ?? {};
  if (
    typeof buffer?.getChannelData !== 'function' ||
    !(Number.isSafeInteger(numberOfChannels) && numberOfChannels >= 1)
  )
    throw invalid(`${what} must be an AudioBuffer, a Float32Array or a Blob, not ${nameOf(buffer)}`);
  /** @type {Float32Array[]} */
  const channels = Array.from({ length: numberOfChannels }, (_, c) => buffer.getChannelData(c));
  if (!channels.every((channel) => isKind(channel, 'Float32Array')))
    throw invalid(`${what}: getChannelData must give a Float32Array, not ${nameOf(channels[0])}`);
  const samples = channels[0].map((_, i) => channels.reduce((sum, channel) => sum + channel[i], 0) / numberOfChannels);
  return { samples, rate };
}

/**
 * Decodes a file by the browser, which also resamples it.
 * @param {string} what @param {Blob} blob @param {number} rate
 */
async function decode(what, blob, rate) {
  if (typeof OfflineAudioContext === 'undefined')
    throw unreadable(`${what}: only a page decodes files of sound; here give an AudioBuffer or samples`);
  try {
    return await new OfflineAudioContext(1, 1, rate).decodeAudioData(await blob.arrayBuffer());
  } catch (error) {
    throw unreadable(
      `${what}: its ${blob.size} bytes could not be decoded at ${rate} samples a second: ${sentenceOf(error)}`,
      error,
    );
  }
}

/** @param {string} why @param {unknown} [cause] */
const unreadable = (why, cause) => new TrainletError('source-unreadable', why, { cause });

/** @param {string} what @param {Sound} sound @param {AudioOptions} options @returns {Made} */
function make(what, { samples, rate }, { sampleRate = rate, length, frames, mel }) {
  if (!samples.length) throw invalid(`${what} has no samples`);
  const whole = cut(resample(samples, rate ?? sampleRate ?? 1, sampleRate ?? 1), length);
  if (mel && !sampleRate)
    throw invalid('mel needs a sampleRate: a Float32Array does not tell how high its pitches are');
  if (mel && sampleRate) return melSpectrogram(what, whole, sampleRate, melOf(mel, sampleRate));
  return frames ? framed(what, whole, frames) : { data: whole, dims: [whole.length] };
}

/** The beginning, or all of it and silence after it. @param {Float32Array} samples @param {number} [length] */
function cut(samples, length = samples.length) {
  if (samples.length >= length) return samples.subarray(0, length);
  const filled = new Float32Array(length);
  filled.set(samples);
  return filled;
}

/**
 * @param {string} what
 * @param {Float32Array} samples
 * @param {NonNullable<AudioOptions['frames']>} frames
 * @returns {Made}
 */
function framed(what, samples, { length, hop = length }) {
  const count = 1 + Math.floor((samples.length - length) / hop);
  if (count < 1) throw invalid(`${what} has ${samples.length} samples, fewer than one frame of ${length}`);
  const data = new Float32Array(count * length);
  for (let i = 0; i < count; i++) data.set(samples.subarray(i * hop, i * hop + length), i * length);
  return { data, dims: [count, length] };
}

/** @param {string} what @param {Made} first @param {Made} made */
function checkSame(what, first, made) {
  if (String(first.dims) === String(made.dims)) return;
  throw invalid(`${what} becomes [${made.dims}], and sound 0 [${first.dims}]: give a length for all`);
}
