/** Ctrl-C as an AbortSignal: the first press asks to stop after this step, a second one ends the process. */

/** npm passes a press on that its child has had from the terminal already: what comes so soon is the same press. */
const ONE_PRESS_MS = 1000;

/** @returns {{ signal: AbortSignal, forget: () => void }} */
export function onInterrupt() {
  const controller = new AbortController();
  let since = 0;
  const press = () => {
    const now = performance.now();
    if (controller.signal.aborted && now - since > ONE_PRESS_MS) process.exit(1);
    if (!controller.signal.aborted) since = now;
    controller.abort();
  };
  process.on('SIGINT', press);
  return { signal: controller.signal, forget: () => { process.off('SIGINT', press); } };
}
