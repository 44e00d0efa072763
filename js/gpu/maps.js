/** Elementwise operators: each an expression of its inputs a, b, c, and of its attributes. */

import { byElement, FUNCTIONS } from './kernels.js';

/** @import { Step } from './lower.js' */
/** @import { Kernel } from './kernels.js' */

/** @param {string} expression */
const plain = (expression) => () => ({ expression });
/** @param {string} expression @param {(attrs: Record<string, any>) => Record<string, number>} numbers */
const withNumbers =
  (expression, numbers) =>
  (/** @type {Step} */ { attrs }) => ({ expression, numbers: numbers(attrs) });
const alpha = (/** @type {number} */ otherwise) => (/** @type {Record<string, any>} */ attrs) => ({
  f_alpha: attrs.alpha ?? otherwise,
});
const joined =
  (/** @type {string} */ sign) =>
  (/** @type {Step} */ { inputs }) => ({
    expression: 'abcd'.slice(0, inputs.length).split('').join(sign),
  });
/** Clip's bounds are inputs that may be missing. @param {Step} step */
const clip = ({ inputs: [x, low, high] }) => {
  const least = low ? 'max(a, b)' : 'a';
  const values = /** @type {any[]} */ ([x, low, high].filter(Boolean));
  return { expression: high ? `min(${least}, ${low ? 'c' : 'b'})` : least, values };
};

/** @typedef {{ expression: string, values?: Step['inputs'], numbers?: Record<string, number> }} Mapped */
/** @type {Record<string, (step: Step) => Mapped>} */
export const MAPS = {
  Add: plain('a + b'),
  Sub: plain('a - b'),
  Mul: plain('a * b'),
  Div: plain('a / b'),
  Neg: plain('-a'),
  Abs: plain('abs(a)'),
  Exp: plain('exp(a)'),
  Log: plain('log(a)'),
  Sqrt: plain('sqrt(a)'),
  Reciprocal: plain('1.0 / a'),
  Relu: plain('max(a, 0.0)'),
  ReluGrad: plain('select(0.0, a, b > 0.0)'),
  LeakyRelu: withNumbers('select(a * $f_alpha, a, a >= 0.0)', alpha(0.01)),
  LeakyReluGrad: withNumbers('select(a * $f_alpha, a, b > 0.0)', alpha(0.01)),
  Sigmoid: plain('sigmoid(a)'),
  SigmoidGrad: plain('a * b * (1.0 - b)'),
  Tanh: plain('tanh_of(a)'),
  TanhGrad: plain('a * (1.0 - b * b)'),
  Softplus: plain('softplus(a)'),
  Gelu: ({ attrs }) => ({ expression: attrs.approximate === 'tanh' ? 'fast_gelu(a)' : 'a * normal(a)' }),
  GeluGrad: ({ attrs }) => ({
    expression: attrs.approximate === 'tanh' ? 'a * fast_gelu_slope(b)' : 'a * gelu_slope(b)',
  }),
  FastGelu: ({ inputs }) => ({ expression: inputs[1] ? 'fast_gelu(a + b)' : 'fast_gelu(a)' }),
  FastGeluGrad: ({ inputs }) => ({ expression: inputs[2] ? 'a * fast_gelu_slope(b + c)' : 'a * fast_gelu_slope(b)' }),
  QuickGelu: withNumbers('a * sigmoid(a * $f_alpha)', alpha(1.702)),
  QuickGeluGrad: withNumbers(
    'a * (sigmoid(b * $f_alpha) + b * $f_alpha * sigmoid(b * $f_alpha) * (1.0 - sigmoid(b * $f_alpha)))',
    alpha(1.702),
  ),
  Where: plain('select(c, b, a)'),
  Sum: joined(' + '),
  Scale: ({ attrs }) => ({ expression: attrs.scale_down ? 'a / b' : 'a * b' }),
  Clip: clip,
  ClipGrad: withNumbers('select(0.0, a, b > $f_low && b < $f_high)', ({ min, max }) => ({
    f_low: min ?? -Infinity,
    f_high: max ?? Infinity,
  })),
};

/** The kernel of a key that Lowering.map makes. @param {string} key @returns {Kernel} */
export function mapKernel(key) {
  const [, modes, rank, more, ...rest] = key.split(' ');
  const operands = modes.split(',').map((mode, i) => ({ name: 'abcd'[i], where: mode[0], isBool: mode[1] === 'i' }));
  const walk = Array.from({ length: Number(rank) }, (_, k) => k);
  const strides = walk.flatMap((k) => [`d${k}`, ...operands.map((_, i) => `s${k}_${i}`)]);
  const index = operands.map(({ where }, i) => (where === 'w' ? 'i' : where === 's' ? '0u' : `at${i}`));
  const load = operands.map(({ name, isBool }, i) =>
    isBool
      ? `let ${name} = ((bitcast<u32>($${name}[(${index[i]} >> 2u)]) >> ((${index[i]} & 3u) * 8u)) & 255u) != 0u;`
      : `let ${name} = $${name}[${index[i]}];`,
  );
  const steps = walk.map((k) =>
    ['let k_ = rest % $d; rest = rest / $d;', ...operands.map((_, i) => `at${i} = at${i} + k_ * $s_${i};`)]
      .join(' ')
      .replaceAll('k_', `k${k}`)
      .replaceAll('$d', `$d${k}`)
      .replaceAll('$s_', `$s${k}_`),
  );
  const begin = walk.length ? `var rest = i; ${operands.map((_, i) => `var at${i} = 0u;`).join(' ')}` : '';
  return {
    operands: [...operands.map(({ name }) => name), 'y'],
    numbers: ['count', ...more.split(',').filter(Boolean), ...strides],
    code: FUNCTIONS + byElement(`\n${begin}\n${steps.join('\n')}\n${load.join('\n')}\n$y[i] = ${rest.join(' ')};`),
  };
}
