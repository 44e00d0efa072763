// A value as a short text, as a console shows it: a few items, a few levels, six digits.

const ITEMS = 12,
  LEVELS = 3,
  LETTERS = 2000;

/** @param {unknown[]} values of one call of the console */
export const printAll = (values) => values.map((value) => print(value)).join(' ');

/** @param {unknown} value @param {number} [level] */
export function print(value, level = 0) {
  if (typeof value === 'string') return level ? JSON.stringify(short(value)) : short(value);
  if (typeof value === 'number')
    return level && !Number.isInteger(value) ? `${Number(value.toPrecision(6))}` : `${value}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value !== 'object' || !value) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Date || value instanceof URL) return String(value);
  if (value instanceof Blob) return `${nameOf(value)}(${value.size} bytes)`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${value.byteLength} bytes)`;
  if (isTensor(value)) return `Tensor ${value.type} [${value.dims.join(', ')}] ${list(value.data, level)}`;
  if (ArrayBuffer.isView(value)) return `${nameOf(value)}(${value.length ?? value.byteLength}) ${list(value, level)}`;
  if (level === LEVELS) return Array.isArray(value) ? '[…]' : '{…}';
  if (Array.isArray(value) || value instanceof Set) return list(value, level);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return wrap(
    '{ ',
    entries.map(([key, item]) => `${String(key)}: ${print(item, level + 1)}`),
    entries.length,
    ' }',
  );
}

const nameOf = (value) => value.constructor?.name ?? 'Object';
const short = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS)}…` : text);
const isTensor = (value) => Array.isArray(value.dims) && typeof value.type === 'string' && 'data' in value;

/** @param {Iterable<unknown> & { length?: number, size?: number }} values @param {number} level */
function list(values, level) {
  const first = [];
  for (const value of values) if (first.push(print(value, level + 1)) === ITEMS) break;
  return wrap('[', first, values.length ?? values.size ?? first.length, ']');
}

/** @param {string} open @param {string[]} items @param {number} count of all @param {string} close */
function wrap(open, items, count, close) {
  if (!count) return open.trim() + close.trim();
  const more = count > ITEMS ? [`… ${count - ITEMS} more`] : [];
  return open + [...items.slice(0, ITEMS), ...more].join(', ') + close;
}
