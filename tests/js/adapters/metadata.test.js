// A model's notes of its adapters: read where they fit its parameters, else refused by the entry that is wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loraIn, pairOf } from '../../../js/adapters/metadata.js';

const module = { name: 'fc1', kind: 'linear', weight: 'fc1.weight', r: 2, alpha: 8 };
const other = { parameter: 'fc3.weight', name: 'fc3.weight', turned: true };
const lora = {
  r: 2,
  alpha: 8,
  dropout: 0,
  rsLora: false,
  bias: 'none',
  modulesToSave: ['fc3'],
  modules: [module],
  others: [other],
};
const parameters = [
  { name: 'fc1.lora_A.weight', dims: [2, 20] },
  { name: 'fc1.lora_B.weight', dims: [32, 2] },
  { name: 'fc3.weight', dims: [32, 3] },
];
const read = (change, given = parameters) => loraIn('exportAdapter', JSON.stringify({ ...lora, ...change }), given);
const damaged = (what) => ({
  code: 'invalid-model',
  message: `the model's metadata 'trainlet.lora' is damaged: ${what}`,
});

test('notes that fit the parameters are read as they are', () => {
  assert.deepEqual(read({}), lora);
  assert.deepEqual(read({ modules: [], others: [], modulesToSave: [] }, []).modules, []);
});

test('a model without notes has no adapter', () => {
  for (const none of [undefined, ''])
    assert.throws(() => loraIn('useAdapter', none, parameters), {
      code: 'invalid-argument',
      message: 'useAdapter: the session has no adapter: make its artifacts with the option lora',
    });
});

test('an embedding calls its matrices otherwise', () => {
  assert.deepEqual(pairOf(module), ['fc1.lora_A.weight', 'fc1.lora_B.weight']);
  assert.deepEqual(pairOf({ ...module, kind: 'conv' }), ['fc1.lora_A.weight', 'fc1.lora_B.weight']);
  assert.deepEqual(pairOf({ ...module, kind: 'embedding' }), ['fc1.lora_embedding_A', 'fc1.lora_embedding_B']);
});

test('each entry is checked, and named where it is wrong', () => {
  const whole = (r) => [{ r }, `it.r is ${r}, not a whole number from 1 to 65536`];
  const rows = [
    ...[0, -1, 65537, 1.5].map(whole),
    [{ r: { constructor: null } }, 'it.r is an object, not a whole number from 1 to 65536'],
    [{ r: '2' }, "it.r is '2', not a whole number from 1 to 65536"],
    [{ alpha: '8' }, "it.alpha is '8', not a finite number"],
    [{ dropout: null }, 'it.dropout is null, not a finite number'],
    [{ rsLora: 0 }, 'it.rsLora is 0, not true or false'],
    [{ bias: 1 }, 'it.bias is 1, not a text'],
    [{ modulesToSave: 'fc3' }, "it.modulesToSave is 'fc3', not a list"],
    [{ modulesToSave: ['fc3', 3] }, 'it.modulesToSave[1] is 3, not a text'],
    [{ modules: { 0: module, length: 1 } }, 'it.modules is an object, not a list'],
    [{ modules: [module, null] }, 'it.modules[1] is null, not an object'],
    [{ modules: [[]] }, 'it.modules[0] is an array, not an object'],
    [{ modules: ['fc1'] }, "it.modules[0] is 'fc1', not an object"],
    [{ modules: [{ ...module, r: 0 }] }, 'it.modules[0].r is 0, not a whole number from 1 to 65536'],
    [{ modules: [{ ...module, kind: 'gru' }] }, "it.modules[0].kind is 'gru', not linear, conv or embedding"],
    [{ modules: [{ ...module, weight: undefined }] }, 'it.modules[0].weight is undefined, not a text'],
    [{ others: [{ ...other, turned: 'no' }] }, "it.others[0].turned is 'no', not true or false"],
  ];
  for (const [change, what] of rows) assert.throws(() => read(change), damaged(what));
  for (const [text, what] of [
    ['{', 'it is no JSON'],
    ['7', 'it is 7, not an object'],
    ['null', 'it is null, not an object'],
    ['[]', 'it is an array, not an object'],
  ])
    assert.throws(() => loraIn('exportAdapter', text, parameters), damaged(what));
});

test('a rank of 1 and of 65536 are ranks', () => {
  for (const r of [1, 65536]) {
    const dims = { A: [r, 20], B: [32, r] };
    const given = ['A', 'B'].map((which) => ({ name: `fc1.lora_${which}.weight`, dims: dims[which] }));
    const read = loraIn('it', JSON.stringify({ ...lora, r, modules: [{ ...module, r }], others: [] }), given);
    assert.equal(read.r, r);
  }
});

test('what the model does not have is not believed', () => {
  const none = damaged("no parameters of rank 2 adapt its module 'fc1'");
  const [a, b, weight] = parameters;
  for (const given of [
    [a, weight],
    [b, weight],
    [{ ...a, dims: [3, 2] }, b, weight],
    [a, { ...b, dims: [2, 3] }, weight],
  ])
    assert.throws(() => read({}, given), none);
  assert.throws(() => read({}, [a, b]), damaged("its parameter 'fc3.weight' is none of the model's"));
});
