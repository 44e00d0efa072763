// The service worker: pages that were opened once open without a network, with all they name, and what that names.

const KEPT = 'trainlet-demo';
const worker = /** @type {any} */ (self);
/** A newer version is activated only when this one has nothing to do: from then on it keeps no more. */
const replaced = new AbortController();
worker.registration.addEventListener('updatefound', () => {
  if (worker.serviceWorker?.state === 'activated') replaced.abort();
});

worker.addEventListener('install', () => worker.skipWaiting());
// The page is controlled from its first visit on. Activation must not wait for that: in Firefox claim() waits for every
// worker of the page, the engine's helper threads never answer while they sleep, and all fetches wait for activation.
worker.addEventListener('activate', () => void worker.clients.claim());
worker.addEventListener('message', (event) => event.waitUntil(keepAll(event.data, event.ports[0])));
worker.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  if (method === 'GET' && isOurs(url)) event.respondWith(answer(event.request));
});

const isOurs = (url) => new URL(url).origin === location.origin;
const bare = (url) => url.replace(/[?#].*/, '');

/** The network's answer is newer than the cache's; offline, the cache answers alone. */
async function answer(request) {
  const cache = await caches.open(KEPT);
  if (navigator.onLine)
    try {
      const fresh = await fetch(request);
      if (fresh.status === 200) await cache.put(bare(request.url), fresh.clone());
      return unframed(fresh);
    } catch {} // the server is away
  const kept = await cache.match(bare(request.url), { ignoreVary: true });
  return kept ? unframed(kept) : Response.error();
}

/** A page is nobody else's frame. Its meta element cannot say so, and not every server lets its headers be set. */
function unframed(response) {
  if (!response.headers.get('content-type')?.includes('html')) return response;
  const headers = new Headers(response.headers);
  headers.append('content-security-policy', "frame-ancestors 'self'");
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

/** @param {string[]} urls  of a page and what it has loaded @param {MessagePort} port  is told whether all are kept */
async function keepAll(urls, port) {
  const cache = await caches.open(KEPT),
    known = new Set(),
    left = urls.filter(isOurs).map(bare);
  let whole = true;
  const { signal } = replaced;
  const keep = async (url) => {
    if (known.has(url)) return;
    known.add(url);
    const response = await fetch(url, { cache: 'no-cache', signal }).catch(() => undefined);
    const kept = response?.ok ? response : await cache.match(url, { ignoreVary: true });
    if (!kept) whole = false;
    else left.push(...named(url, await kept.clone().text(), kept.headers.get('content-type') ?? ''));
    if (response?.ok) await cache.put(url, response);
  };
  const cutShort = () => {
    whole = false;
  };
  while (left.length && !signal.aborted) await Promise.all(left.splice(0).map(keep)).catch(cutShort);
  port.postMessage(whole && !signal.aborted);
}

const TAG = /<(?:link|script|img)\b[^>]*?\s(?:src|href)="([^":]+)"/g,
  COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm,
  IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["'`](\.{1,2}\/[^"'`]+)["'`]/g,
  ADDRESS = /new URL\(\s*["'`]([^"'`]+)["'`],\s*import\.meta\.url/g;

/** The files that a page or a module names; of the engine's builds it needs the one that it has loaded. */
function named(url, text, type) {
  const patterns = type.includes('html') ? [TAG] : type.includes('javascript') ? [IMPORT, ADDRESS] : [];
  const code = type.includes('javascript') ? text.replace(COMMENT, '') : text;
  const found = patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => bare(new URL(match[1], url).href)),
  );
  return found.filter((file) => isOurs(file) && !file.endsWith('.wasm'));
}
