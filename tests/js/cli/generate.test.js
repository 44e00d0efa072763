// `trainlet generate`, and adapters at the command line: artifacts with --lora, a PEFT folder from train.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Tokenizer } from '@huggingface/tokenizers';
import { root } from '../../../tools/programs.mjs';
import { run, runIn } from '../../support/run-cli.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-generate-'));
after(() => rmSync(folder, { recursive: true }));
const at = (name) => path.join(folder, name);
const golden = JSON.parse(readFileSync(path.join(root, 'tests/golden/data/generate.json'), 'utf8'));
const model = (name) => path.join(root, `tests/golden/data/generate/${name}.onnx`);
const ok = async (...args) => {
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, stderr);
  return stdout;
};

test('tokens of a model, as text where there is a tokenizer', async () => {
  const [{ prompt, ids }] = golden.greedy.llama;
  const given = ['--ids', prompt.join(), '--max-tokens', '8'];
  assert.equal(await ok('generate', model('llama_past'), ...given), `${ids.slice(0, 8).join(' ')}\n`);
  writeFileSync(
    at('tokenizer.mjs'),
    `export const tokenize = async (text) => [...text].map((letter) => letter.codePointAt(0) - 64);
export const detokenize = (ids) => ids.map((id) => String.fromCodePoint(id + 64)).join('');`,
  );
  const letters = (some) => some.map((id) => String.fromCodePoint(id + 64)).join('');
  const text = ['--text', letters(prompt), '--tokenizer', at('tokenizer.mjs'), '--max-tokens', '8'];
  assert.equal(await ok('generate', model('llama_gqa'), ...text), `${letters(ids.slice(0, 8))}\n`);
  const stop = ['--stop', ids.slice(1, 3).join(), '--json'];
  assert.deepEqual(JSON.parse(await ok('generate', model('llama_past'), ...text, ...stop)), {
    ids: ids.slice(0, 3),
    stopped: 'stop',
    text: letters(ids.slice(0, 3)),
  });
});

test('an adapter is trained, written as a folder, and answers with its base', async () => {
  const lora = ['--lora', 'r=4,alpha=8,targets=c_attn,c_fc', '--optimizer', 'adamw', '--lr', '0.03'];
  await ok('artifacts', model('gpt2'), '--loss', 'cross-entropy', ...lora, '-o', at('training'));
  const cycle = [5, 17, 3, 29];
  const line = (shift) => Array.from({ length: 12 }, (_, i) => cycle[(i + shift) % 4]);
  const rows = Array.from({ length: 32 }, (_, i) => JSON.stringify({ input_ids: line(i), labels: line(i + 1) }));
  writeFileSync(at('texts.jsonl'), rows.join('\n'));
  const folderOf = ['--adapter', at('adapter'), '--adapter-prefix', 'model.'];
  const train = ['train', at('training'), '--data', at('texts.jsonl'), '--batch-size', '8', ...folderOf];
  await ok(...train, '--epochs', '30');
  const { target_modules: targets } = JSON.parse(readFileSync(at('adapter/adapter_config.json'), 'utf8'));
  assert.deepEqual(targets.slice(0, 2), ['transformer.h.0.attn.c_attn', 'transformer.h.0.mlp.c_fc']);
  const ids = ['--ids', '5,17,3,29,5', '--max-tokens', '6'];
  assert.equal(await ok('generate', at('training'), ...ids), '17 3 29 5 17 3\n');
  assert.equal(await ok('generate', model('gpt2'), ...ids, '--adapter', at('adapter')), '17 3 29 5 17 3\n');
  assert.notEqual(await ok('generate', model('gpt2'), ...ids), '17 3 29 5 17 3\n');
  const again = await run(...train);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /adapter_model.safetensors is there already; --force overwrites it/);
});

test('text by the tokenizer.json of a model', async () => {
  const writer = (name) => path.join(root, 'web-demo/writer', name);
  const given = ['generate', writer('base.onnx'), '--text', 'The best way to', '--tokenizer', writer('tokenizer.json')];
  const { ids, text } = JSON.parse(await ok(...given, '--max-tokens', '12', '--json'));
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(writer('tokenizer.json'), 'utf8')), {});
  assert.equal(text, tokenizer.decode(ids));
  assert.deepEqual(
    ids,
    JSON.parse(
      await ok(
        ...given.slice(0, 2),
        '--ids',
        tokenizer.encode('The best way to').ids.join(),
        '--max-tokens',
        '12',
        '--json',
      ),
    ).ids,
  );
  writeFileSync(at('tokenizer.json'), '{"model": ');
  const broken = await run(...given.slice(0, -1), at('tokenizer.json'));
  assert.match(broken.stderr, /--tokenizer .*tokenizer.json: .*JSON/);
  const { code, stderr } = await runIn(folder, ...given);
  assert.equal(code, 2);
  assert.match(stderr, /is read by @huggingface\/tokenizers: npm install @huggingface\/tokenizers/);
});

test("texts are learned with a tokenizer of one's own", async () => {
  const adapted = ['--loss', 'cross-entropy', '--ignore-index', '-100', '--lora', 'r=4', '--lr', '0.02'];
  await ok('artifacts', model('gpt2'), ...adapted, '-o', at('texts'));
  const tokenizer = ['--tokenizer', at('tokenizer.mjs')];
  const lines = [{ prompt: 'ABAB', answer: 'CDCDCDCD' }, { text: 'ABABCDCDCDCD' }].map((line) => JSON.stringify(line));
  writeFileSync(at('lines.jsonl'), `${lines.join('\n')}\n\n`);
  const data = ['--data', at('lines.jsonl'), ...tokenizer, '--length', '16', '--pad-token', '0'];
  await ok('train', at('texts'), ...data, '--epochs', '60');
  const made = ['--text', 'ABAB', ...tokenizer, '--max-tokens', '7'];
  assert.equal(await ok('generate', at('texts'), ...made), 'CDCDCDC\n');
  writeFileSync(at('one.txt'), 'ABABCDCDCDCD');
  const told = await ok('eval', at('texts'), '--data', at('one.txt'), ...tokenizer, '--length', '11');
  assert.match(told, /^loss 0\.\d+ +accuracy 100/);
  const refused = async (args, code, message) => {
    const found = await run('eval', at('texts'), ...args);
    assert.equal(found.code, code, found.stderr);
    assert.match(found.stderr, message);
  };
  await refused(['--data', at('one.txt'), '--length', '4'], 2, /--length: it is for --tokenizer FILE/);
  await refused(['--data', at('tokenizer.mjs'), ...tokenizer], 2, /must be a file .txt or .jsonl/);
  await refused(
    ['--data', at('one.txt'), ...tokenizer],
    2,
    /the longest text has 12 tokens, which give no window of 128/,
  );
  writeFileSync(at('odd.jsonl'), '{"text": "AB"}\n{"texts": 3}');
  await refused(
    ['--data', at('odd.jsonl'), ...tokenizer],
    1,
    /line 2: it has neither a text nor a prompt and an answer/,
  );
  writeFileSync(at('odd.jsonl'), '{"text": ');
  await refused(['--data', at('odd.jsonl'), ...tokenizer], 1, /line 1: it is no JSON/);
});

test('what is refused', async () => {
  const refused = async (args, message) => {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  };
  const gpt = model('gpt2');
  await refused(['generate', gpt], /either --ids or --text is needed/);
  await refused(['generate', gpt, '--text', 'x'], /--text needs --tokenizer/);
  await refused(['generate', gpt, '--ids', '1,x'], /--ids must be a whole number of at least 0, not 'x'/);
  await refused(['generate', gpt, '--ids', '1', '--top-k', '3'], /topK is for a temperature above 0/);
  writeFileSync(at('empty.mjs'), 'export {};');
  await refused(['generate', gpt, '--text', 'x', '--tokenizer', at('empty.mjs')], /must export the functions tokenize/);
  const artifacts = ['artifacts', gpt, '--loss', 'cross-entropy', '-o', at('none'), '--lora'];
  await refused([...artifacts, 'q_proj'], /--lora must be KEY=VALUE, joined by commas/);
  await refused([...artifacts, 'r=x'], /--lora: r must be a number, not 'x'/);
  await refused([...artifacts, 'r=4,8'], /--lora: r has one value, and '8' came too/);
  await refused([...artifacts, 'rank=4'], /there is no option 'rank'/);
  await refused([...artifacts, 'r=4,targets=nothing'], /nothing/);
  await ok('artifacts', gpt, '--loss', 'cross-entropy', '-o', at('whole'));
  writeFileSync(at('one.jsonl'), JSON.stringify({ input_ids: [1, 2], labels: [2, 3] }));
  await refused(
    ['train', at('whole'), '--data', at('one.jsonl'), '--adapter', at('out')],
    /the session has no adapter/,
  );
});
