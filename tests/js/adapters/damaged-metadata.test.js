/** Adapters' metadata and configurations from outside: what is damaged is refused in a sentence, whatever it says. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSafetensors, writeSafetensors } from '../../../js/formats/safetensors.js';
import { generateArtifacts, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const mlp = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const artifacts = await generateArtifacts(mlp, {
  ...HERE,
  loss: 'cross-entropy',
  optimizer: 'sgd',
  lora: { r: 2, modulesToSave: ['fc3'] },
});
const open = (evalModel = artifacts.evalModel) => TrainingSession.create({ ...artifacts, evalModel }, HERE);
const metadata = (() => {
  const text = Buffer.from(artifacts.evalModel).toString('latin1');
  const from = text.indexOf('{', text.indexOf('trainlet.lora'));
  return { from, json: text.slice(from, text.indexOf('}]}', from) + 3) };
})();

/** The eval model with other metadata of the same length, so that the file around it stays whole. */
function evalModelWith(json) {
  assert.ok(json.length <= metadata.json.length, `${json.length} letters`);
  const bytes = Uint8Array.from(artifacts.evalModel);
  bytes.set(Buffer.from(json.padEnd(metadata.json.length), 'latin1'), metadata.from);
  return bytes;
}

/** Answers of the methods that read it; 'fine' where they work. */
async function answers(evalModel, file) {
  const said = [];
  const note = async (work) => {
    try {
      await work();
      said.push('fine');
    } catch (error) {
      assert.ok(error instanceof TrainletError, `${error.stack}`);
      said.push(error.message);
    }
  };
  await note(async () => {
    const session = await open(evalModel);
    await note(() => session.exportAdapter());
    await note(() => session.loadAdapter(file));
    await note(() => session.addAdapter('more'));
    await note(() => session.useAdapter({ default: 0.5, more: 0.5 }));
    await session.release();
  });
  return said;
}

const session = await open();
const file = await session.exportAdapter();
const config = JSON.parse(new TextDecoder().decode(file['adapter_config.json']));

const load = (change) =>
  session.loadAdapter({ ...file, 'adapter_config.json': Buffer.from(JSON.stringify({ ...config, ...change })) });

test('metadata that says something else is refused by its entry', async () => {
  assert.deepEqual(await answers(evalModelWith(metadata.json), file), Array(5).fill('fine'));
  const changed = (change) => {
    const lora = JSON.parse(metadata.json);
    for (const key of ['targets', 'exclude', 'rankPattern', 'alphaPattern']) delete lora[key];
    change(lora);
    return JSON.stringify(lora);
  };
  const rows = [
    ['{"r":2', /is damaged: it is no JSON/],
    ['7', /is damaged: it is 7, not an object/],
    ['null', /is damaged: it is null, not an object/],
    [
      changed((lora) => (lora.modules[0].r = 5e8)),
      /it.modules\[0\].r is 500000000, not a whole number from 1 to 65536/,
    ],
    [changed((lora) => (lora.modules[0].r = 999)), /no parameters of rank 999 adapt its module 'fc1'/],
    [changed((lora) => (lora.modules[0].name = 'x')), /no parameters of rank 2 adapt its module 'x'/],
    [changed((lora) => (lora.modules[0].kind = 'x')), /it.modules\[0\].kind is '?x'?, not linear, conv or embedding/],
    [changed((lora) => delete lora.modules), /it.modules is undefined, not a list/],
    [changed((lora) => (lora.others = [1])), /it.others\[0\] is 1, not an object/],
    [changed((lora) => (lora.others[0].parameter = 'x')), /its parameter 'x' is none of the model's/],
    [changed((lora) => (lora.modulesToSave = {})), /it.modulesToSave is .*, not a list/],
    [changed(() => {}).replace('"alpha":8', '"alpha":1e999'), /it.alpha is Infinity, not a finite number/],
    [changed((lora) => (lora.dropout = '0')), /it.dropout is '?0'?, not a finite number/],
  ];
  for (const [json, sentence] of rows) {
    const [exported, loaded, , summed] = await answers(evalModelWith(json), file);
    for (const said of [exported, loaded, summed]) assert.match(said, sentence, json);
  }
});

test('a value whose constructor is no class is named as an object', async () => {
  const odd = JSON.parse('{"constructor":{"name":{"toString":1,"valueOf":1}}}');
  const lora = JSON.parse(metadata.json);
  for (const key of ['targets', 'exclude', 'rankPattern', 'alphaPattern']) delete lora[key];
  const [exported] = await answers(evalModelWith(JSON.stringify({ ...lora, r: odd })), file);
  assert.match(exported, /it.r is an object, not a whole number/);
  await assert.rejects(load({ alpha_pattern: { fc1: odd } }), /alpha_pattern\['fc1'\] is an object, not a number/);
});

test('300 random changes of the metadata end in sentences', async () => {
  let state = 5;
  const below = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  let refused = 0;
  for (let i = 0; i < 300; i++) {
    const letters = [...metadata.json];
    for (let k = 0; k <= below(3); k++) letters[below(letters.length)] = '"{}[]:,019eaN \\'[below(15)];
    const said = await answers(evalModelWith(letters.join('')), file);
    refused += Number(said.some((one) => one !== 'fine'));
  }
  assert.ok(refused > 150, `${refused} refused`);
});

test('a configuration means what PEFT means by it, or is refused', async () => {
  for (const change of [{}, { lora_alpha: undefined }, { layers_to_transform: [0] }, { use_dora: false }])
    await load(change);
  const rows = [
    [{ use_dora: true }, /PEFT's use_dora is not supported/],
    [{ peft_type: 'LOHA' }, /peft_type is "LOHA", not LORA/],
    [{ peft_type: undefined }, /peft_type is undefined, not LORA/],
    [{ lora_alpha: '8' }, /lora_alpha is .*8.*, not a number/],
    [{ lora_alpha: {} }, /lora_alpha is .*, not a number/],
    [{ lora_alpha: 16 }, /'fc1' has rank 2 and alpha 8 here, the adapter 2 and 16/],
    [{ r: undefined }, /'fc1' has rank 2 and alpha 8 here, the adapter 8 and 8/],
    [{ r: [2] }, /: r is .*, not a number/],
    [{ r: 0 }, /'fc1' has rank 2 and alpha 8 here, the adapter 0 and 8/],
    [{ alpha_pattern: { fc2: 'x' } }, /alpha_pattern\['fc2'\] is .*x.*, not a number/],
    [{ use_rslora: true }, /'fc1' has rank 2/],
  ];
  for (const [change, sentence] of rows)
    await assert.rejects(
      load(change),
      (error) => error instanceof TrainletError && sentence.test(error.message),
      JSON.stringify(change),
    );
  const named = JSON.stringify({ ...config, lora_alpha: 'NaN' }).replace('"NaN"', 'NaN');
  await assert.rejects(
    session.loadAdapter({ ...file, 'adapter_config.json': Buffer.from(named) }),
    /it is no JSON object/,
  );
});

test('entries of a configuration that PEFT refuses, or that change the base weights, are refused by name', async () => {
  const texts = [7, true, {}, [7], [['fc1']], [null]];
  const objects = [null, 7, 'x', true, ['fc1']];
  const rows = {
    r: [null, '2', true, [2]],
    lora_alpha: [null, '8', true, {}],
    lora_dropout: [null, 'x', [], -1, 7],
    rank_pattern: objects,
    alpha_pattern: objects,
    target_modules: texts,
    exclude_modules: texts,
    modules_to_save: texts,
    bias: [null, '', 'x', 7, true, ['none']],
    task_type: ['', 'LM', 7, {}, ['CAUSAL_LM']],
    init_lora_weights: [7, {}, [1], 'x', 'pissa', 'pissa_niter_4', 'olora', 'corda', 'loftq', 'lora_ga'],
    corda_config: [7, 'x', [1]],
  };
  for (const [key, values] of Object.entries(rows))
    for (const value of values)
      await assert.rejects(
        load({ [key]: value }),
        (error) => error instanceof TrainletError && error.message.includes(`adapter_config.json: ${key} is `),
        `${key}: ${JSON.stringify(value)}`,
      );
  for (const end of ['fc1', '2', ''])
    await assert.rejects(load({ modules_to_save: ['fc3', end] }), /modules_to_save has 'fc[12]', which has an/);
  for (const change of [{ target_modules: [] }, { target_modules: ['x', 'c1'] }, { exclude_modules: ['fc1', 'fc2'] }])
    await assert.rejects(load(change), /target_modules names no module that is here: fc1, …/, JSON.stringify(change));
  const deep = (key) => `{"peft_type": "LORA", "${key}": ${'['.repeat(1e5)}${']'.repeat(1e5)}}`;
  for (const key of ['peft_type', 'bias', 'target_modules', 'alpha_pattern'])
    await assert.rejects(
      session.loadAdapter({ ...file, 'adapter_config.json': Buffer.from(deep(key)) }),
      TrainletError,
    );
  const fine = { init_lora_weights: 'gaussian', task_type: 'CAUSAL_LM', exclude_modules: [], modules_to_save: 'fc3' };
  await load({ target_modules: ['base.fc1'], exclude_modules: ['fc2'] });
  await load({ ...fine, corda_config: null, eva_config: {}, lora_dropout: 1, target_modules: 'fc[12]' });
});

test("names have PEFT's prefix in all of a file, or in none", async () => {
  const { tensors } = readSafetensors(file['adapter_model.safetensors'], 'file');
  const named = (change) => {
    const changed = new Map([...tensors].map(([name, tensor], i) => [change(name, i), tensor]));
    return session.loadAdapter({ ...file, 'adapter_model.safetensors': writeSafetensors(changed, 'float32') });
  };
  await named((name) => name.replace('base_model.model.', ''));
  await named((name) => name.replace('model.', 'model.wrapper.'));
  for (const other of ['', 'base_model.', 'ase_model.model.', 'base_model.modem.'])
    await assert.rejects(
      named((name, i) => (i === 5 ? name.replace('base_model.model.', other) : name)),
      (error) => error instanceof TrainletError && error.message.includes("does not begin with 'base_model.model.'"),
      other,
    );
});

test('patterns of ranks and alphas are regular expressions, as in PEFT', async () => {
  // get_pattern_key of PEFT 0.21 finds these for fc1 and fc2, whose rank is 2 and alpha 8 here
  for (const same of [{ c1: 16 }, { 'base_model.fc1': 16 }, { 'fc[12]': 8, fc1: 16 }, { 'x|y': 16 }])
    await load({ alpha_pattern: same });
  await load({ rank_pattern: { 'fc(1|2)': 2 }, r: 4, lora_alpha: 8 });
  for (const key of ['fc[12]', '^fc1$', '.c1', 'fc1|fc2', '.*fc1', 'fc\\d', 'fc1'])
    await assert.rejects(load({ alpha_pattern: { [key]: 16 } }), /'fc1' has rank 2 and alpha 8 here, .* 2 and 16/, key);
  for (const key of ['(', '*', '('.repeat(2000)])
    await assert.rejects(load({ rank_pattern: { [key]: 2 } }), /^TrainletError: .*: rank_pattern has '/, key);
  const made = async (lora) => {
    const { evalModel } = await generateArtifacts(mlp, { ...HERE, loss: 'cross-entropy', lora });
    const [, modules] = /"modules":(\[.*?\])/.exec(Buffer.from(evalModel).toString('latin1'));
    return JSON.parse(modules).map(({ r, alpha }) => [r, alpha]);
  };
  const peft = { peft_type: 'LORA', r: 2, lora_alpha: 8, target_modules: ['fc1', 'fc2'] };
  assert.deepEqual(await made({ ...peft, rank_pattern: { '^fc[13]$': 3 }, alpha_pattern: { 'fc\\d': 16 } }), [
    [3, 16],
    [2, 16],
  ]);
  await assert.rejects(made({ ...peft, rank_pattern: { '(': 3 } }), /lora: rank_pattern has '\(', which/);
});

test('float16 does not make infinities of large numbers', async () => {
  const own = await open();
  const { name, dims } = own.parameters.find((one) => one.name === 'fc1.lora_B.weight');
  const data = new Float32Array(dims[0] * dims[1]).fill(0.1);
  data[3] = 65519;
  await own.setParameter(name, new Tensor('float32', data, dims));
  await own.exportAdapter({ type: 'float16' });
  data[3] = -70000;
  await own.setParameter(name, new Tensor('float32', data, dims));
  await assert.rejects(
    own.exportAdapter({ type: 'float16' }),
    /'.*fc1.lora_B.weight' has -70000 at 3, more than float16/,
  );
  await own.exportAdapter({ type: 'bfloat16' });
  await own.release();
});
