// Keeps this page and all that it may load for when there is no network.

/** Resolves with whether the page would open without a network. @returns {Promise<boolean>} */
export async function keepForFlights() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return false; // not a secure context
  const registration = await serviceWorker.register(new URL('sw.js', import.meta.url));
  const { active } = await serviceWorker.ready;
  if (await keepBy(active)) return true;
  const newer = registration.installing ?? registration.waiting ?? registration.active;
  return newer !== active && (await keepBy(newer)); // the old one keeps no more
}

/** @param {ServiceWorker} worker @returns {Promise<boolean>} whether it has kept this page and what it has loaded */
async function keepBy(worker) {
  const { port1, port2 } = new MessageChannel();
  const done = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
  });
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  worker.postMessage([location.href, ...loaded], [port2]);
  return await done;
}
