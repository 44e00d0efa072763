// .onnx_adapter files: ONNX Runtime's are read, ours have its layout, hostile ones are refused in a sentence.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOnnxAdapter, writeOnnxAdapter } from '../../../js/adapters/onnx.js';
import { generateArtifacts, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const FILE = 'adapter.onnx_adapter';
const mlp = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const pythons = readFileSync(join(root, 'tests/golden/data/lora/python.onnx_adapter'));
const sessionOf = async (lora = { r: 2 }) =>
  TrainingSession.create(await generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy', lora }), HERE);
const valuesOf = async (session) => {
  const names = session.parameters.filter((one) => one.trainable).map((one) => one.name);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, [...(await session.getParameter(name)).data]])),
  );
};

test('a file of Python’s onnxruntime is loaded, and what is written has the same tensors', async () => {
  const session = await sessionOf();
  await session.loadAdapter({ [FILE]: pythons });
  const values = await valuesOf(session);
  assert.deepEqual(Object.keys(values).length, 4);
  for (const [name, data] of Object.entries(values))
    assert.deepEqual(
      data,
      data.map((_, i) => (i % 7) / 8 - 0.25),
      name,
    );
  const { [FILE]: bytes } = await session.exportAdapter({ format: 'onnx' });
  assert.deepEqual(
    new Map([...readOnnxAdapter(bytes, 'ours')].sort()),
    new Map([...readOnnxAdapter(pythons, 'theirs')].sort()),
  );
  const again = await sessionOf();
  await again.addAdapter('work', { [FILE]: bytes });
  await again.useAdapter('work');
  assert.deepEqual(await valuesOf(again), values);
});

test('numbers lie at multiples of 8, names are those of the exported model’s inputs', async () => {
  const tensors = new Map([
    ['x.lora_A.weight', { dims: [1, 3], data: Float32Array.of(1.5, -2, 0.125) }],
    ['yy.lora_B.weight', { dims: [2, 1], data: Float32Array.of(3, -0) }],
  ]);
  const bytes = writeOnnxAdapter(tensors);
  assert.deepEqual(readOnnxAdapter(bytes, 'ours'), tensors);
  const pattern = Buffer.from(Float32Array.of(1.5, -2, 0.125).buffer);
  const at = Buffer.from(bytes).indexOf(pattern);
  assert.ok(at > 0 && at % 8 === 0, `at byte ${at}`);
  assert.equal(Buffer.from(bytes.slice(4, 8)).toString(), 'TORT');
});

test('what cannot be is one sentence', async () => {
  const session = await sessionOf();
  const saved = await sessionOf({ r: 2, modulesToSave: ['fc3'] });
  const code = 'invalid-argument';
  const wrong = [
    [() => saved.exportAdapter({ format: 'onnx' }), /'fc3\..*' trains whole, and is no input of exportModel/],
    [() => session.exportAdapter({ format: 'onnx', type: 'float16' }), /not for the format 'onnx'/],
    [() => session.exportAdapter({ format: 'gguf' }), /format is 'peft' or 'onnx', not 'gguf'/],
    [() => session.loadAdapter({}), /wanted { 'adapter_model.safetensors': … } or { 'adapter.onnx_adapter': … }/],
    [
      async () => (await sessionOf({ r: 3 })).loadAdapter({ [FILE]: pythons }),
      /is \[2,20\], and 'fc1.lora_A.weight' is/,
    ],
  ];
  for (const [act, message] of wrong) await assert.rejects(act(), { code, message });
});

test('every file that is cut off or has another offset is refused in a sentence, or reads within its bytes', () => {
  const tensors = new Map([
    ['a.lora_A.weight', { dims: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) }],
    ['a.lora_B.weight', { dims: [4, 2], data: new Float32Array(8).fill(2) }],
  ]);
  const refused = (bytes, message) => {
    try {
      readOnnxAdapter(bytes, 'file');
      return false;
    } catch (error) {
      assert.match(error.code, /^(source-unreadable|unsupported-version)$/, String(error.stack));
      assert.match(error.message, message);
      return true;
    }
  };
  for (const bytes of [writeOnnxAdapter(tensors), new Uint8Array(pythons)]) {
    for (let end = 0; end < bytes.length - 8; end++) refused(bytes.slice(0, end), /^file: /);
    assert.ok(refused(bytes.slice(0, bytes.length / 2), /^file: /));
    let count = 0;
    for (let at = 0; at < bytes.length - 4; at++)
      for (const word of [0xffffffff, 0x7fffffff, bytes.length, 4]) {
        const hostile = bytes.slice();
        new DataView(hostile.buffer).setUint32(at, word, true);
        count += Number(refused(hostile, /^file: /));
      }
    assert.ok(count > 100);
  }
  const named = [
    [new Uint8Array(4), /no \.onnx_adapter file/],
    [new TextEncoder().encode('somewhat longer text'), /does not have the letters TORT at byte 4/],
  ];
  for (const [bytes, message] of named) assert.ok(refused(bytes, message));
});
