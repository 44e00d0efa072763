/**
 * Signals that end the process: work that can stop in good order is asked to; all else, and a second signal, ends at
 * once.
 */

/** Exit codes as in shells: 128 plus the signal's number. */
export const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 };

/** @typedef {keyof typeof EXIT_CODES} Signal */

/** npm passes a press on that its child has had from the terminal already: what comes so soon is the same press. */
const ONE_PRESS_MS = 1000;

/** Stops the current work in an orderly way. @type {AbortController | undefined} */
let controller;
/** @type {{ name: Signal, at: number } | undefined} */
let first;

/** @param {Signal} name */
function hear(name) {
  const at = performance.now();
  const again = first && (name !== first.name || at - first.at > ONE_PRESS_MS);
  if (again || !controller) process.exit(EXIT_CODES[name]);
  first ??= { name, at };
  controller.abort();
}

/** Listens from here on. Output that nobody reads any more is such a signal too: SIGPIPE, which Node does not get. */
export function listen() {
  for (const name of /** @type {const} */ (['SIGHUP', 'SIGINT', 'SIGTERM'])) process.on(name, () => hear(name));
  process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
    if (code === 'EPIPE') hear('SIGPIPE');
  });
  process.stderr.on('error', () => {}); // nobody reads it: what is under way matters more
}

/** Runs work that ends itself when its signal comes. @template T @param {(signal: AbortSignal) => Promise<T>} work */
export async function stoppable(work) {
  controller = new AbortController();
  try {
    return await work(controller.signal);
  } finally {
    controller = undefined;
  }
}

/** The signal that asked the work to stop, if one did. */
export const stoppedBy = () => first?.name;
