/**
 * The programs of the GPU in WGSL. In their text, `$x[i]` is element i of operand x, whatever buffer it lies in, and
 * `$n` a number of the dispatch: js/gpu/device.js puts in what they stand for.
 *
 * @typedef {object} Kernel
 * @property {string[]} operands
 * @property {string[]} numbers whole ones; one whose name begins with `f_` is a float
 * @property {string} code functions and declarations, then `main`
 * @property {number} [size] threads of a workgroup, 256 if it does not say
 */

/** Σ and maximum over a workgroup; all threads get the result. */
const TOGETHER = /* wgsl */ `
var<workgroup> lanes: array<f32, SIZE>;
fn sum_all(x: f32, lane: u32) -> f32 {
  lanes[lane] = x;
  workgroupBarrier();
  for (var s = SIZE / 2u; s > 0u; s = s / 2u) {
    if (lane < s) { lanes[lane] = lanes[lane] + lanes[lane + s]; }
    workgroupBarrier();
  }
  let sum = lanes[0];
  workgroupBarrier();
  return sum;
}
fn max_all(x: f32, lane: u32) -> f32 {
  lanes[lane] = x;
  workgroupBarrier();
  for (var s = SIZE / 2u; s > 0u; s = s / 2u) {
    if (lane < s) { lanes[lane] = max(lanes[lane], lanes[lane + s]); }
    workgroupBarrier();
  }
  let most = lanes[0];
  workgroupBarrier();
  return most;
}`;

/** The row of a workgroup: elements `base + k · $inner`, k < $n. */
const ROW = /* wgsl */ `
  let r = group.x + group.y * groups.x;
  let base = r / $inner * $n * $inner + r % $inner;
  let whole = r < $rows;`;

/** Functions that the expressions of elementwise operators use. */
export const FUNCTIONS = /* wgsl */ `
fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }
fn tanh_of(x: f32) -> f32 { return tanh(clamp(x, -15.0, 15.0)); }
fn normal(x: f32) -> f32 {
  let t = 1.0 / (abs(x) * 0.3 + 1.0);
  var p = 0.0360367708 * t - 0.158715427;
  p = p * t + 0.208967477;
  p = p * t - 0.0560983196;
  p = p * t + 0.129844591;
  p = p * t + 0.0995227396;
  p = p * t + 0.120816939;
  p = p * t + 0.119625166;
  let tail = exp(x * x * -0.5) * t * p;
  return select(1.0 - tail, tail, x < 0.0);
}
fn gelu_slope(x: f32) -> f32 { return normal(x) + x * exp(x * x * -0.5) * 0.398942280; }
fn fast_gelu(x: f32) -> f32 { return x * sigmoid((x * x * 0.0713548163 + 1.59576912) * x); }
fn fast_gelu_slope(x: f32) -> f32 {
  let t = tanh_of((x * x * 0.0356774081 + 0.797884561) * x);
  return ((t + 1.0) + x * (1.0 - t * t) * (x * x * 0.107032224 + 0.797884561)) * 0.5;
}
fn softplus(x: f32) -> f32 { return max(x, 0.0) + log(1.0 + exp(-abs(x))); }`;

/** Index of a class, -1 where the label is ignored: the low word of an int64, whose step is 2. */
const LABEL = /* wgsl */ `
fn label_at(place: u32) -> i32 {
  let k = bitcast<i32>($labels[place * $step]);
  return select(k, -1, $ignores == 1u && k == bitcast<i32>($ignored));
}`;

/** A product: tiles of 64 × 64, of which a thread has 4 × 4 numbers, each 16 rows and columns from the next. */
function matmul(/** @type {boolean} */ turnedA, /** @type {boolean} */ turnedB, /** @type {boolean} */ isSlice) {
  const load = (/** @type {string} */ x, /** @type {boolean} */ alongDepth) => /* wgsl */ `
      let ${x}_i = ${alongDepth ? 'e / 16u' : 'e % 64u'};
      let ${x}_k = ${alongDepth ? 'e % 16u' : 'e / 64u'};`;
  const store = isSlice
    ? '$y[(group.z * $m + row) * $n + column] = sum[i * 4u + j];'
    : `var x = sum[i * 4u + j] * $f_alpha;
          if ($c_is == 1u) { x = x + $f_beta * $c[row * $c_row + column * $c_column]; }
          $y[(z * $m + row) * $n + column] = clamp(x, $f_low, $f_high);`;
  return /* wgsl */ `
var<workgroup> tile_a: array<f32, 1088>;
var<workgroup> tile_b: array<f32, 1088>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let tx = lane % 16u;
  let ty = lane / 16u;
  let row0 = group.y * 64u;
  let column0 = group.x * 64u;
  ${isSlice ? 'let z = 0u;' : 'let z = group.z;'}
  let at_a = z / $b1 * $a_outer + z % $b1 * $a_inner;
  let at_b = z / $b1 * $b_outer + z % $b1 * $b_inner;
  var sum: array<f32, 16>;
  ${isSlice ? 'let first = group.z * $chunk; let last = min(first + $chunk, $k);' : 'let first = 0u; let last = $k;'}
  for (var k0 = first; k0 < last; k0 = k0 + 16u) {
    for (var e = lane; e < 1024u; e = e + 256u) {
      ${load('a', !turnedA)}
      var v = 0.0;
      if (row0 + a_i < $m && k0 + a_k < last) { v = $a[at_a + (row0 + a_i) * $a_row + (k0 + a_k) * $a_depth]; }
      tile_a[a_k * 68u + a_i] = v;
      ${load('b', turnedB)}
      var w = 0.0;
      if (column0 + b_i < $n && k0 + b_k < last) { w = $b[at_b + (column0 + b_i) * $b_column + (k0 + b_k) * $b_depth]; }
      tile_b[b_k * 68u + b_i] = w;
    }
    workgroupBarrier();
    for (var k = 0u; k < 16u; k = k + 1u) {
      let at = k * 68u + ty;
      let bt = k * 68u + tx;
      let a0 = tile_a[at]; let a1 = tile_a[at + 16u]; let a2 = tile_a[at + 32u]; let a3 = tile_a[at + 48u];
      let b = vec4<f32>(tile_b[bt], tile_b[bt + 16u], tile_b[bt + 32u], tile_b[bt + 48u]);
      s0 = fma(vec4<f32>(a0), b, s0);
      s1 = fma(vec4<f32>(a1), b, s1);
      s2 = fma(vec4<f32>(a2), b, s2);
      s3 = fma(vec4<f32>(a3), b, s3);
    }
    workgroupBarrier();
  }
  sum = array<f32, 16>(s0.x, s0.y, s0.z, s0.w, s1.x, s1.y, s1.z, s1.w, s2.x, s2.y, s2.z, s2.w, s3.x, s3.y, s3.z, s3.w);
  for (var i = 0u; i < 4u; i = i + 1u) {
    for (var j = 0u; j < 4u; j = j + 1u) {
      let row = row0 + ty + i * 16u;
      let column = column0 + tx + j * 16u;
      if (row < $m && column < $n) {
          ${store}
      }
    }
  }
}`.replace(
    'var sum: array<f32, 16>;',
    'var sum: array<f32, 16>; var s0 = vec4<f32>(); var s1 = vec4<f32>(); var s2 = vec4<f32>(); var s3 = vec4<f32>();',
  );
}
const PRODUCT = ['m', 'n', 'k', 'a_row', 'a_depth', 'b_column', 'b_depth', 'b1', 'a_outer', 'a_inner', 'b_outer'];
const AFTER = ['c_is', 'c_row', 'c_column', 'f_alpha', 'f_beta', 'f_low', 'f_high'];

/** A kernel with one workgroup a row. @param {string} body @returns {string} */
const byRow = (body) => /* wgsl */ `${TOGETHER}
@compute @workgroup_size(SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {${body}
}`;

/** A kernel with one thread an element i < $count. @param {string} body @returns {string} */
export const byElement = (body) => /* wgsl */ `
@compute @workgroup_size(SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = (group.x + group.y * groups.x) * SIZE + lane;
  if (i >= $count) { return; }${body}
}`;

/** p, g, m and v of an element, and the numbers of src/train/optimizer.h: their updates, as src/train/optimizer.c. */
const MOMENTS = 'm = $f_beta1 * m + $f_rest1 * g; v = $f_beta2 * v + $f_rest2 * g * g;';
const STEP = 'p = p - $f_rate * m / (sqrt(v) * $f_spread + $f_eps);';
const RAW_STEP = 'p = p - $f_rate * m / (sqrt(v) + $f_eps);';
const COUPLED = 'g = g + $f_decay * p;';
const SQUARES = `${COUPLED} m = $f_alpha * m + $f_rest_alpha * g * g;`;
const UPDATES = {
  sgd: 'p = p - $f_lr * (g + $f_decay * p);',
  'sgd-momentum': `${COUPLED} m = $f_momentum * m + $f_fresh * g;
    p = p - $f_lr * select(m, g + $f_momentum * m, $f_nesterov != 0.0);`,
  adam: COUPLED + MOMENTS + STEP,
  adamw: `p = p - $f_decay * p; ${MOMENTS}${STEP}`,
  'adam-hf': COUPLED + MOMENTS + RAW_STEP,
  'adamw-hf': `${MOMENTS}${RAW_STEP} p = p - $f_decay * p;`,
  rmsprop: `${SQUARES} p = p - $f_lr * g / (sqrt(m) + $f_eps);`,
  'rmsprop-momentum': `${SQUARES} v = $f_momentum * v + g / (sqrt(m) + $f_eps); p = p - $f_lr * v;`,
  adagrad: `${COUPLED} m = m + g * g; p = p - $f_rate * g / (sqrt(m) + $f_eps);`,
};
export const NUMBERS = (
  'f_lr f_scale f_decay f_beta1 f_rest1 f_beta2 f_rest2 f_eps f_rate f_spread f_momentum f_fresh f_nesterov f_alpha ' +
  'f_rest_alpha'
).split(' ');
const updateOf = (/** @type {string} */ rule) => ({
  operands: ['status', 'p', 'g', 'm', 'v'],
  numbers: ['count', ...NUMBERS],
  code: byElement(`
  if ($status[2u] == 0.0) { return; }
  var p = $p[i]; var g = $g[i] * $status[1u]; var m = $m[i]; var v = $v[i];
  ${rule}
  $p[i] = p; ${/\bm = /.test(rule) ? '$m[i] = m;' : ''} ${/\bv = /.test(rule) ? '$v[i] = v;' : ''}`),
});

/** @type {Record<string, Kernel>} */
export const KERNELS = {
  ...Object.fromEntries(
    [0, 1, 2, 3].flatMap((turned) => [
      [
        `matmul${turned}`,
        {
          operands: ['a', 'b', 'c', 'y'],
          numbers: [...PRODUCT, 'b_inner', ...AFTER],
          code: matmul(!!(turned & 1), turned > 1, false),
        },
      ],
      [
        `slices${turned}`,
        {
          operands: ['a', 'b', 'y'],
          numbers: [...PRODUCT, 'b_inner', 'chunk'],
          code: matmul(!!(turned & 1), turned > 1, true),
        },
      ],
    ]),
  ),
  /** The slices of a product added up, and what comes after it. */
  join: {
    operands: ['x', 'c', 'y'],
    numbers: ['count', 'n', 'slices', ...AFTER],
    code: byElement(`
  var x = 0.0;
  for (var s = 0u; s < $slices; s = s + 1u) { x = x + $x[s * $count + i]; }
  x = x * $f_alpha;
  if ($c_is == 1u) { x = x + $f_beta * $c[i / $n * $c_row + i % $n * $c_column]; }
  $y[i] = clamp(x, $f_low, $f_high);`),
  },
  softmax: {
    operands: ['x', 'y'],
    numbers: ['rows', 'n', 'inner'],
    code: byRow(`${ROW}
  var most = -3.4e38;
  for (var k = lane; whole && k < $n; k = k + SIZE) { most = max(most, $x[base + k * $inner]); }
  most = max_all(most, lane);
  var sum = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) { sum = sum + exp($x[base + k * $inner] - most); }
  sum = sum_all(sum, lane);
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    $y[base + k * $inner] = exp($x[base + k * $inner] - most) / sum;
  }`),
  },
  softmax_grad: {
    operands: ['dy', 'y', 'dx'],
    numbers: ['rows', 'n', 'inner'],
    code: byRow(`${ROW}
  var sum = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) { sum = sum + $dy[base + k * $inner] * $y[base + k * $inner]; }
  sum = sum_all(sum, lane);
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    let at = base + k * $inner;
    $dx[at] = $y[at] * ($dy[at] - sum);
  }`),
  },
  log_softmax_grad: {
    operands: ['dy', 'y', 'dx'],
    numbers: ['rows', 'n', 'inner'],
    code: byRow(`${ROW}
  var sum = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) { sum = sum + $dy[base + k * $inner]; }
  sum = sum_all(sum, lane);
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    let at = base + k * $inner;
    $dx[at] = $dy[at] - exp($y[at]) * sum;
  }`),
  },
  /** log softmax; where $has is 1, also the loss and the weight of each place. */
  cross_entropy: {
    operands: ['x', 'labels', 'weights', 'y', 'losses'],
    numbers: ['rows', 'n', 'inner', 'has', 'weighs', 'step', 'ignores', 'ignored', 'keeps'],
    code: LABEL.concat(
      byRow(`${ROW}
  var most = -3.4e38;
  for (var k = lane; whole && k < $n; k = k + SIZE) { most = max(most, $x[base + k * $inner]); }
  most = max_all(most, lane);
  var sum = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) { sum = sum + exp($x[base + k * $inner] - most); }
  sum = log(sum_all(sum, lane));
  if (whole && lane == 0u && $has == 1u) {
    let k = label_at(r);
    var w = 0.0;
    var loss = 0.0;
    if (k >= 0) {
      w = 1.0;
      if ($weighs == 1u) { w = $weights[u32(k)]; }
      loss = w * (sum - ($x[base + u32(k) * $inner] - most));
    }
    $losses[r] = loss;
    $losses[$rows + r] = w;
  }
  workgroupBarrier();
  for (var k = lane; whole && $keeps == 1u && k < $n; k = k + SIZE) {
    $y[base + k * $inner] = $x[base + k * $inner] - most - sum;
  }`),
    ),
  },
  /** Σ losses, over Σ weights where $mean is 1. */
  loss: {
    operands: ['losses', 'y'],
    numbers: ['rows', 'mean'],
    code: byRow(`
  var sum = 0.0;
  var weights = 0.0;
  for (var k = lane; k < $rows; k = k + SIZE) { sum = sum + $losses[k]; weights = weights + $losses[$rows + k]; }
  sum = sum_all(sum, lane);
  weights = sum_all(weights, lane);
  if (lane == 0u) { $y[0u] = select(sum, sum / weights, $mean == 1u && weights != 0.0); }`),
  },
  /** Σ of the weights of all labels. */
  label_weights: {
    operands: ['labels', 'weights', 'y'],
    numbers: ['rows', 'weighs', 'step', 'ignores', 'ignored'],
    code: LABEL.concat(
      byRow(`
  var sum = 0.0;
  for (var place = lane; place < $rows; place = place + SIZE) {
    let k = label_at(place);
    if (k >= 0) {
      var w = 1.0;
      if ($weighs == 1u) { w = $weights[u32(k)]; }
      sum = sum + w;
    }
  }
  sum = sum_all(sum, lane);
  if (lane == 0u) { $y[0u] = select(sum, 1.0, sum == 0.0); }`),
    ),
  },
  cross_entropy_grad: {
    operands: ['dy', 'x', 'labels', 'weights', 'divisor', 'dx'],
    numbers: ['count', 'n', 'inner', 'each', 'mean', 'weighs', 'step', 'ignores', 'ignored'],
    code: LABEL.concat(
      byElement(`
  let place = i / ($n * $inner) * $inner + i % $inner;
  let class_at = i / $inner % $n;
  let k = label_at(place);
  var scale = 0.0;
  if (k >= 0) {
    scale = $dy[select(0u, place, $each == 1u)];
    if ($weighs == 1u) { scale = scale * $weights[u32(k)]; }
    if ($mean == 1u) { scale = scale / $divisor[0u]; }
  }
  $dx[i] = (exp($x[i]) - select(0.0, 1.0, i32(class_at) == k)) * scale;`),
    ),
  },
  /** $simple is 1 where the mean is not taken away. */
  layer_norm: {
    operands: ['x', 'scale', 'shift', 'y', 'means', 'stds'],
    numbers: ['rows', 'n', 'inner', 'simple', 'shifts', 'keeps_mean', 'keeps_std', 'f_epsilon'],
    code: byRow(`${ROW}
  var mean = 0.0;
  if ($simple == 0u) {
    for (var k = lane; whole && k < $n; k = k + SIZE) { mean = mean + $x[base + k]; }
    mean = sum_all(mean, lane) / f32($n);
  }
  var variance = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) { let d = $x[base + k] - mean; variance = variance + d * d; }
  let spread = 1.0 / sqrt(sum_all(variance, lane) / f32($n) + $f_epsilon);
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    var v = ($x[base + k] - mean) * spread * $scale[k];
    if ($shifts == 1u) { v = v + $shift[k]; }
    $y[base + k] = v;
  }
  if (whole && lane == 0u) {
    if ($keeps_mean == 1u) { $means[r] = mean; }
    if ($keeps_std == 1u) { $stds[r] = spread; }
  }`),
  },
  layer_norm_grad: {
    operands: ['dy', 'x', 'scale', 'means', 'stds', 'dx'],
    numbers: ['rows', 'n', 'inner', 'simple'],
    code: byRow(`${ROW}
  var mean = 0.0;
  var spread = 0.0;
  if (whole) { spread = $stds[r]; if ($simple == 0u) { mean = $means[r]; } }
  var sum = 0.0;
  var product = 0.0;
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    let g = $dy[base + k] * $scale[k];
    sum = sum + g;
    product = product + g * ($x[base + k] - mean);
  }
  sum = sum_all(sum, lane);
  product = sum_all(product, lane);
  let shift = select(sum / f32($n), 0.0, $simple == 1u);
  let slope = product * spread * spread / f32($n);
  for (var k = lane; whole && k < $n; k = k + SIZE) {
    $dx[base + k] = ($dy[base + k] * $scale[k] - shift - ($x[base + k] - mean) * slope) * spread;
  }`),
  },
  /** Σ of rows, a part of them a workgroup: of x itself, and of dy · x̂ where $normal is 1. */
  columns: {
    operands: ['x', 'dy', 'means', 'stds', 'y'],
    numbers: ['rows', 'n', 'chunk', 'normal', 'simple', 'parts'],
    size: 64,
    code: /* wgsl */ `
@compute @workgroup_size(SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let column = group.x * SIZE + lane;
  if (column >= $n) { return; }
  let last = min((group.y + 1u) * $chunk, $rows);
  var sum = 0.0;
  var product = 0.0;
  for (var r = group.y * $chunk; r < last; r = r + 1u) {
    let at = r * $n + column;
    if ($normal == 1u) {
      let d = $dy[at];
      var centred = $x[at];
      if ($simple == 0u) { centred = centred - $means[r]; }
      sum = sum + d;
      product = product + d * (centred * $stds[r]);
    } else {
      sum = sum + $x[at];
    }
  }
  $y[group.y * $n + column] = sum;
  if ($normal == 1u) { $y[($parts + group.y) * $n + column] = product; }
}`,
  },
  /** Σ over a part of each output's elements that are reduced: those of \`$inner\` dims within those of \`$outer\`. */
  reduce: {
    operands: ['x', 'y'],
    numbers: ['rows', 'f_factor', 'kind', ...'k0 k1 k2 k3 ks0 ks1 ks2 ks3 r0 r1 r2 r3 rs0 rs1 rs2 rs3'.split(' ')],
    size: 64,
    code: byRow(`
  let r = group.x + group.y * groups.x;
  let whole = r < $rows;
  let base = r % $k0 * $ks0 + r / $k0 % $k1 * $ks1 + r / ($k0 * $k1) % $k2 * $ks2 + r / ($k0 * $k1 * $k2) * $ks3;
  let all = $r0 * $r1 * $r2 * $r3;
  var sum = select(0.0, -3.4e38, $kind == 1u);
  for (var e = lane; whole && e < all; e = e + SIZE) {
    let at = e % $r0 * $rs0 + e / $r0 % $r1 * $rs1 + e / ($r0 * $r1) % $r2 * $rs2 + e / ($r0 * $r1 * $r2) * $rs3;
    let x = $x[base + at];
    if ($kind == 1u) { sum = max(sum, x); } else if ($kind == 2u) { sum = sum + x * x; } else { sum = sum + x; }
  }
  if ($kind == 1u) { sum = max_all(sum, lane); } else { sum = sum_all(sum, lane); }
  if (whole && lane == 0u) { $y[r] = sum * $f_factor; }`),
  },
  gather: {
    operands: ['x', 'ids', 'y'],
    numbers: ['count', 'inner', 'ids_count', 'dim', 'step'],
    code: byElement(`
  let outer = i / ($inner * $ids_count);
  var id = bitcast<i32>($ids[i / $inner % $ids_count * $step]);
  if (id < 0) { id = id + i32($dim); }
  $y[i] = $x[(outer * $dim + u32(id)) * $inner + i % $inner];`),
  },
  /** Each row of the table looks for its ids, in their order. */
  gather_grad: {
    operands: ['ids', 'dy', 'dx'],
    numbers: ['count', 'inner', 'ids_count', 'dim', 'step'],
    size: 64,
    code: byElement(`
  let row = i32(i / $inner % $dim);
  let source = i / ($inner * $dim) * $ids_count * $inner + i % $inner;
  var sum = 0.0;
  for (var k = 0u; k < $ids_count; k = k + 1u) {
    var id = bitcast<i32>($ids[k * $step]);
    if (id < 0) { id = id + i32($dim); }
    if (id == row) { sum = sum + $dy[source + k * $inner]; }
  }
  $dx[i] = sum;`),
  },
  /** Words from one layout to another. */
  move: {
    operands: ['x', 'y'],
    numbers: ['count', ...'d0 d1 d2 d3 d4 d5 x0 x1 x2 x3 x4 x5 y0 y1 y2 y3 y4 y5'.split(' ')],
    code: byElement(`
  var rest = i;
  var source = 0u;
  var to = 0u;
  ${[0, 1, 2, 3, 4, 5]
    .map((k) => `source = source + rest % $d${k} * $x${k}; to = to + rest % $d${k} * $y${k}; rest = rest / $d${k};`)
    .join('\n  ')}
  $y[to] = $x[source];`),
  },
  /** Σ g² of a part of the gradients a workgroup. */
  squares: {
    operands: ['x', 'y'],
    numbers: ['count'],
    code: byRow(`
  var sum = 0.0;
  for (var i = group.x * SIZE + lane; i < $count; i = i + groups.x * SIZE) { let g = $x[i]; sum = sum + g * g; }
  sum = sum_all(sum, lane);
  if (lane == 0u) { $y[group.x] = sum; }`),
  },
  /** The norm, the factor that clips it, and 1 if there may be an update: loss and norm are finite. */
  verdict: {
    operands: ['x', 'loss', 'y'],
    numbers: ['count', 'f_clip'],
    code: `fn finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }`.concat(
      byRow(`
  var sum = 0.0;
  for (var i = lane; i < $count; i = i + SIZE) { sum = sum + $x[i]; }
  sum = sum_all(sum, lane);
  if (lane == 0u) {
    $y[0u] = sum;
    $y[1u] = select(1.0, min(1.0, $f_clip / (sqrt(sum) + 1e-6)), $f_clip > 0.0);
    $y[2u] = select(0.0, 1.0, finite(sum) && finite($loss[0u]));
  }`),
    ),
  },
  ...Object.fromEntries(Object.entries(UPDATES).map(([name, rule]) => [`update ${name}`, updateOf(rule)])),
};
