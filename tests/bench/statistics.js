// Medians and spread of times, and whether two trainings are the same one.

/** A sorted copy's element at share q, between two of them if need be. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

export const median = (values) => quantile(values, 0.5);

export const spread = (values) => ({
  median: median(values),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
  best: Math.min(...values),
});

/**
 * The largest relative difference of two lists of losses, over the steps that both made; infinite when one is not a
 * number.
 */
export function lossDifference(a, b) {
  const differences = a.slice(0, b.length).map((loss, i) => Math.abs(loss - b[i]) / Math.max(Math.abs(b[i]), 1e-6));
  return differences.reduce((worst, d) => (Number.isFinite(d) ? Math.max(worst, d) : Number.POSITIVE_INFINITY), 0);
}

/**
 * The median of the ratios of the rounds that both were in: what the machine does meanwhile hits both. Rounds are lists
 * of ms, with holes.
 */
export function roundRatio(ours, theirs) {
  const ratios = ours.flatMap((ms, i) => (ms && theirs[i] ? [theirs[i] / ms] : []));
  return ratios.length ? median(ratios) : undefined;
}

/** Largest difference of results, relative to the largest of `b`. */
export function outputDifference(a, b) {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  const most = b.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
  const worst = a.reduce((largest, x, i) => Math.max(largest, Math.abs(x - b[i])), 0);
  return Number.isFinite(worst) ? worst / Math.max(most, 1e-6) : Number.POSITIVE_INFINITY;
}
