/**
 * A weighted sum of adapters as one adapter of their rank r, as PEFT's add_weighted_adapter with `svd`: together they
 * add D = Σ wᵢ Bᵢ Aᵢ to a weight, and D's r largest singular values give the nearest B A of rank r.
 *
 *     [w₁B₁ w₂B₂ …] = Q R    [A₁; A₂; …]ᵀ = P S    R Sᵀ = U Σ Vᵀ    B = Q U √Σ    A = √Σ Vᵀ Pᵀ    (r columns, rows)
 */

import { rowsOf } from '../base/rows.js';

/** A matrix by its columns. @typedef {Float64Array[]} Columns */
/** @typedef {{ a: Float32Array, b: Float32Array }} Pair A (r, in), B (out, r) */

/** Most rounds of rotating pairs of columns until these are orthogonal. */
const ROUNDS = 60;
const NOTHING = 1e-14;

/** @param {Float64Array} x @param {Float64Array} y */
function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

/** y += k · x @param {Float64Array} y @param {number} k @param {Float64Array} x */
function addTo(y, k, x) {
  for (let i = 0; i < y.length; i++) y[i] += k * x[i];
}

/**
 * Q and R, by Gram-Schmidt, twice; a column that depends on earlier ones gets zeros in Q.
 * @param {Columns} columns @returns {{ q: Columns, r: Columns }}
 */
function orthogonal(columns) {
  /** @type {Columns} */
  const q = [];
  const r = columns.map((column) => {
    const left = column.slice();
    const row = new Float64Array(columns.length);
    for (let again = 0; again < 2; again++)
      q.forEach((column, k) => {
        const part = dot(column, left);
        row[k] += part;
        addTo(left, -part, column);
      });
    const size = Math.sqrt(dot(left, left));
    const isNew = size > 1e-12 * Math.sqrt(dot(column, column));
    row[q.length] = isNew ? size : 0;
    q.push(left.map((x) => (isNew ? x / size : 0)));
    return row;
  });
  return { q, r };
}

/**
 * One-sided Jacobi: turns the columns of m, and those of v alike, until they are orthogonal; m is U Σ then, v is V.
 * @param {Columns} m @param {Columns} v
 */
function turn(m, v) {
  for (let round = 0, turned = true; turned && round < ROUNDS; round++) {
    turned = false;
    for (let i = 0; i < m.length; i++)
      for (let k = i + 1; k < m.length; k++) {
        const [x, y, xy] = [dot(m[i], m[i]), dot(m[k], m[k]), dot(m[i], m[k])];
        if (Math.abs(xy) <= NOTHING * Math.sqrt(x * y)) continue;
        turned = true;
        const tau = (y - x) / (2 * xy);
        const t = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.hypot(1, tau));
        const c = 1 / Math.hypot(1, t);
        for (const columns of [m, v]) rotate(columns[i], columns[k], c, c * t);
      }
  }
}

/** @param {Float64Array} x @param {Float64Array} y @param {number} c @param {number} s */
function rotate(x, y, c, s) {
  for (let i = 0; i < x.length; i++) [x[i], y[i]] = [c * x[i] - s * y[i], s * x[i] + c * y[i]];
}

/** Σ kᵢ · columnᵢ @param {Columns} columns @param {Float64Array} k */
function combined(columns, k) {
  const sum = new Float64Array(columns[0].length);
  columns.forEach((column, i) => {
    if (k[i]) addTo(sum, k[i], column);
  });
  return sum;
}

/**
 * @param {Pair[]} pairs @param {number[]} weights @param {number} r
 * @returns {Pair}
 */
export function sumOfRank(pairs, weights, r) {
  const [ins, outs] = [pairs[0].a.length / r, pairs[0].b.length / r];
  if (pairs.length === 1) return { a: pairs[0].a, b: pairs[0].b.map((x) => weights[0] * x) };
  const ranks = Array.from({ length: r }, (_, k) => k);
  const up = pairs.flatMap(({ b }, i) =>
    ranks.map((k) => Float64Array.from({ length: outs }, (_, o) => weights[i] * b[o * r + k])),
  );
  const down = pairs.flatMap(({ a }) => rowsOf(a, r).map((row) => Float64Array.from(row)));
  const [{ q, r: upper }, { q: p, r: lower }] = [orthogonal(up), orthogonal(down)];
  // the columns of R Sᵀ: column k is Σⱼ S[k, j] · (column j of R)
  const core = lower.map((_, k) =>
    combined(
      upper,
      Float64Array.from(lower, (column) => column[k]),
    ),
  );
  const v = core.map((_, k) => Float64Array.from(core, (_, i) => Number(i === k)));
  turn(core, v);
  const sizes = core.map((column) => Math.sqrt(dot(column, column)));
  const largest = sizes.map((_, k) => k).sort((x, y) => sizes[y] - sizes[x]);
  const pair = { a: new Float32Array(r * ins), b: new Float32Array(outs * r) };
  largest.slice(0, r).forEach((from, k) => {
    const root = Math.sqrt(sizes[from]);
    if (root === 0) return;
    const left = combined(q, core[from]); // σ u
    combined(p, v[from]).forEach((x, i) => {
      pair.a[k * ins + i] = root * x;
    });
    left.forEach((x, o) => {
      pair.b[o * r + k] = x / root;
    });
  });
  return pair;
}

/**
 * Sums parameters without LoRA, which train whole: first + Σ wᵢ (valueᵢ − first).
 * @param {Float32Array} first @param {Float32Array[]} values @param {number[]} weights
 */
export const sumOfValues = (first, values, weights) =>
  first.map((x, i) => values.reduce((sum, value, k) => sum + weights[k] * (value[i] - x), x));
