/**
 * Samples at another rate, as torchaudio's `resample` gives them by default: a windowed sinc (Hann, six zero crossings
 * on each side, rolloff 0.99), which lets no pitch through that the lower of both rates cannot hold.
 */

const ZEROS = 6,
  ROLLOFF = 0.99;

/** @param {number} a @param {number} b @returns {number} */
const greatestDivisor = (a, b) => (b ? greatestDivisor(b, a % b) : a);

/** @param {number} t in zero crossings */
const windowedSinc = (t) => {
  if (Math.abs(t) >= ZEROS) return 0;
  return Math.cos((t * Math.PI) / ZEROS / 2) ** 2 * (t === 0 ? 1 : Math.sin(t * Math.PI) / (t * Math.PI));
};

/**
 * The filter of new samples that lie `phase` / `after` past an old one: weights of the old ones from `first` on.
 * @param {number} phase @param {number} before @param {number} after rates without common divisor
 */
function tapsOf(phase, before, after) {
  const cutoff = Math.min(before, after) * ROLLOFF;
  const center = (phase * before) / after;
  const reach = (ZEROS * before) / cutoff;
  const first = Math.ceil(center - reach);
  const count = Math.floor(center + reach) - first + 1;
  const scale = cutoff / before;
  return {
    first,
    taps: Float64Array.from({ length: count }, (_, i) => scale * windowedSinc((first + i - center) * scale)),
  };
}

/** @param {Float32Array} samples @param {number} from @param {number} to samples a second */
export function resample(samples, from, to) {
  if (from === to) return samples;
  const divisor = greatestDivisor(from, to);
  const [before, after] = [from / divisor, to / divisor];
  const resampled = new Float32Array(Math.ceil((samples.length * after) / before));
  for (let phase = 0; phase < after && phase < resampled.length; phase++) {
    const { first, taps } = tapsOf(phase, before, after);
    for (let to = phase, start = first; to < resampled.length; to += after, start += before) {
      let sum = 0;
      const end = Math.min(taps.length, samples.length - start);
      for (let i = Math.max(0, -start); i < end; i++) sum += taps[i] * samples[start + i];
      resampled[to] = sum;
    }
  }
  return resampled;
}
