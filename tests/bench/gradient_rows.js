// Rows of the benchmark of operators whose backward pass is measured: their operator has a gradient, as
// docs/measured/operators.md says. Exceptions are named here, with the reason.

import { readFileSync } from 'node:fs';
import { ROWS } from './operator_rows.js';

/** Rows by the reason why none of their backward pass is measured. */
export const WITHOUT_GRADIENTS = {
  'it takes or gives no floats': [
    'Abs, int64',
    'Add, int64',
    'Cast, bool to float32',
    'Cast, float32 to bool',
    'Cast, float32 to float16',
    'Cast, float32 to int32',
    'Cast, float32 to int64',
    'Cast, float32 to uint8',
    'Cast, int32 to float32',
    'Cast, int64 to float32',
    'Cast, int64 to int32',
    'Cast, uint8 to float32',
    'CastLike',
    'Clip, int64',
    'Div, int64',
    'Mod, int32',
    'Mod, int64',
    'Mul, int64',
  ],
  'its gradient is zero everywhere': ['Ceil', 'Floor', 'Round', 'Sign'],
  'what trains is in training: the row beside it': ['BatchNormalization', 'Dropout, not in training'],
  'which elements are taken must be known before the run': ['Compress of numbers', 'Compress of rows'],
  'it becomes Gemm': ['ai.onnx.ml.LinearRegressor'],
};

/** The operators that have a gradient and no row with one, by the reason. */
export const WITHOUT_GRADIENT_ROWS = {
  'the bytes of what arrives, in another shape or as they are': [
    'Cast',
    'CastLike',
    'Flatten',
    'Identity',
    'Reshape',
    'Squeeze',
    'Unsqueeze',
    'com.microsoft.PassThrough',
  ],
  'zero everywhere': ['Ceil', 'Floor', 'Round', 'Sign'],
  'which elements are taken must be known before the run': ['Compress'],
  'it becomes LSTM': ['com.microsoft.DynamicQuantizeLSTM'],
  'it becomes Gemm': ['ai.onnx.ml.LinearRegressor'],
};

/** The operators of docs/measured/operators.md that have a gradient, behind their domain. */
export function differentiable() {
  const page = readFileSync(new URL('../../docs/measured/operators.md', import.meta.url), 'utf8');
  return page
    .split('\n## ')
    .slice(1)
    .flatMap((section) => {
      const domain = section.startsWith('ai.onnx\n') ? '' : `${section.split('\n')[0]}.`;
      const rows = section.split('\n').flatMap((line) => /^\| (\w+) \|.*\| ([\d–, ]*) \| \d+ \|$/.exec(line) ?? []);
      return rows.flatMap((_, i) => (i % 3 === 1 && rows[i + 1].trim() ? [domain + rows[i]] : []));
    });
}

/** The names of the rows. */
export function gradientRows() {
  const operators = new Set(differentiable());
  const without = new Set(Object.values(WITHOUT_GRADIENTS).flat());
  return Object.keys(ROWS).filter((name) => !without.has(name) && operators.has(ROWS[name](2 ** 13)[0]));
}
