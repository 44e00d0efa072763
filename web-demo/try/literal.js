// Values as they stand in JavaScript.

const WIDTH = 100;

/** @param {unknown} value plain data @param {number} [depth] of its indentation, by two spaces @returns {string} */
export function literal(value, depth = 0) {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = Array.isArray(value)
    ? value.map((one) => literal(one, depth + 1))
    : Object.entries(value).map(([key, one]) => `${keyOf(key)}: ${literal(one, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }'];
  const line = parts.length ? open + parts.join(', ') + close : (open + close).replace(/ +/, '');
  if (line.length + 2 * depth <= WIDTH && !line.includes('\n')) return line;
  const indent = '  '.repeat(depth + 1);
  return `${open.trim()}\n${parts.map((part) => `${indent}${part},\n`).join('')}${'  '.repeat(depth)}${close.trim()}`;
}

/** @param {string} text */
const quoted = (text) => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

/** @param {string} key */
export const keyOf = (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key));
