/** The optimizer's type: on sessions, in checkpoints and what inspect says; the state of another one is refused. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { compactArtifacts, generateArtifacts, TrainingSession } from '../../../js/index.js';
import { clusters } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const golden = async (file) => new Uint8Array(await readFile(new URL(`../../golden/data/${file}`, import.meta.url)));
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
const ORT = fileURLToPath(new URL('../../golden/data/ort', import.meta.url));
const OPTIMIZERS = {
  adamw: 'adamw',
  adam: { type: 'adam', weightDecay: 0.01 }, // without, its model is AdamW's
  sgd: 'sgd',
  momentum: { type: 'sgd', momentum: 0.9 },
  adagrad: 'adagrad',
  rmsprop: 'rmsprop',
};
const typeOf = (name) => (name === 'momentum' ? 'sgd' : name);

let folder = '';
/** Indexed by the optimizer's name: artifacts, and checkpoints after a step. */
const made = {};
const saved = {};
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-optimizer-'));
  const model = await golden('mlp_small.onnx');
  for (const [name, optimizer] of Object.entries(OPTIMIZERS)) {
    made[name] = await generateArtifacts(model, { loss: 'cross-entropy', optimizer, ...HERE });
    const session = await TrainingSession.create(made[name], HERE);
    assert.equal(session.optimizer, typeOf(name));
    await step(session);
    saved[name] = await session.saveCheckpoint();
    await session.release();
  }
});
after(() => rm(folder, { recursive: true }));

async function step(session) {
  const { inputs, labels } = clusters(8, 1);
  return await session.step({ ...inputs, ...labels });
}

test('a session without an optimizer model, and those of ONNX Runtime', async () => {
  const { optimizerModel: _, ...rest } = made.adamw;
  const session = await TrainingSession.create(rest, HERE);
  assert.equal(session.optimizer, null);
  await session.release();
  for (const [name, ending] of [
    ['mnist_web', 'onnx'],
    ['ort_testdata_ortformat', 'ort'],
  ]) {
    const file = (part) => path.join(ORT, name, `${part}.${ending}`);
    const theirs = await TrainingSession.create(
      {
        trainModel: file('training_model'),
        optimizerModel: file('optimizer_model'),
        checkpointState: path.join(ORT, name, 'checkpoint'),
      },
      HERE,
    );
    assert.equal(theirs.optimizer, 'adamw-hf', name);
    await theirs.release();
  }
});

test('every state goes on under its own optimizer, and is refused under any other, with both names', async () => {
  for (const from of Object.keys(OPTIMIZERS))
    for (const to of Object.keys(OPTIMIZERS)) {
      const opening = TrainingSession.create({ ...made[to], checkpointState: saved[from] }, HERE);
      if (typeOf(from) === typeOf(to)) await (await opening).release();
      else
        await assert.rejects(opening, {
          code: 'checkpoint-mismatch',
          message: new RegExp(`state of the optimizer ${typeOf(from)}, and the optimizer model is ${typeOf(to)}: `),
        });
    }
});

test('what the sentence says to do helps: parameters stay, the other optimizer begins anew', async () => {
  const { optimizerModel: _, ...rest } = made.adam;
  const plain = await TrainingSession.create({ ...rest, checkpointState: saved.adamw }, HERE);
  const checkpointState = await plain.saveCheckpoint({ optimizerState: false });
  const parameters = await plain.getContiguousParameters();
  await plain.release();
  const session = await TrainingSession.create({ ...made.adam, checkpointState }, HERE);
  assert.deepEqual((await session.getContiguousParameters()).data, parameters.data);
  assert.ok(Number.isFinite((await step(session)).loss));
  await session.release();
});

test('a compact file keeps the type, and is not made of two', async () => {
  const mixed = compactArtifacts({ ...made.adam, checkpointState: saved.adamw }, HERE);
  await assert.rejects(mixed, { code: 'checkpoint-mismatch', message: /optimizer adamw, .* model is adam:/ });
  const compact = await compactArtifacts({ ...made.adamw, checkpointState: saved.adamw }, HERE);
  const other = TrainingSession.create({ compact, optimizerModel: made.adam.optimizerModel }, HERE);
  await assert.rejects(other, { code: 'checkpoint-mismatch', message: /optimizer adamw, .* model is adam:/ });
});

/** The varint at a place, and where it ends. */
function varint(bytes, at) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
  }
}

function bytesOfVarint(value) {
  const rest = Math.floor(value / 128);
  return rest ? [(value & 127) | 128, ...bytesOfVarint(rest)] : [value];
}

/** A checkpoint whose only optimizer group (field 2 of the body) does not say "adamw" (its field 2). */
function withoutType(checkpoint) {
  const [, from] = varint(checkpoint, 13); // after magic, version, checksum and the body's tag
  const body = Buffer.from(checkpoint.subarray(from));
  const type = body.indexOf('\x12\x05adamw', 0, 'latin1');
  for (let at = 0; ; ) {
    const [length, inside] = varint(body, at + 1);
    if (type < inside || type >= inside + length) {
      at = inside + length;
      continue;
    }
    const group = Buffer.concat([body.subarray(inside, type), body.subarray(type + 7, inside + length)]);
    const rest = body.subarray(inside + length);
    const cut = Buffer.concat([body.subarray(0, at), Buffer.of(0x12, ...bytesOfVarint(group.length)), group, rest]);
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(cut));
    return new Uint8Array([...checkpoint.subarray(0, 8), ...sum, 0x22, ...bytesOfVarint(cut.length), ...cut]);
  }
}

test('a checkpoint without a type, as older ones are, is taken as it is', async () => {
  const session = await TrainingSession.create({ ...made.adam, checkpointState: withoutType(saved.adamw) }, HERE);
  assert.ok(Number.isFinite((await step(session)).loss));
  await session.release();
});

test('inspect names it: of folders in both formats, of checkpoints in both, whoever wrote them', async () => {
  const line = async (...args) => {
    const { code, stdout, stderr } = await run('inspect', ...args);
    assert.equal(code, 0, stderr);
    return /^optimizer +(.*)$/m.exec(stdout)[1];
  };
  const at = (name) => path.join(folder, name);
  await cp(path.join(ORT, 'ort_testdata_ortformat'), at('ort'), { recursive: true });
  assert.equal(await line(at('ort')), 'adamw-hf');
  assert.match(await line(path.join(ORT, 'mnist_web')), /^adamw-hf$/);
  for (const name of Object.keys(OPTIMIZERS)) {
    await writeFile(at(name), saved[name]);
    assert.match(await line(at(name)), new RegExp(`^${typeOf(name)}, 1 steps done, learning rate `), name);
  }
  for (const [name, words] of [
    ['adamw', 'adamw by its two moments a parameter, 1 steps'],
    ['sgd', 'sgd by its one moment a parameter, 1 steps'],
  ]) {
    const session = await TrainingSession.create({ ...made[name], checkpointState: saved[name] }, HERE);
    await writeFile(at('theirs'), await session.saveCheckpoint({ format: 'ort' }));
    await session.release();
    assert.ok((await line(at('theirs'))).startsWith(words), await line(at('theirs')));
  }
});
