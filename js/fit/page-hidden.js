/** The moments at which a page may be seen for the last time: it is hidden, or left. */

/** @param {() => void} call @returns {() => void} ends it; outside of pages there is nothing to end */
export function whenLeft(call) {
  const { document } = globalThis;
  if (!document) return () => {};
  const hidden = () => document.visibilityState === 'hidden' && call();
  document.addEventListener('visibilitychange', hidden);
  globalThis.addEventListener('pagehide', call);
  return () => {
    document.removeEventListener('visibilitychange', hidden);
    globalThis.removeEventListener('pagehide', call);
  };
}
