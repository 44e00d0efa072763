// Golden recipes (tests/golden): a run's options for generateArtifacts, and its batches by the formula of make_w.py.

/** The finaliser lowbias32 over seed · 0x9E3779B9 + i. */
export function batchBits(seed, i) {
  let x = (i + Math.imul(seed, 0x9e3779b9)) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** In [0, 1) with 24 bits. */
export const batchUnit = (seed, i) => (batchBits(seed, i) >>> 8) / 2 ** 24;

/** Element i where block × block pixels of the last two dims are one. */
function coarseIndex(i, height, width, block) {
  const column = i % width;
  const row = Math.floor(i / width) % height;
  const image = Math.floor(i / width / height);
  return (image * (height / block) + Math.floor(row / block)) * (width / block) + Math.floor(column / block);
}

/** A tensor as type, data and dims: of `spec` for `batch` examples, at a step. */
export function batchTensor(spec, batch, step) {
  const dims = [batch, ...spec.dims];
  const [height, width] = dims.slice(-2);
  const count = dims.reduce((a, b) => a * b, 1);
  const block = spec.block ?? 1;
  const seed = spec.seed + 100 * step;
  const range = spec.high - spec.low;
  const isInteger = spec.type === 'int64';
  const data = isInteger ? new BigInt64Array(count) : new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const at = block > 1 ? coarseIndex(i, height, width, block) : i;
    data[i] = isInteger ? BigInt(spec.low + (batchBits(seed, at) % range)) : spec.low + range * batchUnit(seed, at);
  }
  return { type: spec.type, data, dims };
}

/** The feeds of a recipe's step, by name. */
export function batchFeeds(recipe, step) {
  const at = recipe.fixed ? 0 : step;
  return Object.fromEntries(
    [recipe.input, recipe.label].map((spec) => [spec.name, batchTensor(spec, recipe.batch, at)]),
  );
}

/** Options of generateArtifacts. */
export function artifactOptions({ loss, optimizer, requiresGrad, frozen, batchNorm }) {
  const lists = { ...(requiresGrad && { requiresGrad }), ...(frozen && { frozen }) };
  return { loss, optimizer, ...lists, ...(batchNorm && { batchNorm }) };
}
