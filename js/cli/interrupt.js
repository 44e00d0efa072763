/** Ctrl-C as an AbortSignal: the first asks to stop after this step, the second ends the process. */

/** @returns {{ signal: AbortSignal, forget: () => void }} */
export function onInterrupt() {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  return { signal: controller.signal, forget: () => { process.off('SIGINT', stop); } };
}
