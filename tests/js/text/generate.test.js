// Text of language models: transformers' tokens and probabilities, in every form in which such models are exported.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generate, generateArtifacts, InferenceSession, packText, Tensor, TrainingSession } from '../../../js/index.js';
import { padded } from '../../../js/text/generate.js';
import { probabilities } from '../../../js/text/sampling.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { HERE, root } from '../../support/engines.js';

const golden = JSON.parse(readFileSync(join(root, 'tests/golden/data/generate.json'), 'utf8'));
const model = (name) => readFileSync(join(root, `tests/golden/data/generate/${name}.onnx`));
const FORMS = { gpt2: 'gpt2', gpt2_past: 'gpt2', gpt2_merged: 'gpt2', llama_past: 'llama', llama_gqa: 'llama' };
const NEW = golden.greedy.gpt2[0].ids.length;
/** Feeds of a whole prompt, with nothing kept before it. */
function promptOf(prompt) {
  const empty = new Tensor('float32', new Float32Array(), [1, 1, 0, 16]);
  const row = (at) =>
    new Tensor(
      'int64',
      BigInt64Array.from(prompt, (id, i) => BigInt(at(id, i))),
      [1, prompt.length],
    );
  return {
    input_ids: row((id) => id),
    attention_mask: row(() => 1),
    position_ids: row((_, i) => i),
    past_key_values: { 0: { key: empty, value: empty }, 1: { key: empty, value: empty } },
  };
}
const ours = ({ repetition_penalty: repetitionPenalty }) => ({ maxTokens: NEW, repetitionPenalty });

for (const [form, runs] of Object.entries(FORMS))
  test(`${form}: the tokens of transformers' generate`, async () => {
    const session = await InferenceSession.create(model(form), HERE);
    for (const { prompt, options, ids } of golden.greedy[runs]) {
      const told = [];
      const made = await generate(session, prompt, { ...ours(options), onToken: (id) => told.push(id) });
      assert.deepEqual(made, { ids, stopped: 'max-tokens' }, JSON.stringify({ prompt, options }));
      assert.deepEqual(told, ids);
    }
    await session.release();
  });

test('a merged decoder may have its branch as a constant', async () => {
  const session = await InferenceSession.create(model('gpt2_merged'), {
    ...HERE,
    constants: { use_cache_branch: true },
  });
  const [, , { prompt, ids }] = golden.greedy.gpt2;
  assert.deepEqual((await generate(session, prompt, { maxTokens: NEW })).ids, ids);
  await session.release();
});

test('in a worker as well, on ids of any kind', async () => {
  const session = await InferenceSession.create(model('llama_past'));
  const [, , { prompt, ids }] = golden.greedy.llama;
  for (const given of [BigInt64Array.from(prompt, BigInt), Int32Array.from(prompt)])
    assert.deepEqual((await generate(session, given, { maxTokens: 5 })).ids, ids.slice(0, 5));
  await session.release();
});

test("probabilities are those of transformers' processors", () => {
  const { scores, ids, rows } = golden.sampling;
  for (const { options, probabilities: wanted } of rows) {
    const { temperature, top_k: topK, top_p: topP, repetition_penalty: repetitionPenalty } = options;
    const found = probabilities(Float32Array.from(scores), ids, { temperature, topK, topP, repetitionPenalty });
    wanted.forEach((p, i) => {
      assert.ok(Math.abs(found[i] - p) < 1e-6, `${JSON.stringify(options)}: token ${i} has ${found[i]}, not ${p}`);
      assert.equal(found[i] === 0, p === 0);
    });
  }
});

test('tokens are drawn by their probabilities, the same for the same seed', async () => {
  const session = await InferenceSession.create(model('gpt2'), HERE);
  const logits = (await session.run({ input_ids: new Tensor('int64', [3n, 1n, 4n], [1, 3]) })).logits.data.slice(-40);
  const options = { maxTokens: 1, temperature: 2, topP: 0.9 };
  const shares = probabilities(logits, [3, 1, 4], options);
  const counts = new Float64Array(40);
  const DRAWS = 4000;
  for (let seed = 0; seed < DRAWS; seed++) counts[(await generate(session, [3, 1, 4], { ...options, seed })).ids[0]]++;
  const spread = shares.reduce((sum, p, i) => sum + (p ? (counts[i] - DRAWS * p) ** 2 / (DRAWS * p) : 0), 0);
  const kinds = shares.filter((p) => p).length;
  assert.ok(spread < kinds + 4 * Math.sqrt(2 * kinds), `chi squared ${spread} of ${kinds} tokens`);
  assert.ok(shares.every((p, i) => p || !counts[i]));
  const drawn = () => generate(session, [3, 1, 4], { maxTokens: 30, temperature: 1.5, seed: 7 });
  assert.deepEqual(await drawn(), await drawn());
  const other = await generate(session, [3, 1, 4], { maxTokens: 30, temperature: 1.5, seed: 8 });
  assert.notDeepEqual(await drawn(), other);
  await session.release();
});

test('it ends after a token, or after several, and at its signal', async () => {
  const session = await InferenceSession.create(model('llama_past'), HERE);
  const { prompt, ids } = golden.greedy.llama[3]; // with a penalty: it does not repeat itself
  const repetitionPenalty = 1.3;
  const at = ids.findIndex((id, i) => i > 3 && !ids.slice(0, i).includes(id));
  const ended = { ids: ids.slice(0, at + 1), stopped: 'stop' };
  const stops = [
    [ids[at]],
    [[ids[at]]],
    [[ids[at - 1], ids[at]]],
    [[39, ids[at]], Int32Array.of(ids[at - 1], ids[at])],
  ];
  for (const stop of stops)
    assert.deepEqual(await generate(session, prompt, { maxTokens: NEW, repetitionPenalty, stop }), ended);
  const controller = new AbortController();
  let count = 0;
  const onToken = async () => {
    await new Promise((done) => setTimeout(done, 1));
    if (++count === 4) controller.abort();
  };
  await assert.rejects(generate(session, prompt, { maxTokens: NEW, onToken, signal: controller.signal }), {
    code: 'aborted',
  });
  assert.equal(count, 4);
  await session.release();
});

test('other runs, and another text, may come between', async () => {
  const session = await InferenceSession.create(model('llama_past'), HERE);
  const [first, , second] = golden.greedy.llama;
  const onToken = (id) => (id % 2 ? session.run(promptOf([1, 1])) : generate(session, second.prompt, { maxTokens: 2 }));
  const made = await Promise.all([
    generate(session, first.prompt, { maxTokens: NEW, onToken }),
    generate(session, second.prompt, { maxTokens: NEW }),
  ]);
  assert.deepEqual(made[0].ids, first.ids);
  assert.deepEqual(made[1].ids, second.ids);
  await session.release();
});

test('two texts may begin at any moment of each other', async () => {
  const [first, , second] = golden.greedy.llama;
  for (let runs = 0; runs < 8; runs++) {
    const session = await InferenceSession.create(model('llama_past'), HERE); // a new one compares scores anew
    const begun = generate(session, first.prompt, { maxTokens: 6 });
    for (let i = 0; i < runs; i++) await session.run(promptOf(second.prompt));
    const late = generate(session, second.prompt, { maxTokens: 6 });
    assert.deepEqual((await begun).ids, first.ids.slice(0, 6), `the first, ${runs} runs before the second`);
    assert.deepEqual((await late).ids, second.ids.slice(0, 6), `the second, ${runs} runs after the first`);
    await session.release();
  }
});

const CYCLE = [5, 17, 3, 29, 11, 8];
for (const form of ['gpt2', 'gpt2_past'])
  test(`${form}: what an adapter has learned answers at once`, async () => {
    const loss = { type: 'cross-entropy', ignoreIndex: -100 };
    const lora = { r: 4, alpha: 8 };
    const artifacts = await generateArtifacts(model(form), {
      ...HERE,
      loss,
      lora,
      optimizer: { type: 'adamw', lr: 0.02 },
    });
    const session = await TrainingSession.create(artifacts, HERE);
    const ids = Array.from({ length: 200 }, (_, i) => CYCLE[i % CYCLE.length]);
    const data = await packText(ids, { length: 12, inputs: session.trainingInputs });
    const [before] = [await generate(session, CYCLE, { maxTokens: 6 })];
    await session.fit(data, { epochs: 20, batchSize: 8, seed: 1 });
    const made = await generate(session, CYCLE, { maxTokens: 6 });
    assert.deepEqual(made.ids, CYCLE);
    assert.notDeepEqual(made, before);
    const {
      perplexity,
      'bits-per-byte': bits,
      loss: mean,
    } = await session.evaluate(data, {
      metrics: ['perplexity', 'bits-per-byte'],
      bytes: 400,
    });
    assert.ok(Math.abs(perplexity - Math.exp(mean)) < 1e-9);
    const labels = Array.from(data.labels.labels.data).length;
    assert.ok(Math.abs(bits - (mean * labels) / Math.LN2 / 400) < 1e-9);
    await assert.rejects(session.evaluate(data, { metrics: ['bits-per-byte'] }), /option bytes must be a whole number/);
    await assert.rejects(session.evaluate(data, { bytes: 3 }), /bytes is for the metric 'bits-per-byte'/);
    await session.release();
  });

for (const form of ['gpt2', 'llama_past'])
  test(`${form}: with another adapter, with none, and with a sum`, async () => {
    const artifacts = await generateArtifacts(model(form), {
      ...HERE,
      loss: { type: 'cross-entropy', ignoreIndex: -100 },
      lora: { r: 4, alpha: 8 },
      optimizer: { type: 'adamw', lr: 0.02 },
    });
    const session = await TrainingSession.create(artifacts, HERE);
    const ids = Array.from({ length: 200 }, (_, i) => CYCLE[i % CYCLE.length]);
    const data = await packText(ids, { length: 12, inputs: session.trainingInputs });
    await session.addAdapter('work');
    await session.useAdapter('work');
    await session.fit(data, { epochs: 20, batchSize: 8, seed: 1 });
    await session.useAdapter('default');
    const made = async (adapter, prompt = CYCLE) => (await generate(session, prompt, { maxTokens: 6, adapter })).ids;
    assert.deepEqual(await made('work'), CYCLE);
    assert.deepEqual(await made({ work: 1, default: 0.5 }), CYCLE, 'default has learned nothing');
    const { prompt, ids: wanted } = golden.greedy[FORMS[form]].find(({ options }) => !Object.keys(options).length);
    assert.deepEqual(await made(null, prompt), wanted.slice(0, 6), "transformers' tokens of the base");
    const both = await Promise.all([made('work'), made(null, prompt)]);
    assert.deepEqual(both, [CYCLE, wanted.slice(0, 6)], 'in turns');
    await assert.rejects(made('nobody'), { code: 'invalid-argument', message: /there is no adapter 'nobody'/ });
    await session.release();
    const alone = await InferenceSession.create(model(form), HERE);
    await assert.rejects(generate(alone, [1], { adapter: null }), { message: /adapter is for a TrainingSession/ });
    await alone.release();
  });

test('what is refused says why', async () => {
  const session = await InferenceSession.create(model('gpt2'), HERE);
  const refused = async (ids, options, message, code = 'invalid-argument') =>
    assert.rejects(generate(session, ids, options), { code, message });
  await refused([], {}, /the ids must be an array of at least one token/);
  await refused('text', {}, /at least one token, not 'text'/);
  await refused([1.5], {}, /a token of the ids must be a whole number/);
  await refused([1], { maxTokens: 0 }, /maxTokens must be a whole number of at least 1/);
  await refused([1], { topK: 3 }, /topK is for a temperature above 0/);
  await refused([1], { seed: 3 }, /seed is for a temperature above 0/);
  await refused([1], { temperature: -1 }, /temperature must be a number of at least 0/);
  await refused([1], { temperature: 1, topP: 0 }, /topP must be a number above 0 and at most 1/);
  await refused([1], { repetitionPenalty: 0 }, /repetitionPenalty must be a number above 0/);
  await refused([1], { stop: 3 }, /stop must be an array/);
  await refused([1], { stop: [[]] }, /stop must be an array of at least one token/);
  await refused([1], { onToken: 3 }, /onToken must be a function/);
  await refused([1], { tokens: 3 }, /there is no option 'tokens'/);
  await refused([40], {}, /no scores after 1 tokens: one is none of the vocabulary/);
  await refused(
    new Array(60).fill(3),
    { maxTokens: 10 },
    /no scores after 65 tokens: .* the model has fewer positions/,
  );
  await assert.rejects(generate({}, [1]), /wanted a TrainingSession or an InferenceSession/);
  await session.release();
  const pictures = await InferenceSession.create(readFileSync(join(root, 'tests/golden/data/mlp_small.onnx')), HERE);
  await assert.rejects(generate(pictures, [1]), /wanted a model of token ids, with an input 'input_ids'/);
  await pictures.release();
});

const LETTERS = 7;
const TABLE = Float32Array.from({ length: LETTERS * LETTERS }, (_, i) => Math.sin(3 * i * i + 1));
/** Next letters: tokens (N, `length`) of int32 ─ Gather ─▶ scores, and what `more` makes of them. */
const letters = (length, ...more) =>
  modelProto({
    opsetImport: opsetId(17),
    graph: graphProto({
      node: [node('Gather', ['table', 'tokens'], 'scores'), ...more],
      name: 'letters',
      initializer: tensor('table', { type: 'float32', dims: [LETTERS, LETTERS], data: TABLE }),
      input: info('tokens', 6, ['N', length]),
      output: info(more.length ? 'y' : 'scores', 1, ['N', length, LETTERS]),
    }),
  });
const rowOf = (id) => TABLE.slice(id * LETTERS, (id + 1) * LETTERS);
const bestOf = (row) => row.indexOf(Math.max(...row));

test('a model of one length is fed that length', async () => {
  const session = await InferenceSession.create(letters(6), HERE);
  const wanted = [bestOf(rowOf(2))];
  while (wanted.length < 5) wanted.push(bestOf(rowOf(wanted.at(-1))));
  assert.deepEqual((await generate(session, [4, 2], { maxTokens: 5 })).ids, wanted);
  await assert.rejects(generate(session, [4, 2], { maxTokens: 6 }), {
    code: 'invalid-argument',
    message: 'generate: the model takes 6 tokens, and there are 7 now',
  });
  await session.release();
});

test('tokens behind the last are left out where the model looks at them', async () => {
  const mean = node('ReduceMean', ['scores'], 'mean', attribute('axes', [1]));
  const session = await InferenceSession.create(letters('T', mean, node('Add', ['scores', 'mean'], 'y')), HERE);
  const ids = [4, 2];
  const made = await generate(session, ids, { maxTokens: 20 });
  for (const id of made.ids) {
    const own = rowOf(ids.at(-1));
    const row = own.map((one, i) => one + ids.reduce((sum, each) => sum + rowOf(each)[i], 0) / ids.length);
    assert.equal(id, bestOf(row));
    ids.push(id);
  }
  assert.deepEqual(await generate(session, [4, 2], { maxTokens: 20 }), made);
  await session.release();
});

test('four sizes an octave', () => {
  const sizes = new Set(Array.from({ length: 512 }, (_, i) => padded(i + 1)));
  assert.deepEqual([...sizes], [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512]);
});

test('the recipe of docs/guides/generate.md runs', async () => {
  const page = readFileSync(join(root, 'docs/guides/generate.md'), 'utf8');
  const [, recipe] = /^```js\n(.*?)^```/ms.exec(page);
  const [code, shown] = [recipe.replaceAll(/^import .*$/gm, '').replaceAll('50256', '39'), []];
  const given = {
    encode: (text) => Array.from(text, (letter) => letter.codePointAt(0) % 39),
    decode: (ids) => ids.join(' '),
    model: model('gpt2'),
    texts: ['so many words to say', 'and so few to hear them'],
    show: (text) => shown.push(text),
    ...{ generate, generateArtifacts, packText, TrainingSession },
  };
  await new Function(...Object.keys(given), `return (async () => { ${code}; await session.release(); })()`)(
    ...Object.values(given),
  );
  assert.ok(shown.length && shown.length <= 20);
});

// ── Texts as examples ──

const rows = ({ data, dims: [count, length] }) =>
  Array.from({ length: count }, (_, i) => Array.from(data.slice(i * length, (i + 1) * length), Number));
const packed = async (texts, options) => {
  const { inputs, labels } = await packText(texts, options);
  return { ids: rows(inputs.input_ids), labels: rows(labels.labels) };
};

test('texts are cut into examples in which each token has the next as its label', async () => {
  const text = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  assert.deepEqual(await packed(text, { length: 4 }), {
    ids: [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ],
    labels: [
      [2, 3, 4, 5],
      [6, 7, 8, 9],
    ],
  });
  assert.deepEqual(await packed(Uint16Array.from(text), { length: 5, padTokenId: 0 }), {
    ids: [
      [1, 2, 3, 4, 5],
      [6, 7, 8, 0, 0],
    ],
    labels: [
      [2, 3, 4, 5, 6],
      [7, 8, 9, -100, -100],
    ],
  });
  assert.deepEqual(await packed(text, { length: 4, stride: 2 }), {
    ids: [
      [1, 2, 3, 4],
      [3, 4, 5, 6],
      [5, 6, 7, 8],
    ],
    labels: [
      [2, 3, 4, 5],
      [-100, -100, 6, 7],
      [-100, -100, 8, 9],
    ],
  });
  assert.deepEqual(await packed([text, [3, 2, 1]], { length: 8, padTokenId: 9, ignoreIndex: -1, shift: false }), {
    ids: [
      [1, 2, 3, 4, 5, 6, 7, 8],
      [9, 9, 9, 9, 9, 9, 9, 9],
      [3, 2, 1, 9, 9, 9, 9, 9],
    ],
    labels: [
      [1, 2, 3, 4, 5, 6, 7, 8],
      [9, -1, -1, -1, -1, -1, -1, -1],
      [3, 2, 1, -1, -1, -1, -1, -1],
    ],
  });
});

test('of a prompt nothing is learned', async () => {
  const chat = [
    { prompt: [1, 2, 3], answer: [4, 5] },
    { prompt: [6], answer: [7, 8, 9, 1, 2] },
  ];
  assert.deepEqual(await packed(chat, { length: 4, padTokenId: 0 }), {
    ids: [
      [1, 2, 3, 4],
      [6, 7, 8, 9],
      [1, 0, 0, 0],
    ],
    labels: [
      [-100, -100, 4, 5],
      [7, 8, 9, 1],
      [2, -100, -100, -100],
    ],
  });
  assert.deepEqual(await packed([{ prompt: [1, 2, 3, 4, 5, 6], answer: [7] }], { length: 3 }), {
    ids: [[4, 5, 6]],
    labels: [[-100, -100, 7]],
  });
});

test('there is what else a model takes', async () => {
  const session = await InferenceSession.create(model('llama_past'), HERE);
  const { inputs } = await packText([1, 2, 3, 4, 5, 6], { length: 4, padTokenId: 0, inputs: session.inputs });
  assert.deepEqual(rows(inputs.attention_mask), [
    [1, 1, 1, 1],
    [1, 0, 0, 0],
  ]);
  assert.deepEqual(rows(inputs.position_ids), [
    [0, 1, 2, 3],
    [0, 1, 2, 3],
  ]);
  assert.deepEqual(inputs['past_key_values.1.value'].dims, [2, 1, 0, 16]);
  const { logits } = await session.run(inputs, ['logits']);
  assert.deepEqual(logits.dims, [2, 4, 40]);
  await session.release();
});

test('what cannot be examples is refused', async () => {
  const refused = async (texts, options, message) =>
    assert.rejects(packText(texts, options), { code: 'invalid-argument', message });
  await refused([1, 2], { length: 0 }, /length must be a whole number of at least 1/);
  await refused([1, 2], undefined, /length must be a whole number of at least 1, not undefined/);
  await refused([1, 2], { length: 2, stride: 3 }, /the stride 3 is more than the length 2/);
  await refused([1, 2], { length: 2 }, /the longest text has 2 tokens, which give no window of 2; padTokenId/);
  await refused([], { length: 2 }, /wanted token ids, or an array of texts of them, not an array/);
  await refused('text', { length: 2 }, /not 'text'/);
  await refused([{ prompt: [1] }], { length: 2 }, /a text is an array of token ids, or { prompt, answer }/);
  await refused([1, -2, 3], { length: 2 }, /a token must be a whole number of at least 0, not -2/);
  await refused([1, 2, 3], { length: 2, pad: 0 }, /there is no option 'pad'/);
});
