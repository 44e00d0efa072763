// adapter_config.json of PEFT is read as PEFT reads it, or refused by name (tests/golden/scripts/make_peft_config.py).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isKnown, KEYS, lackingFor, OURS } from '../../../js/adapters/peft-config.js';

const golden = JSON.parse(readFileSync(new URL('../../golden/data/peft_config.json', import.meta.url), 'utf8'));
const usual = golden.usual.config;

for (const [name, { config, plain }] of Object.entries(golden))
  test(`${name}: ${plain ? 'read' : 'refused'}, PEFT computes ${plain ? 'W x + α / r · B A x' : 'another y'}`, () => {
    const lacking = lackingFor({ ...usual, ...config });
    if (plain) return assert.equal(lacking, undefined);
    assert.match(lacking, new RegExp(`^(PEFT's )?${Object.keys(config)[0]} is `));
  });

test('whatever else changes what PEFT computes is refused by its name', () => {
  const begins = 'not one of null, true, false, gaussian, eva, orthogonal, mica';
  for (const [change, sentence] of [
    [{ init_lora_weights: 'loftq' }, `init_lora_weights is "loftq", ${begins}`],
    [{ init_lora_weights: 'corda' }, `init_lora_weights is "corda", ${begins}`],
    [{ arrow_config: { top_k: 3 } }, "PEFT's arrow_config is not supported"],
    [{ layers_to_transform: [0] }, "PEFT's layers_to_transform is not supported"],
    [{ layers_to_transform: 1 }, "PEFT's layers_to_transform is not supported"],
    [{ layers_pattern: 'h' }, "PEFT's layers_pattern is not supported"],
    [{ of_tomorrow: true }, "PEFT's of_tomorrow is not supported"],
    [{ peft_type: 'IA3' }, 'peft_type is "IA3", not LORA'],
    [{ peft_type: undefined }, 'peft_type is undefined, not LORA'],
  ])
    assert.equal(lackingFor({ ...usual, ...change }), sentence);
  assert.equal(lackingFor({ ...usual, layers_to_transform: [0] }, ['layers_to_transform']), undefined);
  assert.match(lackingFor({ ...usual, layers_to_transform: [0], use_dora: true }, ['layers_to_transform']), /use_dora/);
});

test('values of other kinds than PEFT takes are refused by their entry', () => {
  const rows = [
    ['r', [1, 8.5], ['a number', null, '8', NaN, Infinity, true, [8]]],
    ['lora_alpha', [-1, 16], ['a number', null, '16', {}]],
    ['lora_dropout', [0, 0.5, 1], ['a number from 0 to 1', -0.1, 1.1, null, '0.5', NaN]],
    ['rank_pattern', [{}, { fc: 4 }], ['an object of numbers', null, [], 'fc', 4]],
    ['alpha_pattern', [{}, { fc: 4 }], ['an object of numbers', null, [4], 4]],
    ['target_modules', [null, 'fc', [], ['fc', 'out']], ['a text or a list of texts', 4, {}, [4], ['fc', null]]],
    ['exclude_modules', [null, 'fc', ['fc']], ['a text or a list of texts', true, [[]]]],
    ['modules_to_save', [null, ['fc']], ['a text or a list of texts', 0]],
    ['bias', ['none', 'all', 'lora_only'], ['one of none, all, lora_only', null, 'some', true]],
    ['eva_config', [null, {}, { rho: 2 }], ['an object', [], 'eva', 2, false]],
  ];
  for (const [key, fine, [wanted, ...wrong]] of rows) {
    for (const value of [undefined, ...fine])
      assert.equal(lackingFor({ ...usual, [key]: value }), undefined, `${key}: ${value}`);
    for (const value of wrong) {
      const said = lackingFor({ ...usual, [key]: value });
      assert.ok(said.startsWith(`${key} is `) && said.endsWith(`, not ${wanted}`), `${said}, of ${value}`);
    }
  }
  for (const task of ['SEQ_CLS', 'CAUSAL_LM', null]) assert.equal(lackingFor({ ...usual, task_type: task }), undefined);
  for (const [value, said] of [
    ['LM', '"LM"'],
    ['x'.repeat(99), `"${'x'.repeat(64)}"`],
    [7, '7'],
    [[7], 'a list'],
    [{ a: 7 }, 'an object'],
  ])
    assert.match(
      lackingFor({ ...usual, task_type: value }),
      new RegExp(`^task_type is ${said}, not one of null, SEQ_CLS`),
    );
  assert.equal(lackingFor({ ...usual, peft_type: null }), 'peft_type is null, not LORA');
});

test('empty, false and null ask for nothing', () => {
  for (const nothing of [null, undefined, false, 0, '', [], {}])
    assert.equal(lackingFor({ ...usual, of_tomorrow: nothing }), undefined, JSON.stringify(nothing));
});

test("options are known by PEFT's names and by ours", () => {
  assert.deepEqual(
    Object.keys(usual).filter(isKnown).sort(),
    [...Object.keys(OURS), 'r', 'bias'].sort(),
    'all that we have is in the file that PEFT writes',
  );
  for (const key of ['r', 'alpha', 'targets', 'rsLora', 'moduleNames', 'init']) assert.ok(isKnown(key), key);
  for (const key of ['use_dora', 'toString', 'rank']) assert.ok(!isKnown(key), key);
  assert.equal(new Set(KEYS).size, KEYS.length);
});
