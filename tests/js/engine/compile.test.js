/** The engine's file where something else comes in its place: the message says what came. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { InferenceSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const PAGE = '<!doctype html><title>page</title>';
const WASM = readFileSync(join(root, 'js/engine/trainlet.wasm'));
/** Answers of the server: a type, if any, and a body. */
const ANSWERS = {
  '/trainlet.wasm': ['text/html; charset=utf-8', PAGE],
  '/typeless.wasm': [undefined, PAGE],
  '/stream.wasm': ['application/octet-stream', PAGE],
  '/empty.wasm': ['text/plain', ''],
  '/odd.wasm': ['application/wasm', PAGE],
  '/good.wasm': ['text/html', WASM],
};
let server;
let origin = '';
before(async () => {
  server = createServer((request, response) => {
    const [type, body] = ANSWERS[request.url.replace(/\?.*/, '')];
    response.writeHead(200, type && { 'content-type': type });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

const create = (wasmUrl) => InferenceSession.create(new Uint8Array([8]), { ...HERE, wasmUrl });

for (const [file, [type = null]] of Object.entries(ANSWERS).slice(0, 4))
  test(`${file} of type ${type} that is no WebAssembly is named, not the browser blamed`, async () => {
    await assert.rejects(create(origin + file), {
      code: 'source-unreadable',
      message:
        `the engine could not be loaded from ${origin}${file}: ` +
        `what came is no WebAssembly (its type: ${type}): is the file on the server?`,
    });
  });

test('an engine that a server calls a page is loaded', async () => {
  const model = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
  const session = await InferenceSession.create(model, { ...HERE, wasmUrl: `${origin}/good.wasm` });
  await session.release();
});

test('bytes that are no WebAssembly are still refused', async () => {
  const message = /^the engine cannot run here: its file is no WebAssembly that compiles: /;
  await assert.rejects(create(`${origin}/odd.wasm`), { code: 'unsupported-browser', message });
});

const refuse = async () => {
  throw new WebAssembly.CompileError('refused');
};
/** Compiles nothing but a module without functions, as where there is no SIMD. @param {BufferSource} bytes */
const withoutSimd = (bytes) => (bytes.byteLength > 8 ? refuse() : compile(bytes));
const { compile, validate } = WebAssembly;
const LACKS = /** @type {[string, any, RegExp][]} */ ([
  ['no WebAssembly', undefined, /: there is no WebAssembly \(/],
  ['a policy against WebAssembly', { compile: refuse, validate }, /: add 'wasm-unsafe-eval' to its script-src$/],
  [
    'no SIMD',
    { compile: withoutSimd, validate: () => false },
    /: the browser's WebAssembly has no SIMD, which Chrome 91/,
  ],
]);

for (const [lack, fake, message] of LACKS)
  test(`${lack} is told apart from other reasons`, async () => {
    const own = globalThis.WebAssembly;
    globalThis.WebAssembly = fake;
    try {
      await assert.rejects(create(`${origin}/good.wasm?${lack}`), { code: 'unsupported-browser', message });
    } finally {
      globalThis.WebAssembly = own;
    }
  });
