/** The helpers of an engine's pool: workers on its memory. Nobody waits for them: each joins in when it is there. */

/** @import { Client } from './client.js' */
/** @import { Transport } from './transport.js' */
/** @import { Answer, Pool, Protocol } from './protocol.js' */

/**
 * @param {Pool & { module: WebAssembly.Module }} pool
 * @param {() => Promise<Transport>} openWorker
 * @param {Client} client of the engine
 */
export function startHelpers({ module, memory, threads }, openWorker, client) {
  for (let thread = 1; thread < threads; thread++) start({ module, memory, thread }, openWorker, client);
}

/** @param {Protocol['help']['in']} args @param {() => Promise<Transport>} openWorker @param {Client} client */
async function start(args, openWorker, client) {
  let joined = false;
  const stopped = (/** @type {string} */ reason) => {
    if (joined) client.died(`a helper of the session's worker died (${reason})`);
    else if (!client.hasEnded)
      console.info(`trainlet: a helper thread could not be started (${reason}); fewer threads compute`);
  };
  try {
    const transport = await openWorker();
    const hear = (/** @type {Answer} */ answer) => {
      if ('error' in answer) return stopped(answer.error.message);
      if (joined) return;
      joined = true; // from here on its end is noticed; not before is it given work, which the others would wait for
      transport.watch?.();
      transport.post({ id: args.thread, method: 'work' }, []);
    };
    transport.listen(hear, stopped);
    transport.hold(false);
    if (client.keep(transport))
      transport.post({ id: args.thread, method: 'help', args: { ...args, lock: transport.lock } }, []);
  } catch (error) {
    stopped(/** @type {Error} */ (error).message);
  }
}
