/** The engine's file where something else comes in its place: the message says what came. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { InferenceSession } from '../../../js/index.js';

let server;
let origin = '';
before(async () => {
  server = createServer((request, response) => {
    const type = request.url === '/odd.wasm' ? 'application/wasm' : 'text/html; charset=utf-8';
    response.writeHead(200, { 'content-type': type });
    response.end('<!doctype html><title>page</title>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

const create = (wasmUrl) => InferenceSession.create(new Uint8Array([8]), { worker: false, threads: 1, wasmUrl });

test("an index.html in the engine's place is named, not the browser blamed", async () => {
  await assert.rejects(create(`${origin}/trainlet.wasm`), {
    code: 'source-unreadable',
    message:
      `the engine could not be loaded from ${origin}/trainlet.wasm: ` +
      'a page of HTML came: is the file on the server?',
  });
});

test('bytes that are no WebAssembly are still refused', async () => {
  await assert.rejects(create(`${origin}/odd.wasm`), { code: 'unsupported-browser', message: /cannot run here/ });
});
