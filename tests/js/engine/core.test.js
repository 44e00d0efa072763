/** core.js and engine.js over a made-up wasm instance: texts, growth of memory, errors, sessions after a trap. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Core } from '../../../js/engine/core.js';
import { PAGES_MAX } from '../../../js/engine/engine.js';
import { ENGINES } from '../../../tools/programs.mjs';

const CONSTANTS = {
  version: '0',
  codes: ['ok', 'invalid-model', 'invalid-feed'],
  types: { float32: { id: 1, bytes: 4 } },
  artifacts: { train: 0, eval: 1, optimizer: 2, checkpoint: 3, model: 4 },
  formats: { trainlet: 0, ort1: 1, ort2: 2 },
  which: { all: 0, trainable: 1, 'with-statistics': 2 },
  ranks: { sequence: -1, nothing: -2 },
  tensor: { name: 0, type: 4, rank: 8, dims: 12, data: 16, count: 20 },
};

/**
 * An instance with a bump allocator, and exports on top.
 * @param {(memory: WebAssembly.Memory, put: (text: string) => number) => object} more
 */
function instanceWith(more, info = { parameters: [] }) {
  const memory = new WebAssembly.Memory({ initial: 1 });
  let top = 16;
  const alloc = (bytes) => {
    const at = top;
    top += Math.ceil(bytes / 16) * 16;
    return at;
  };
  const put = (text) => {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = alloc(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    return at;
  };
  const [json, described, properties, empty] = [CONSTANTS, info, []].map((v) => put(JSON.stringify(v))).concat(put(''));
  const exports = {
    memory,
    abi_alloc: alloc,
    abi_free() {},
    abi_json: () => json,
    abi_error_node: () => empty,
    abi_session_new: () => 8,
    abi_session_limit() {},
    abi_session_limit_work() {},
    abi_session_ready: () => 0,
    abi_session_json: () => described,
    abi_session_properties: () => properties,
    abi_session_fit: () => empty,
    abi_session_set_fit: () => 0,
    ...more(memory, put),
  };
  return { exports };
}

const EMPTY = { tensors: [], sequences: [], buffer: new ArrayBuffer(0) };
const LOAD = { parts: [], external: [], maxMemoryBytes: 0 };

test('a status becomes code, sentence and node', () => {
  const core = new Core(
    instanceWith((_, put) => ({
      abi_session_run: () => 1,
      abi_error_message: () => put("Gemm 'fc1': größer"),
      abi_error_node: () => put('fc1'),
    })),
  );
  core.load(LOAD);
  assert.throws(() => core.run({ graph: 'train', feeds: EMPTY }), {
    name: 'TrainletError',
    code: 'invalid-model',
    message: "Gemm 'fc1': größer",
    node: 'fc1',
  });
});

test('a trap is internal, and the session says that it is over', () => {
  const core = new Core(
    instanceWith(() => ({
      abi_session_run() {
        throw new WebAssembly.RuntimeError('unreachable');
      },
    })),
  );
  core.load(LOAD);
  assert.throws(() => core.run({ graph: 'train', feeds: EMPTY }), {
    code: 'internal',
    message: /the engine failed in abi_session_run: unreachable/,
  });
  assert.throws(() => core.steps(), { code: 'internal', message: /not usable any more.*unreachable.*make a new one/ });
});

test('memory that grows under a feed is looked at anew; an output is copied out', () => {
  let fed = 0;
  const core = new Core(
    instanceWith((memory, put) => ({
      abi_session_feed(_s, which, name, type, rank, dims) {
        assert.deepEqual([which, type, rank], [4, 1, 2]);
        assert.deepEqual([...new BigInt64Array(memory.buffer, dims, 2)], [1n, 2n]);
        assert.equal(new TextDecoder().decode(new Uint8Array(memory.buffer, name, 2)), 'x\0');
        memory.grow(1);
        fed = 65_536;
        return fed;
      },
      abi_session_run: () => 0,
      abi_session_output_count: () => 1,
      abi_session_output() {
        memory.grow(1);
        new Int32Array(memory.buffer, 1024, 7).set([put('y'), 1, 1, 2048, fed, 2, 8]);
        new BigInt64Array(memory.buffer, 2048, 1).set([2n]);
        return 1024;
      },
    })),
  );
  core.load(LOAD);
  const feeds = {
    tensors: [{ name: 'x', type: 'float32', dims: [1, 2], offset: 0, bytes: 8 }],
    sequences: [],
    buffer: new Float32Array([3, 4]).buffer,
  };
  assert.deepEqual(core.run({ graph: 'model', feeds }), {
    y: { type: 'float32', dims: [2], data: new Float32Array([3, 4]) },
  });
});

test('only as many bytes are written as the engine makes room for', () => {
  const fed = [];
  const core = new Core(
    instanceWith(
      () => ({
        abi_session_feed: () => fed.push('fed'),
        abi_session_parameter: () => fed.push('parameter'),
        abi_session_copy_in: () => fed.push('copied'),
        abi_session_element_count: () => 2,
      }),
      { parameters: [{ name: 'w', type: 'float32', dims: [2], trainable: true }] },
    ),
  );
  core.load(LOAD);
  const tensor = (bytes) => ({
    tensors: [{ name: 'w', type: 'float32', dims: [2], offset: 0, bytes }],
    sequences: [],
    buffer: new ArrayBuffer(64),
  });
  for (const bytes of [0, 4, 12, 64]) {
    const refused = { code: 'invalid-feed', message: new RegExp(`came with ${bytes} bytes where 8 were wanted`) };
    assert.throws(() => core.run({ graph: 'model', feeds: tensor(bytes) }), refused);
    assert.throws(() => core.step({ feeds: tensor(bytes), optimize: true }), refused);
    assert.throws(() => core.setParameter({ index: 0, value: tensor(bytes) }), refused);
    assert.throws(() => core.copyIn({ which: 'trainable', bytes: new Uint8Array(bytes) }), refused);
  }
  assert.deepEqual(fed, []);
});

test('no room for an input is out-of-memory, and the session goes on', () => {
  let full = false;
  const { abi_alloc: alloc } = instanceWith(() => ({})).exports;
  const strict = new Core(
    instanceWith(() => ({
      abi_alloc: (bytes) => (full ? 0 : alloc(bytes)),
      abi_session_copy_in: () => 0,
      abi_session_element_count: () => 1250,
      abi_session_steps: () => 3n,
    })),
  );
  full = true;
  assert.throws(() => strict.copyIn({ which: 'trainable', bytes: new Uint8Array(5000) }), { code: 'out-of-memory' });
  assert.equal(strict.steps(), 3);
});

test('a property that the engine had no room for is told when the checkpoint would be saved without it', () => {
  let full = true;
  const core = new Core(
    instanceWith((_, put) => ({
      abi_session_property_set_string: () => (full ? 1 : 0),
      abi_session_property_delete() {},
      abi_error_message: () => put("out of memory for property 'a'"),
      abi_session_save: () => 0,
      abi_session_result: () => 16,
      abi_session_result_length: () => 4,
      abi_session_result_free() {},
    })),
  );
  core.load(LOAD);
  const set = (name) => core.setProperty({ name, type: 'string', value: 'x' });
  const save = () => core.save({ optimizerState: true, format: 'trainlet', fit: '' }).length;
  assert.throws(() => set('a'), /out of memory/);
  assert.throws(save, /out of memory for property 'a'/);
  full = false;
  set('b');
  assert.throws(save, /out of memory for property 'a'/);
  set('a');
  assert.equal(save(), 4);
  full = true;
  assert.throws(() => set('a'), /out of memory/);
  core.deleteProperty('a');
  assert.equal(save(), 4);
});

test('an address of 0 is never success, even where no error was told', () => {
  const more = (_, put) => ({
    abi_error_code: () => 0,
    abi_error_message: () => put(''),
    abi_session_result: () => 0,
    abi_session_result_length: () => 0,
    abi_session_save: () => 0,
  });
  const core = new Core(instanceWith(more));
  core.load(LOAD);
  const untold = { name: 'TrainletError', code: 'internal', message: /did not say why/ };
  assert.throws(() => core.save({ optimizerState: true, format: 'trainlet' }), untold);
  assert.throws(
    () => new Core(instanceWith((memory, put) => ({ ...more(memory, put), abi_session_json: () => 0 }))).load(LOAD),
    untold,
  );
});

/** The most pages of the memory that a wasm file imports; its module cannot be asked. @param {Buffer} file */
function pagesOf(file) {
  const limits = Buffer.from('\x03env\x06memory\x02\x03'); // env.memory, a memory, shared and with a maximum
  let at = file.indexOf(limits) + limits.length;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = file[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  return [number(), number()][1];
}

for (const name of ENGINES.filter((file) => file.includes('threads')))
  test(`${name} declares the memory that is made for it`, () => {
    assert.equal(pagesOf(readFileSync(new URL(`../../../js/engine/${name}`, import.meta.url))), PAGES_MAX);
  });
