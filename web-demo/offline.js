// Keeps this page and all that it may load for when there is no network.

/** Resolves with whether the page would open without a network. @returns {Promise<boolean>} */
export async function keepForFlights() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return false; // not a secure context
  await serviceWorker.register(new URL('sw.js', import.meta.url));
  const { active } = await serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  const done = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
  });
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  active.postMessage([location.href, ...loaded], [port2]);
  return await done;
}
