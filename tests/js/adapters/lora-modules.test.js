// Adapters of weights whose modules would have one name, and of layers that read one weight in several ways.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ort from 'onnxruntime-web-1.30';
import { readSafetensors } from '../../../js/formats/safetensors.js';
import { generateArtifacts, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const TENSORS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';
const FOLDER = join(root, 'tests/golden/data/lora_attention');
const { lr, weight_decay: weightDecay, models } = JSON.parse(readFileSync(join(FOLDER, 'models.json'), 'utf8'));

/** The numbers of make_lora_attention.py. */
function numbers(dims, by = 7) {
  const count = dims.reduce((product, dim) => product * dim, 1);
  return new Tensor(
    'float32',
    Float32Array.from({ length: count }, (_, k) => ((k * k * by + 3 * k) % 101) / 50 - 1),
    dims,
  );
}

const TARGET = numbers([4, 3], 11);
const inputsOf = ({ dims }) => dims.map((one, i) => numbers(one, i && one[2] === 8 ? 5 : 7));
const modelOf = (name, how) => readFileSync(join(FOLDER, `${name}-${how}.onnx`));
const configOf = (files) => JSON.parse(new TextDecoder().decode(files[CONFIG]));
const tensorsOf = (files) => readSafetensors(files[TENSORS], 'it', TrainletError).tensors;
const folderOf = (name, which) =>
  Object.fromEntries([TENSORS, CONFIG].map((file) => [file, readFileSync(join(FOLDER, name, which, file))]));

async function sessionOf(model, lora) {
  const options = { loss: 'mse', optimizer: { type: 'adamw', lr, weightDecay }, lora };
  return await TrainingSession.create(await generateArtifacts(model, { ...HERE, ...options }), HERE);
}

/** Inputs by the session's names, labels beside them. */
function feedsOf(session, inputs) {
  const { trainingInputs } = session;
  const label = trainingInputs.find(({ name }) => name.includes('label') || name.includes('target'));
  const names = trainingInputs.map(({ name }) => name).filter((name) => name !== label.name);
  const feeds = Object.fromEntries(names.map((name, i) => [name, inputs[i]]));
  const width = label.dims[1];
  const rows = label.dims.length === 2 && width === 3 ? TARGET : numbers([4, width], 11);
  return { feeds, all: { ...feeds, [label.name]: rows } };
}

async function lossesOf(session, all) {
  const losses = [];
  for (let i = 0; i < 3; i++) losses.push((await session.step(all)).loss);
  return losses;
}

const outputOf = async (session, feeds) => Object.values(await session.predict(feeds))[0].data;

async function checkMerged(session, feeds, wanted) {
  const merged = await ort.InferenceSession.create(await session.exportModel({ adapters: 'merged' }), {
    logSeverityLevel: 3,
  });
  const theirs = Object.entries(feeds).map(([name, { data, dims }]) => [name, new ort.Tensor('float32', data, dims)]);
  const [{ data }] = Object.values(await merged.run(Object.fromEntries(theirs)));
  for (const [i, value] of wanted.entries()) assert.ok(Math.abs(value - data[i]) < 1e-5, `merged: ${data[i]} at ${i}`);
}

for (const [name, model] of Object.entries(models))
  for (const how of model.exports)
    test(`${name}, ${how}: an adapter of all linear layers trains, is exported, loaded and merged`, async () => {
      const session = await sessionOf(modelOf(name, how), { r: 2, alpha: 6 });
      const { feeds, all } = feedsOf(session, inputsOf(model));
      const losses = await lossesOf(session, all);
      assert.ok(losses[1] < losses[0] && losses[2] < losses[1], String(losses));
      const files = await session.exportAdapter();
      const wanted = await outputOf(session, feeds);
      await checkMerged(session, feeds, wanted);
      const again = await sessionOf(modelOf(name, how), configOf(files));
      await again.loadAdapter(files);
      assert.deepEqual(await outputOf(again, feeds), wanted);
      assert.deepEqual(tensorsOf(await again.exportAdapter()), tensorsOf(files));
      await Promise.all([session.release(), again.release()]);
    });

for (const [name, how] of [
  ['encoder', 'default'],
  ['encoder', 'script'],
  ['cross', 'default'],
  ['cross', 'readme'],
  ['cross', 'script_train'],
])
  test(`${name}, ${how}: PEFT's folder of MultiheadAttention loads, trains and is written as PEFT does`, async () => {
    const first = folderOf(name, 'first');
    const config = configOf(first);
    // PEFT 0.21.2 adds what out_proj's adapter gives twice
    const session = await sessionOf(modelOf(name, how), {
      ...config,
      alpha_pattern: { out_proj: 2 * config.lora_alpha },
    });
    await session.loadAdapter({ [TENSORS]: first[TENSORS] });
    const { all } = feedsOf(session, inputsOf(models[name]));
    for (const [i, loss] of (await lossesOf(session, all)).entries())
      assert.ok(Math.abs(loss - models[name].losses[i]) < 1e-5, `loss ${i}: ${loss}, PEFT ${models[name].losses[i]}`);
    const files = await session.exportAdapter();
    const [ours, theirs] = [tensorsOf(files), tensorsOf(folderOf(name, 'last'))];
    assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort());
    for (const [key, { dims, data }] of theirs) {
      assert.deepEqual(ours.get(key).dims, dims, key);
      for (const [i, value] of data.entries()) assert.ok(Math.abs(ours.get(key).data[i] - value) < 1e-4, `${key} ${i}`);
    }
    assert.ok(
      !configOf(files).target_modules.some((one) => one.endsWith('out_proj')),
      'attention takes out_proj with it',
    );
    await session.release();
  });

test('weights of one module have names of their own, and a target that takes the module takes them all', async () => {
  const namesOf = async (name, how, lora) => {
    const session = await sessionOf(modelOf(name, how), lora);
    const adapted = session.parameters.filter(({ name: one }) => one.endsWith('lora_A.weight'));
    await session.release();
    return adapted.map((one) => one.name.replace('.lora_A.weight', ''));
  };
  const [attention, all] = [{ r: 2, targets: ['attn'] }, { r: 2 }];
  assert.deepEqual(await namesOf('cross', 'default', attention), ['attn', 'attn.out_proj']);
  assert.deepEqual(await namesOf('cross', 'default', { r: 2, targets: ['out_proj'] }), ['attn.out_proj']);
  assert.deepEqual(await namesOf('cross', 'script', attention), ['attn.MatMul', 'attn.MatMul_1', 'attn.out_proj']);
  const four = ['attn.q_proj_weight', 'attn.k_proj_weight', 'attn.v_proj_weight', 'attn.out_proj'];
  assert.deepEqual(await namesOf('sizes', 'default', attention), four);
  assert.deepEqual(await namesOf('twice', 'script', { r: 2, targets: ['layer_1'] }), ['layer']);
  for (const how of ['default', 'script']) assert.equal((await namesOf('turned', how, all)).length, 1, how);
});

test('ranks by patterns reach the weights within a module', async () => {
  const lora = { ...configOf(folderOf('cross', 'first')), rank_pattern: { attn: 4 } };
  const session = await sessionOf(modelOf('cross', 'default'), lora);
  const ranks = session.parameters.filter(({ name }) => name.endsWith('lora_A.weight')).map(({ dims }) => dims[0]);
  assert.deepEqual(ranks, [4, 4]);
  const files = await session.exportAdapter();
  const theirs = new TextEncoder().encode(JSON.stringify(lora));
  await session.loadAdapter({ [TENSORS]: files[TENSORS], [CONFIG]: theirs });
  await session.release();
});
