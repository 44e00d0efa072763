// Judges a reader: it may read a file, or refuse it by a TrainletError, soon and in little memory.
import { TrainletError } from '../../js/base/errors.js';

const MOST_MS = 2000;
const MOST_BYTES = 2 ** 30;

/** @param {(bytes: Uint8Array) => Promise<unknown>} read @param {Uint8Array} bytes */
export async function judge(read, bytes) {
  const since = performance.now();
  const [value, failure] = await read(bytes).then(
    (found) => [found, undefined],
    (error) => [undefined, error],
  );
  const ms = performance.now() - since;
  const isRaw = failure !== undefined && !(failure instanceof TrainletError);
  const isLarge = ms > 1 && process.memoryUsage.rss() > MOST_BYTES; // nothing takes as much in less
  const isFault = isRaw || isLarge || ms > MOST_MS;
  const error = isRaw ? (failure?.stack ?? String(failure)) : undefined;
  return {
    ms,
    value,
    isRead: failure === undefined,
    fault: isFault ? { ms, error, bytes: Buffer.from(bytes).toString('base64') } : undefined,
  };
}
