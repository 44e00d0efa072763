/** The usual mistakes of shape, found in the sentence with which the engine refuses a feed. */

const REFUSAL = /wants shape \((.*)\), \((.*)\) came$/;

/** More of the sentence, '' where nothing is known. @param {string} message */
export function shapeHint(message) {
  const [wanted, came] = REFUSAL.exec(message)
    ?.slice(1)
    .map((dims) => dims.split(', ')) ?? [[], []];
  /** @param {string[]} dims */
  const fits = (dims) => dims.length === wanted.length && wanted.every((d, i) => d === '?' || d === dims[i]);
  if (wanted.length < 3) return '';
  const [rows, ...rest] = came;
  if (fits([rows, ...rest.slice(-1), ...rest.slice(0, -1)]))
    return ': the channels are last; put them behind the batch, as Tensor.fromImage does';
  return fits(['1', ...came]) ? `: the batch is missing; an example alone is (1, ${came.join(', ')})` : '';
}
