/** From the steps of a program to dispatches of kernels: what each operator is made of. */

import { TrainletError } from '../base/errors.js';
import { MAPS } from './maps.js';

/**
 * A value as src/session/device.c tells it, with its place on the device put in by `operand`.
 * @typedef {{ type: number, place: number, at: number, dims: number[] }} Value
 * @typedef {{ op: string, name: string, inputs: (Value | null)[], outputs: (Value | null)[],
 *   attrs: Record<string, any> }} Step
 * @typedef {{ state?: boolean, at: number, scratch?: boolean }} Operand `at` counts bytes
 * @typedef {{ kernel: string, operands: Record<string, Operand>, numbers: Record<string, number>, groups: number[] }}
 *   Dispatch
 * @typedef {object} Tools
 * @property {(value: Value) => Operand} operand where it lies
 * @property {(value: Value) => bigint[]} ints the contents of a constant
 * @property {boolean} overwrites gradients, instead of adding to them
 */

export const TYPES = { float: 1, int32: 6, int64: 7, bool: 9 };
const ROWS_MAX = 32768; // a dispatch has at most 65,535 workgroups along a dimension
const ELEMENTS = 256; // a workgroup has

export const sizeOf = (/** @type {number[]} */ dims) => dims.reduce((a, b) => a * b, 1);
const groupsOf = (/** @type {number} */ n) => [Math.min(n, ROWS_MAX), Math.ceil(n / ROWS_MAX), 1];
export const overElements = (/** @type {number} */ n, size = ELEMENTS) => groupsOf(Math.max(1, Math.ceil(n / size)));
const stridesOf = (/** @type {number[]} */ dims) => dims.map((_, i) => sizeOf(dims.slice(i + 1)));

/** The work of one program. */
export class Lowering {
  /** @type {Dispatch[]} */
  dispatches = [];
  scratchBytes = 0;
  /** @type {Tools} */
  tools;

  /** @param {Tools} tools */
  constructor(tools) {
    this.tools = tools;
  }

  /** @param {string} kernel @param {Record<string, Value | Operand | null | undefined>} values
   * @param {Record<string, number>} numbers @param {number[]} groups */
  put(kernel, values, numbers, groups) {
    const operands = Object.fromEntries(
      Object.entries(values).map(([key, v]) => [key, !v ? { at: 0 } : 'dims' in v ? this.tools.operand(v) : v]),
    );
    this.dispatches.push({ kernel, operands, numbers, groups });
  }

  /** Memory of one step. @param {number} floats @returns {Operand} */
  scratch(floats) {
    this.scratchBytes = Math.max(this.scratchBytes, 4 * floats);
    return { at: 0, scratch: true };
  }

  /** @param {Step} step */
  add(step) {
    const { op, inputs, outputs } = step;
    const map = MAPS[op];
    if (map) return this.map(step, map(step));
    const write = OPERATORS[op];
    if (!write) throw refusal(step, `backend 'webgpu' has no ${op}`);
    write(this, step, /** @type {Value[]} */ (inputs), /** @type {Value[]} */ (outputs));
  }

  /**
   * An elementwise operator: `expression` of a, b, c with NumPy's broadcasting.
   * @param {Step} step
   * @param {{ expression: string, values?: (Value | null)[], numbers?: Record<string, number> }} map
   */
  map(step, { expression, values = step.inputs, numbers = {} }) {
    const y = /** @type {Value} */ (step.outputs[0]);
    const operands = /** @type {Value[]} */ (values.filter(Boolean));
    for (const v of [...operands, y])
      if (v.type !== TYPES.float && !(v.type === TYPES.bool && v !== y)) throw refusal(step, 'it is not of floats');
    const walk = merged(y.dims, operands);
    const modes = operands.map((v) => {
      const moves = walk.map((dim) => dim.strides[operands.indexOf(v)]);
      const mode = sizeOf(v.dims) === sizeOf(y.dims) ? 'w' : moves.every((s) => s === 0) ? 's' : 'b';
      return mode + (v.type === TYPES.bool ? 'i' : 'f');
    });
    const isBroadcast = modes.some((mode) => mode[0] === 'b');
    if (isBroadcast && walk.length > 6) throw refusal(step, 'it broadcasts along too many dimensions');
    const strides = isBroadcast
      ? walk.flatMap(({ size, strides: all }, k) => [[`d${k}`, size], ...all.map((s, i) => [`s${k}_${i}`, s])])
      : [];
    const count = sizeOf(y.dims);
    const key = `map ${modes.join()} ${isBroadcast ? walk.length : 0} ${Object.keys(numbers).join()} ${expression}`;
    const named = Object.fromEntries(operands.map((v, i) => ['abcd'[i], v]));
    this.put(key, { ...named, y }, { count, ...numbers, ...Object.fromEntries(strides) }, overElements(count));
  }

  /**
   * Copies words: `dims` with steps in both, in elements of the value's type.
   * @param {Step} step
   * @param {{ value: Value, at?: number }} from
   * @param {{ value: Value, at?: number }} to
   * @param {{ size: number, from: number, to: number }[]} dims from the outermost
   */
  move(step, from, to, dims) {
    const words = { [TYPES.float]: 1, [TYPES.int32]: 1, [TYPES.int64]: 2 }[from.value.type];
    if (!words) throw refusal(step, 'it moves elements that are not of 4 or 8 bytes');
    let all = dims.filter(({ size }) => size !== 1).reverse();
    if (words === 2)
      all = [{ size: 2, from: 1, to: 1 }, ...all.map((d) => ({ size: d.size, from: 2 * d.from, to: 2 * d.to }))];
    const few = all.slice(0, 0);
    for (const d of all) {
      const last = few.at(-1);
      if (last && d.from === last.from * last.size && d.to === last.to * last.size) last.size *= d.size;
      else few.push({ ...d });
    }
    if (few.length > 6) throw refusal(step, 'it moves elements along too many dimensions');
    const count = sizeOf(few.map(({ size }) => size));
    const entries = Array.from({ length: 6 }, (_, k) => few[k] ?? { size: 1, from: 0, to: 0 }).flatMap((d, k) => [
      [`d${k}`, d.size],
      [`x${k}`, d.from],
      [`y${k}`, d.to],
    ]);
    const at = (/** @type {{ value: Value, at?: number }} */ { value, at: elements = 0 }) => {
      const operand = this.tools.operand(value);
      return { ...operand, at: operand.at + 4 * words * elements };
    };
    this.put('move', { x: at(from), y: at(to) }, { count, ...Object.fromEntries(entries) }, overElements(count));
  }

  /**
   * y = clamp(alpha · A · B + beta · C), for each of a batch.
   * @param {{ m: number, n: number, k: number, a: Matrix, b: Matrix, y: Value, c?: Value | null, cRow?: number,
   *   cColumn?: number, alpha?: number, beta?: number, low?: number, high?: number }} product
   * @param {{ size: number, a: number, b: number }[]} batch from the outermost, at most two
   * @typedef {{ value: Value, row: number, column: number, at?: number }} Matrix steps from row to row and column to
   *   column, in elements
   */
  product(product, batch = []) {
    const { m, n, k, a, b, y, c, alpha = 1, beta = 1, low = -Infinity, high = Infinity } = product;
    const [outer, inner] = [{ size: 1, a: 0, b: 0 }, { size: 1, a: 0, b: 0 }, ...batch].slice(-2);
    const count = outer.size * inner.size;
    const numbers = { m, n, k, a_row: a.row, a_depth: a.column, b_column: b.column, b_depth: b.row, b1: inner.size };
    const steps = { a_outer: outer.a, a_inner: inner.a, b_outer: outer.b, b_inner: inner.b };
    const after = { c_is: Number(Boolean(c)), c_row: product.cRow ?? 0, c_column: product.cColumn ?? 0 };
    const last = { ...after, f_alpha: alpha, f_beta: beta, f_low: low, f_high: high };
    const turned = Number(a.column !== 1 && a.row === 1) + 2 * Number(b.column !== 1 && b.row === 1);
    const tiles = [Math.ceil(n / 64), Math.ceil(m / 64)];
    const slices = count === 1 ? slicesOf(tiles[0] * tiles[1], k) : 1;
    if (slices === 1) {
      this.put(`matmul${turned}`, { a: a.value, b: b.value, c, y }, { ...numbers, ...steps, ...last }, [
        ...tiles,
        count,
      ]);
      return;
    }
    const parts = this.scratch(slices * m * n);
    const chunk = Math.ceil(k / slices / 16) * 16;
    const used = Math.ceil(k / chunk);
    this.put(`slices${turned}`, { a: a.value, b: b.value, y: parts }, { ...numbers, ...steps, chunk }, [
      ...tiles,
      used,
    ]);
    this.put('join', { x: parts, c, y }, { count: m * n, n, slices: used, ...last }, overElements(m * n));
  }
}

/** Into how many slices the depth of a product is cut, so that there is work for a whole GPU. */
function slicesOf(/** @type {number} */ tiles, /** @type {number} */ depth) {
  const ENOUGH = 128;
  const DEEP = 128;
  return tiles >= ENOUGH ? 1 : Math.max(1, Math.min(Math.floor(depth / DEEP), Math.ceil(ENOUGH / tiles), 32));
}

/** @param {{ op: string, name: string }} step @param {string} why */
export const refusal = (step, why) =>
  new TrainletError('unsupported-op', `${step.op} '${step.name}': ${why}: make the session with backend 'wasm'`, {
    node: step.name,
  });

/**
 * y's dims from the innermost, neighbours merged where all operands go on.
 * @param {number[]} dims @param {Value[]} operands
 */
function merged(dims, operands) {
  /** @type {{ size: number, strides: number[] }[]} */
  const walk = [];
  const steps = operands.map(() => 1);
  for (let i = 1; i <= dims.length; i++) {
    const size = dims[dims.length - i];
    if (size === 1) continue;
    const strides = operands.map((v, k) => {
      const own = v.dims[v.dims.length - i] ?? 1;
      const stride = own === 1 ? 0 : steps[k];
      steps[k] *= own;
      return stride;
    });
    const last = walk.at(-1);
    if (last && strides.every((s, k) => s === last.strides[k] * last.size)) last.size *= size;
    else walk.push({ size, strides });
  }
  return walk;
}

const axisOf = (/** @type {number} */ axis, /** @type {number} */ rank) => (axis < 0 ? axis + rank : axis);
/** @param {number[]} dims @param {number} axis */
const around = (dims, axis) => ({
  outer: sizeOf(dims.slice(0, axis)),
  size: dims[axis],
  inner: sizeOf(dims.slice(axis + 1)),
});
/** The step from one id to the next, in words. */
const idStep = (/** @type {Value} */ v) => (v.type === TYPES.int64 ? 2 : 1);

/** @param {Lowering} l @param {Step} step @param {Value[]} inputs @param {Value[]} outputs */
function gemm(l, { attrs }, [a, b, c], [y]) {
  const { transA = 0, transB = 0, alpha = 1, beta = 1 } = attrs;
  const [m, n] = y.dims;
  const matrix = (/** @type {Value} */ value, /** @type {number} */ turned) => {
    const [, width] = value.dims;
    return turned ? { value, row: 1, column: width } : { value, row: width, column: 1 };
  };
  const columns = c?.dims.at(-1) ?? 1;
  const rows = c?.dims.length === 2 ? c.dims[0] : 1;
  const bounds =
    attrs.activation === 'Relu'
      ? { low: 0 }
      : attrs.activation === 'Clip'
        ? { low: attrs.activation_alpha, high: attrs.activation_beta }
        : {};
  l.product({
    ...{ m, n, k: a.dims[transA ? 0 : 1], a: matrix(a, transA), b: matrix(b, transB), y },
    ...{ c: beta === 0 ? null : c, cRow: rows === 1 ? 0 : columns, cColumn: Number(columns !== 1), alpha, beta },
    ...bounds,
  });
}

/** Matrices in the last two dims, or with the rows first; the dims before them broadcast. @type {Operator} */
function matMul(l, step, [a, b], [y]) {
  const { transA = 0, transB = 0, transBatchA = 0, transBatchB = 0, alpha = 1 } = step.attrs;
  const [wide, high] = [
    layoutOf(a, transA, transBatchA, [1, a.dims[0]]),
    layoutOf(b, transB, transBatchB, [b.dims[0], 1]),
  ];
  const rank = Math.max(wide.batch.length, high.batch.length);
  const at = (/** @type {typeof wide} */ x, /** @type {number} */ i) =>
    x.batch[i - (rank - x.batch.length)] ?? { size: 1, step: 0 };
  /** @type {{ size: number, a: number, b: number }[]} */
  let batch = [];
  for (let i = 0; i < rank; i++) {
    const [p, q] = [at(wide, i), at(high, i)];
    const next = { size: Math.max(p.size, q.size), a: p.size === 1 ? 0 : p.step, b: q.size === 1 ? 0 : q.step };
    const last = batch.at(-1);
    if (next.size === 1) continue;
    if (last && last.a === next.a * next.size && last.b === next.b * next.size)
      batch.splice(-1, 1, { ...next, size: last.size * next.size });
    else batch.push(next);
  }
  const [k, n] = [wide.columns.size, high.columns.size];
  let m = wide.rows.size;
  if (batch.length === 1 && batch[0].b === 0 && (m === 1 || batch[0].a === wide.rows.step * m)) {
    if (m === 1) wide.rows.step = batch[0].a;
    m *= batch[0].size;
    batch = [];
  }
  if (batch.length > 2) throw refusal(step, 'its batch has too many dimensions');
  const [p, q] = [wide, high].map(({ rows, columns }) => ({ row: rows.step, column: columns.step }));
  l.product({ m, n, k, a: { value: a, ...p }, b: { value: b, ...q }, y, alpha }, batch);
}

/** @param {Value} v @param {number} turned @param {number} batchLast @param {number[]} vector its dims if it has one */
function layoutOf({ dims }, turned, batchLast, vector) {
  const shape = dims.length === 1 ? vector : dims;
  const strides = stridesOf(shape);
  let all = shape.map((size, i) => ({ size, step: strides[i] }));
  if (batchLast && all.length > 2) all = [...all.slice(1, -1), all[0], all[all.length - 1]];
  const [first, second] = all.slice(-2);
  const isTurned = turned && dims.length > 1;
  return { batch: all.slice(0, -2), rows: isTurned ? second : first, columns: isTurned ? first : second };
}

/** @param {Step} step @param {Value} x */
function rowsAlong({ attrs }, x, axis = attrs.axis ?? -1) {
  const { outer, size, inner } = around(x.dims, axisOf(axis, x.dims.length));
  return { rows: outer * inner, n: size, inner };
}

/** @param {Lowering} l @param {string} kernel @returns {(step: Step, values: Record<string, Value>) => void} */
const alongAxis = (l, kernel) => (step, values) => {
  const numbers = rowsAlong(step, Object.values(values)[0]);
  l.put(kernel, values, numbers, groupsOf(numbers.rows));
};

/** Σ of rows in parts, then of the parts. @param {Lowering} l @param {{ rows: number, n: number }} size */
function partsOf(l, { rows, n }, sums = 1) {
  const parts = Math.max(1, Math.min(64, Math.ceil(rows / 32)));
  const chunk = Math.ceil(rows / parts);
  const used = Math.ceil(rows / chunk);
  return { chunk, parts: used, groups: [Math.ceil(n / 64), used, 1], at: l.scratch(sums * used * n) };
}

/** @param {Lowering} l @param {Operand} from @param {number} rows @param {number} n @param {Value} y */
function addParts(l, from, rows, n, y, factor = 1) {
  const k = { k0: n, k1: 1, k2: 1, ks0: 1, ks1: 0, ks2: 0, ks3: 0 };
  const r = { r0: rows, r1: 1, r2: 1, r3: 1, rs0: n, rs1: 0, rs2: 0, rs3: 0 };
  l.put('reduce', { x: from, y }, { rows: n, f_factor: factor, kind: 0, k3: 1, ...k, ...r }, groupsOf(n));
}

/** @param {number} kind 0 a sum, 1 the greatest, 2 a sum of squares @param {boolean} [isMean] @returns {Operator} */
const reduction =
  (kind, isMean = false) =>
  (l, step, [x, axes], [y]) => {
    const rank = x.dims.length;
    const given = axes ? l.tools.ints(axes).map(Number) : (step.attrs.axes ?? []);
    const none = given.length === 0 && step.attrs.noop_with_empty_axes;
    const list =
      given.length || none ? given.map((/** @type {number} */ a) => axisOf(a, rank)) : x.dims.map((_, i) => i);
    const strides = stridesOf(x.dims);
    const pick = (/** @type {boolean} */ reduced) => {
      /** @type {{ size: number, step: number }[]} */
      const dims = [];
      for (let i = rank - 1; i >= 0; i--) {
        if (list.includes(i) !== reduced || x.dims[i] === 1) continue;
        const last = dims.at(-1);
        if (last && strides[i] === last.step * last.size) last.size *= x.dims[i];
        else dims.push({ size: x.dims[i], step: strides[i] });
      }
      return dims;
    };
    const [kept, gone] = [pick(false), pick(true)];
    if (kept.length > 4 || gone.length > 4) throw refusal(step, 'it reduces along too many dimensions');
    const count = sizeOf(gone.map(({ size }) => size));
    const factor = isMean ? 1 / count : 1;
    const rows = sizeOf(y.dims);
    const isColumns = kind === 0 && gone.length === 1 && kept.length === 1 && kept[0].step === 1 && count >= 64;
    if (isColumns && gone[0].step === rows) {
      const { at, groups, ...numbers } = partsOf(l, { rows: count, n: rows });
      l.put('columns', { x, y: at }, { rows: count, n: rows, ...numbers, normal: 0, simple: 0 }, groups);
      addParts(l, at, numbers.parts, rows, y, factor);
      return;
    }
    const named = (/** @type {string} */ key, /** @type {{ size: number, step: number }[]} */ dims) =>
      [0, 1, 2, 3].flatMap((i) => [
        [`${key}${i}`, dims[i]?.size ?? 1],
        [`${key}s${i}`, dims[i]?.step ?? 0],
      ]);
    const numbers = Object.fromEntries([...named('k', kept), ...named('r', gone)]);
    l.put('reduce', { x, y }, { rows, f_factor: factor, kind, ...numbers }, groupsOf(rows));
  };

/** @param {Lowering} l @param {Step} step @param {Value[]} inputs @param {Value[]} outputs */
function layerNorm(l, step, [x, scale, shift], [y, means, stds], simple = 0) {
  const axis = axisOf(step.attrs.axis ?? -1, x.dims.length);
  const [rows, n] = [sizeOf(x.dims.slice(0, axis)), sizeOf(x.dims.slice(axis))];
  const [mean, std] = simple ? [undefined, means] : [means, stds];
  const has = { shifts: Number(Boolean(shift)), keeps_mean: Number(Boolean(mean)), keeps_std: Number(Boolean(std)) };
  const numbers = { rows, n, inner: 1, simple, ...has, f_epsilon: step.attrs.epsilon ?? 1e-5 };
  l.put('layer_norm', { x, scale, shift, y, means: mean, stds: std }, numbers, groupsOf(rows));
}

/** @param {Lowering} l @param {Step} step @param {Value[]} inputs @param {Value[]} outputs */
function layerNormGrad(l, step, [dy, x, scale, ...statistics], [dx, dscale, dshift], simple = 0) {
  const axis = axisOf(step.attrs.axis ?? -1, x.dims.length);
  const [rows, n] = [sizeOf(x.dims.slice(0, axis)), sizeOf(x.dims.slice(axis))];
  const [means, stds] = simple ? [undefined, statistics[0]] : statistics;
  if (dscale || dshift) {
    // before dx, which may lie where dy or x does
    const { at, groups, ...numbers } = partsOf(l, { rows, n }, 2);
    l.put('columns', { x, dy, means, stds, y: at }, { rows, n, ...numbers, normal: 1, simple }, groups);
    if (dshift) addParts(l, at, numbers.parts, n, dshift);
    if (dscale) addParts(l, { ...at, at: 4 * numbers.parts * n }, numbers.parts, n, dscale);
  }
  if (dx) l.put('layer_norm_grad', { dy, x, scale, means, stds, dx }, { rows, n, inner: 1, simple }, groupsOf(rows));
}

/**
 * The numbers of a loss over labels.
 * @param {Lowering} l @param {Step} step
 * @param {Value} labels @param {Value | undefined} weights @param {Value | undefined} ignored
 */
function labelsOf(l, step, labels, weights, ignored) {
  const index = ignored ? Number(l.tools.ints(ignored)[0]) : step.attrs.ignore_index;
  return {
    weighs: Number(Boolean(weights)),
    step: idStep(labels),
    ignores: Number(index !== undefined),
    ignored: index ?? 0,
  };
}

/** @type {Operator} */
function crossEntropy(l, step, [x, labels, weights, ignored], [loss, y]) {
  const numbers = rowsAlong(step, x, 1);
  const isEach = step.attrs.reduction === 'none';
  const about = {
    ...labelsOf(l, step, labels, weights, ignored),
    has: Number(Boolean(loss)),
    keeps: Number(Boolean(y)),
  };
  const losses = isEach && loss ? l.scratch(0) : l.scratch(2 * numbers.rows);
  if (isEach) throw refusal(step, "backend 'webgpu' has no loss of each example");
  l.put('cross_entropy', { x, labels, weights, y, losses }, { ...numbers, ...about }, groupsOf(numbers.rows));
  const mean = Number((step.attrs.reduction ?? 'mean') === 'mean');
  if (loss) l.put('loss', { losses, y: loss }, { rows: numbers.rows, mean }, [1, 1, 1]);
}

/** @type {Operator} */
function crossEntropyGrad(l, step, [dy, x, labels, weights, ignored], [dx]) {
  const { rows, n, inner } = rowsAlong(step, x, 1);
  const about = labelsOf(l, step, labels, weights, ignored);
  const { reduction: how = 'mean' } = step.attrs;
  const divisor = l.scratch(1);
  if (how === 'mean') l.put('label_weights', { labels, weights, y: divisor }, { rows, ...about }, [1, 1, 1]);
  const count = sizeOf(x.dims);
  const numbers = { count, n, inner, each: Number(how === 'none'), mean: Number(how === 'mean'), ...about };
  l.put('cross_entropy_grad', { dy, x, labels, weights, divisor, dx }, numbers, overElements(count));
}

/** @type {Operator} */
function copy(l, step, [x], [y]) {
  l.move(step, { value: x }, { value: y }, [{ size: sizeOf(y.dims), from: 1, to: 1 }]);
}

/** @type {Operator} */
function transpose(l, step, [x], [y]) {
  const perm = step.attrs.perm ?? x.dims.map((_, i) => x.dims.length - 1 - i);
  const [from, to] = [stridesOf(x.dims), stridesOf(y.dims)];
  const dims = y.dims.map((size, i) => ({ size, from: from[axisOf(perm[i], perm.length)], to: to[i] }));
  l.move(step, { value: x }, { value: y }, dims);
}

/** @type {Operator} */
function expand(l, step, [x], [y]) {
  const [from, to] = [stridesOf(x.dims), stridesOf(y.dims)];
  const ahead = y.dims.length - x.dims.length;
  const dims = y.dims.map((size, i) => ({
    size,
    from: (x.dims[i - ahead] ?? 1) === 1 ? 0 : from[i - ahead],
    to: to[i],
  }));
  l.move(step, { value: x }, { value: y }, dims);
}

/** Parts of `whole` side by side along an axis. @param {boolean} joins @returns {Operator} */
const sideBySide = (joins) => (l, step, inputs, outputs) => {
  const [whole, parts] = joins ? [outputs[0], inputs] : [inputs[0], outputs];
  const axis = axisOf(step.attrs.axis ?? 0, whole.dims.length);
  const { outer, size, inner } = around(whole.dims, axis);
  let at = 0;
  for (const part of parts) {
    // an output that nobody wants has no size here, and no operator of those that train leaves one out
    if (!part) throw refusal(step, 'a part of it is missing');
    const width = part.dims[axis] * inner;
    const [big, small] = [{ value: whole, at }, { value: part }];
    const [across, along] = [
      { whole: size * inner, part: width },
      { whole: 1, part: 1 },
    ];
    const dims = [
      { size: outer, ...across },
      { size: width, ...along },
    ].map((d) => (joins ? { size: d.size, from: d.part, to: d.whole } : { size: d.size, from: d.whole, to: d.part }));
    if (joins) l.move(step, small, big, dims);
    else l.move(step, big, small, dims);
    at += width;
  }
};

/** @type {Operator} */
function gather(l, step, [x, ids], [y]) {
  if (x.type !== TYPES.float) throw refusal(step, 'it is not of floats');
  const { size: dim, inner } = around(x.dims, axisOf(step.attrs.axis ?? 0, x.dims.length));
  const count = sizeOf(y.dims);
  const numbers = { count, inner, ids_count: sizeOf(ids.dims), dim, step: idStep(ids) };
  l.put('gather', { x, ids, y }, numbers, overElements(count));
}

/** @type {Operator} */
function gatherGrad(l, step, [, ids, dy], [dx]) {
  const { size: dim, inner } = around(dx.dims, axisOf(step.attrs.axis ?? 0, dx.dims.length));
  const count = sizeOf(dx.dims);
  const numbers = { count, inner, ids_count: sizeOf(ids.dims), dim, step: idStep(ids) };
  l.put('gather_grad', { ids, dy, dx }, numbers, overElements(count, 64));
}

/** buffer = gradient, or buffer + gradient; its output says that it is done, which nobody reads. @type {Operator} */
function accumulate(l, step, [buffer, gradient]) {
  const values = l.tools.overwrites ? [gradient] : [buffer, gradient];
  l.map({ ...step, outputs: [buffer] }, { expression: l.tools.overwrites ? 'a' : 'a + b', values });
}

/** @typedef {(l: Lowering, step: Step, inputs: Value[], outputs: Value[]) => void} Operator */
/** @type {Record<string, Operator>} */
const OPERATORS = {
  Gemm: gemm,
  FusedGemm: gemm,
  MatMul: matMul,
  FusedMatMul: matMul,
  Softmax: (l, step, [x], [y]) => alongAxis(l, 'softmax')(step, { x, y }),
  SoftmaxGrad_13: (l, step, [dy, y], [dx]) => alongAxis(l, 'softmax_grad')(step, { dy, y, dx }),
  LogSoftmaxGrad_13: (l, step, [dy, y], [dx]) => alongAxis(l, 'log_softmax_grad')(step, { dy, y, dx }),
  SoftmaxCrossEntropyLoss: crossEntropy,
  SoftmaxCrossEntropyLossInternal: crossEntropy,
  SoftmaxCrossEntropyLossGrad: crossEntropyGrad,
  SoftmaxCrossEntropyLossInternalGrad: crossEntropyGrad,
  LayerNormalization: layerNorm,
  SimplifiedLayerNormalization: (l, step, inputs, outputs) => layerNorm(l, step, inputs, outputs, 1),
  LayerNormalizationGrad: layerNormGrad,
  SimplifiedLayerNormalizationGrad: (l, step, inputs, [dx, dscale]) =>
    layerNormGrad(l, step, inputs, /** @type {any} */ ([dx, dscale]), 1),
  ReduceSum: reduction(0),
  ReduceSumTraining: reduction(0),
  ReduceMean: reduction(0, true),
  ReduceMax: reduction(1),
  ReduceSumSquare: reduction(2),
  Transpose: transpose,
  Reshape: copy,
  Flatten: copy,
  Squeeze: copy,
  Unsqueeze: copy,
  Identity: copy,
  Expand: expand,
  Split: sideBySide(false),
  Concat: sideBySide(true),
  Gather: gather,
  GatherGrad: gatherGrad,
  InPlaceAccumulatorV2: accumulate,
};
