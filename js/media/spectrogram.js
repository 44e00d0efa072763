/**
 * Mel spectrograms: how loud the pitches of a sound are, as torchaudio's MelSpectrogram or ONNX's operators tell it.
 */

import { checkKeys, checkWhole, invalid, nameOf } from '../base/errors.js';
import { fourier } from './fourier.js';

/** @import { MelOptions } from '../types.js' */
/** @typedef {Required<MelOptions>} Mel */

export const MEL_KEYS = /** @type {const} */ ([
  'nFft',
  'winLength',
  'hopLength',
  'nMels',
  'fMin',
  'fMax',
  'power',
  'center',
  'melScale',
  'norm',
  'log',
]);
const SCALES = ['htk', 'slaney', 'onnx'];
/** Longer windows are a slip: a second at the highest rates has fewer samples. */
const LONGEST = 1 << 20;
/** The addend of log, so that silence is finite. */
const SILENCE = 1e-6;

/** @param {MelOptions} options @param {number} sampleRate @returns {Mel} */
export function melOf(options, sampleRate) {
  checkKeys('mel', options, MEL_KEYS);
  const { nFft = 400, winLength = nFft, nMels = 128 } = options;
  for (const [name, value] of Object.entries({ nFft, winLength, nMels })) checkWhole(`mel: ${name}`, value, 1);
  const {
    hopLength = Math.max(1, Math.floor(winLength / 2)),
    fMin = 0,
    fMax = sampleRate / 2,
    power = 2,
    center = true,
    melScale = 'htk',
    norm = null,
    log = false,
  } = options;
  checkWhole('mel: hopLength', hopLength, 1);
  if (nFft > LONGEST) throw invalid(`mel: nFft can be ${LONGEST} at most, not ${nFft}`);
  if (winLength > nFft) throw invalid(`mel: winLength ${winLength} is longer than nFft ${nFft}`);
  if (typeof fMin !== 'number' || typeof fMax !== 'number' || !(fMin >= 0 && fMin < fMax && fMax <= sampleRate / 2))
    throw invalid(
      `mel: fMin ${nameOf(fMin)} and fMax ${nameOf(fMax)} must rise from 0 to half the sampleRate, ${sampleRate / 2}`,
    );
  if (power !== 1 && power !== 2) throw invalid(`mel: power must be 1 or 2, not ${nameOf(power)}`);
  if (!SCALES.includes(melScale)) throw invalid(`mel: melScale must be ${SCALES.join(', ')}, not ${nameOf(melScale)}`);
  if (norm !== null && norm !== 'slaney') throw invalid(`mel: norm must be null or 'slaney', not ${nameOf(norm)}`);
  if (norm && melScale === 'onnx') throw invalid("mel: norm is for the melScale htk or slaney; ONNX's has none");
  for (const [name, value] of Object.entries({ center, log }))
    if (typeof value !== 'boolean') throw invalid(`mel: ${name} must be true or false, not ${nameOf(value)}`);
  return { nFft, winLength, hopLength, nMels, fMin, fMax, power, center, melScale, norm, log };
}

/**
 * @param {string} what
 * @param {Float32Array} samples
 * @param {number} sampleRate
 * @param {Mel} mel
 * @returns {{ data: Float32Array, dims: number[] }} (nMels, frames)
 */
export function melSpectrogram(what, samples, sampleRate, mel) {
  const { nFft, hopLength, nMels, center, log } = mel;
  const padded = center ? reflect(what, samples, nFft >> 1) : samples;
  if (padded.length < nFft) throw invalid(`${what} has ${padded.length} samples, fewer than one window of ${nFft}`);
  const frames = 1 + Math.floor((padded.length - nFft) / hopLength);
  const filters = filtersOf(sampleRate, mel);
  const data = new Float32Array(nMels * frames);
  const spectrum = spectrumOf(mel);
  for (let frame = 0; frame < frames; frame++) {
    const loud = spectrum(padded, frame * hopLength);
    filters.forEach(({ first, weights }, m) => {
      let sum = 0;
      for (let i = 0; i < weights.length; i++) sum += weights[i] * loud[first + i];
      data[m * frames + frame] = log ? Math.log(sum + SILENCE) : sum;
    });
  }
  return { data, dims: [nMels, frames] };
}

/**
 * Pads a signal with its own mirrored samples, as many before as after.
 * @param {string} what
 * @param {Float32Array} samples
 * @param {number} margin
 */
function reflect(what, samples, margin) {
  const { length } = samples;
  if (length <= margin)
    throw invalid(
      `${what} has ${length} samples; mel with center needs more than ${margin}, half a window: give a length`,
    );
  const padded = new Float32Array(length + 2 * margin);
  padded.set(samples, margin);
  for (let i = 1; i <= margin; i++) {
    padded[margin - i] = samples[i];
    padded[margin + length - 1 + i] = samples[length - 1 - i];
  }
  return padded;
}

/** Magnitudes, to the power, of the window that begins at a sample. @param {Mel} mel */
function spectrumOf({ nFft, winLength, power }) {
  const transform = fourier(nFft);
  const before = (nFft - winLength) >> 1;
  const hann = Float64Array.from({ length: winLength }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / winLength));
  const [re, im, loud] = [new Float64Array(nFft), new Float64Array(nFft), new Float64Array((nFft >> 1) + 1)];
  return (/** @type {Float32Array} */ samples, /** @type {number} */ at) => {
    re.fill(0);
    im.fill(0);
    for (let i = 0; i < winLength; i++) re[before + i] = hann[i] * samples[at + before + i];
    transform(re, im);
    for (let bin = 0; bin < loud.length; bin++) {
      const square = re[bin] * re[bin] + im[bin] * im[bin];
      loud[bin] = power === 2 ? square : Math.sqrt(square);
    }
    return loud;
  };
}

/** @typedef {{ toMel: (hz: number) => number, toHz: (mel: number) => number }} Scale */
/** @type {Scale} */
const HTK = {
  toMel: (hz) => 2595 * Math.log10(1 + hz / 700),
  toHz: (mel) => 700 * (10 ** (mel / 2595) - 1),
};
/** Even up to 1,000 Hz, which are 15 mel; from there on each mel is this much higher than the one before. */
const STEP = Math.log(6.4) / 27;
/** @type {Scale} */
const SLANEY = {
  toMel: (hz) => (hz < 1000 ? (hz * 3) / 200 : 15 + Math.log(hz / 1000) / STEP),
  toHz: (mel) => (mel < 15 ? (mel * 200) / 3 : 1000 * Math.exp(STEP * (mel - 15))),
};

/** For each mel the bins that it weighs. @param {number} sampleRate @param {Mel} mel */
function filtersOf(sampleRate, mel) {
  const bins = (mel.nFft >> 1) + 1;
  const dense = mel.melScale === 'onnx' ? onnxFilters(sampleRate, mel, bins) : triangles(sampleRate, mel, bins);
  return dense.map((weights) => {
    const first = Math.max(
      0,
      weights.findIndex((weight) => weight !== 0),
    );
    const end = weights.findLastIndex((weight) => weight !== 0) + 1;
    return { first, weights: weights.subarray(first, Math.max(first, end)) };
  });
}

/**
 * Points evenly apart on the scale, in Hz; the last lies `steps` after the first.
 * @param {Mel} mel
 * @param {Scale} scale
 * @param {number} steps
 */
function pointsOf({ nMels, fMin, fMax }, { toMel, toHz }, steps) {
  const [low, high] = [toMel(fMin), toMel(fMax)];
  return Array.from({ length: nMels + 2 }, (_, i) => toHz(low + (i * (high - low)) / steps));
}

/**
 * torchaudio's melscale_fbanks: each triangle rises from the point before to its own and falls to the next.
 * @param {number} sampleRate
 * @param {Mel} mel
 * @param {number} bins
 */
function triangles(sampleRate, mel, bins) {
  const points = pointsOf(mel, mel.melScale === 'htk' ? HTK : SLANEY, mel.nMels + 1);
  const width = Math.floor(sampleRate / 2) / (bins - 1);
  return Array.from({ length: mel.nMels }, (_, m) => {
    const [from, top, to] = points.slice(m, m + 3);
    const area = mel.norm ? 2 / (to - from) : 1;
    return Float64Array.from({ length: bins }, (_, bin) => {
      const hz = bin * width;
      return area * Math.max(0, Math.min((hz - from) / (top - from), (to - hz) / (to - top)));
    });
  });
}

/**
 * ONNX's MelWeightMatrix: HTK's scale, points on whole bins, and a step for each point.
 * @param {number} sampleRate
 * @param {Mel} mel
 * @param {number} bins
 */
function onnxFilters(sampleRate, mel, bins) {
  const points = pointsOf(mel, HTK, mel.nMels + 2).map((hz) => Math.floor(((mel.nFft + 1) * hz) / sampleRate));
  return Array.from({ length: mel.nMels }, (_, m) => {
    const [from, top, to] = points.slice(m, m + 3);
    return Float64Array.from({ length: bins }, (_, bin) => {
      if (bin === top) return 1;
      if (bin > top) return bin < to ? (to - bin) / (to - top) : 0;
      return bin < from ? 0 : (bin - from) / (top - from);
    });
  });
}
