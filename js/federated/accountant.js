/**
 * Rényi differential privacy of the Gaussian mechanism: ε at δ after some rounds, each with a sample of those who take
 * part (Mironov, Talwar and Zhang 2019), with the orders and the bound of Google's dp-accounting.
 */

/** @typedef {{ noiseMultiplier: number, rounds: number, delta: number, samplingRate?: number }} Mechanism */

const range = (/** @type {number} */ from, /** @type {number} */ to) =>
  Array.from({ length: to - from }, (_, i) => from + i);
/** Rényi orders; ε is the least that one of them proves. */
const ORDERS = [...range(1, 100).map((x) => 1 + x / 10), ...range(11, 64), 128, 256, 512, 1024];
/** The bound by orders nearer to 1 is not stable. */
const LEAST_ORDER = 1.01;
const TERMS = 1000;
/** Terms are small enough once they are so many times e below the sum. */
const NEGLIGIBLE = 30;

/** Lanczos' approximation with g = 7, to 1e-15. */
const LANCZOS = [
  ...[0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059],
  ...[12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7],
];

/** log |Γ(x)|. @param {number} x @returns {number} */
function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
  const t = x + 6.5;
  const sum = LANCZOS.reduce((all, c, i) => all + (i ? c / (x + i - 1) : c), 0);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** log |n over k|. @param {number} n @param {number} k */
const logBinomial = (n, k) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);

/** log(eᵃ + eᵇ). @param {number} a @param {number} b */
function logAdd(a, b) {
  const [low, high] = a < b ? [a, b] : [b, a];
  return low === -Infinity ? high : Math.log1p(Math.exp(low - high)) + high;
}

/** log erfc(x): by the series of erf, and by the continued fraction where erfc is small. @param {number} x */
function logErfc(x) {
  if (x < -6) return Math.log(2);
  if (x < 2) {
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return Math.log1p((-2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum);
  }
  let fraction = x;
  for (let n = 200; n > 0; n--) fraction = x + n / 2 / fraction;
  return -x * x - 0.5 * Math.log(Math.PI) - Math.log(fraction);
}

/** log A of a whole order. @param {number} q @param {number} sigma @param {number} order */
function logMomentWhole(q, sigma, order) {
  let sum = -Infinity;
  for (let i = 0; i <= order; i++) {
    const coefficient = logBinomial(order, i) + i * Math.log(q) + (order - i) * Math.log1p(-q);
    sum = logAdd(sum, coefficient + (i * i - i) / (2 * sigma ** 2));
  }
  return sum;
}

/**
 * log A of an order between: two integrals, term by term.
 * @param {number} q @param {number} sigma @param {number} order
 */
function logMomentBetween(q, sigma, order) {
  const [logQ, logRest, scale] = [Math.log(q), Math.log1p(-q), Math.SQRT2 * sigma];
  const middle = sigma ** 2 * Math.log(1 / q - 1) + 0.5;
  let sum = -Infinity,
    last = [-Infinity, -Infinity];
  for (let i = 0; i < TERMS; i++) {
    const coefficient = logBinomial(order, i) - Math.LN2,
      j = order - i;
    const both = [
      i * logQ + j * logRest + (i * i - i) / (2 * sigma ** 2) + logErfc((i - middle) / scale),
      j * logQ + i * logRest + (j * j - j) / (2 * sigma ** 2) + logErfc((middle - j) / scale),
    ].map((term) => coefficient + term);
    sum = logAdd(sum, logAdd(both[0], both[1]));
    if (both[0] < last[0] && both[1] < last[1] && Math.max(...both) < sum - NEGLIGIBLE) return sum;
    last = both;
  }
  return Infinity; // it did not converge: this order proves nothing
}

/** The Rényi divergence of one round. @param {number} q @param {number} sigma @param {number} order */
function divergence(q, sigma, order) {
  if (q === 0) return 0;
  if (q === 1) return order / (2 * sigma ** 2);
  const moment = Number.isInteger(order) ? logMomentWhole : logMomentBetween;
  return moment(q, sigma, order) / (order - 1);
}

/** @param {number} order @param {number} rdp of all rounds @param {number} delta */
function boundBy(order, rdp, delta) {
  if (rdp <= 0 || delta ** 2 + Math.expm1(-rdp) > 0) return 0; // the Kullback-Leibler divergence proves it
  if (order <= LEAST_ORDER) return Infinity;
  return rdp + Math.log1p(-1 / order) - Math.log(delta * order) / (order - 1);
}

/** ε at δ. @param {Mechanism} mechanism @returns {number} */
export function epsilonOf({ noiseMultiplier, rounds, delta, samplingRate = 1 }) {
  if (rounds === 0) return 0;
  if (noiseMultiplier === 0) return Infinity;
  const bounds = ORDERS.map((order) =>
    boundBy(order, rounds * divergence(samplingRate, noiseMultiplier, order), delta),
  );
  return Math.max(0, Math.min(...bounds));
}
