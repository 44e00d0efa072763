/** Sources: every kind of place, progress, integrity, and one sentence for what cannot be read. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readSource } from '../../../js/sources/source.js';

const HELLO = new TextEncoder().encode('hello');
const DIGEST = 'sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=';
const file = new URL('./hello.txt', import.meta.url);
let server;
let base = '';

before(async () => {
  server = createServer((request, response) => {
    if (request.url === '/hello') response.writeHead(200, { 'content-length': 5 }).end('hello');
    else if (request.url !== '/slow') response.writeHead(404).end('no');
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

test('bytes, buffers, blobs, responses, URLs', async () => {
  const sources = [
    HELLO,
    HELLO.buffer.slice(0),
    new Blob([HELLO]),
    new Response(HELLO),
    `${base}/hello`,
    new URL('/hello', base),
    'data:,hello',
  ];
  for (const source of sources) assert.deepEqual(await readSource('model', source, {}), HELLO);
  assert.equal(HELLO.length, 5);
});

test('a file by path or URL, and a missing one', async () => {
  const self = fileURLToPath(import.meta.url);
  assert.deepEqual(await readSource('model', self, {}), await readSource('model', new URL(import.meta.url), {}));
  await assert.rejects(readSource('model', file, {}), {
    code: 'source-unreadable',
    message: /^model could not be loaded from file:.*: there is no such file, \/.*/,
  });
});

test('progress tells how much has come', async () => {
  const seen = [];
  await readSource('model', `${base}/hello`, { onProgress: (p) => seen.push(p) });
  assert.deepEqual(seen.at(-1), { source: 'model', loadedBytes: 5, totalBytes: 5 });
});

test('what cannot be read is one sentence', async () => {
  const unreadable = (source, message) =>
    assert.rejects(readSource('trainModel', source, {}), { code: 'source-unreadable', message });
  await unreadable(`${base}/none`, /^trainModel could not be loaded from http.*: HTTP 404$/);
  await unreadable('http://127.0.0.1:1/', /^trainModel could not be loaded from http:\/\/127\.0\.0\.1:1\//);
  await unreadable(undefined, /expected a URL/);
  await unreadable(7, /expected a URL/);
});

test('what has no end, or is larger than an engine, is refused before it takes memory', {
  skip: process.platform === 'win32',
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-source-'));
  const [fifo, sparse] = ['fifo', 'sparse'].map((name) => path.join(folder, name));
  const refused = (source, message) =>
    assert.rejects(readSource('model', source, {}), { code: 'source-unreadable', message });
  try {
    execFileSync('mkfifo', [fifo]);
    const handle = await open(sparse, 'w');
    await handle.truncate(2 ** 32);
    await handle.close();
    for (const place of [fifo, '/dev/zero'])
      await refused(place, /^model could not be loaded from \/.*: it is a device or a pipe, not a file$/);
    await refused(folder, /: it is a directory, not a file$/);
    await refused(sparse, /: it has 4294967296 bytes, more than the 4294967295 that the engine can hold$/);
  } finally {
    await rm(folder, { recursive: true });
  }
  const chunk = new Uint8Array(1 << 26);
  let given = 0,
    cancelled = false;
  const pull = (controller) => {
    given++;
    controller.enqueue(chunk);
  };
  await refused(
    new Response(
      new ReadableStream({
        pull,
        cancel: () => {
          cancelled = true;
        },
      }),
    ),
    /more than the 4294967295 that the engine can hold$/,
  );
  assert.deepEqual([cancelled, given < 70], [true, true]);
});

test('integrity is checked', async () => {
  assert.deepEqual(await readSource('model', HELLO, { integrity: { model: DIGEST } }), HELLO);
  const wrong = { integrity: { model: DIGEST.replace('LP', 'XX') } };
  await assert.rejects(readSource('model', HELLO, wrong), { code: 'integrity-mismatch', message: /got sha256-LPJNul/ });
  await assert.rejects(readSource('model', HELLO, { integrity: { model: 'md5-x' } }), { code: 'invalid-argument' });
});

test('the signal stops a download', async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(readSource('model', `${base}/slow`, { signal: stop.signal }), { code: 'aborted' });
});
