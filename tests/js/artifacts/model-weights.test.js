// Weights of safetensors in the place of a model's own: the answers are PyTorch's with these weights.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readSafetensors, writeSafetensors } from '../../../js/formats/safetensors.js';
import {
  generateArtifacts,
  parametersOf,
  planMemory,
  Tensor,
  TrainingSession,
  TrainletError,
} from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  message,
  modelProto,
  node,
  opsetId,
  tensor,
  tensorProto,
} from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { golden } from '../../support/clusters.js';
import { run } from '../../support/run-cli.js';
import { HERE } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const { dims, vocabulary, logits } = JSON.parse(
  readFileSync(new URL('../../golden/data/weights.json', import.meta.url), 'utf8'),
);
const OPTIONS = { ...HERE, loss: { type: 'cross-entropy', axis: -1 }, lora: { r: 2 } };
const is = (code, message) => (error) =>
  error.name === 'TrainletError' && error.code === code && message.test(error.message);
const pathOf = (name) => fileURLToPath(new URL(`../../golden/data/weights/${name}`, import.meta.url));

const [count, length] = dims;
const ids = BigInt64Array.from({ length: count * length }, (_, at) => {
  const [i, t] = [Math.floor(at / length), at % length];
  return BigInt((7 * i * i + 3 * t * t + 5 * i * t + 11) % vocabulary);
});
const FEED = { input_ids: new Tensor('int64', ids, dims) };

async function logitsOf(artifacts) {
  const session = await TrainingSession.create(artifacts, HERE);
  const { logits: found } = await session.predict(FEED, ['logits']);
  await session.release();
  return found.data;
}

const near = (found, name, absolute = 1e-5) =>
  assertNear(found.slice(0, logits[name].length), logits[name], { absolute }, name);

/** Exports of each exporter: original names, numbers, equal tensors merged; F32, F16, BF16 in parts. */
const RUNS = [
  ['GPT-2 by dynamo', 'lora/gpt2.onnx', 'gpt2.safetensors', 'gpt2'],
  ['Llama by dynamo', 'lora/llama.onnx', 'llama.safetensors', 'llama'],
  ['a new, tied Llama by dynamo', 'weights/tied.onnx', 'model.safetensors.index.json', 'tied'],
  ['a new GPT-2 by TorchScript', 'weights/gpt2.onnx', 'gpt2.safetensors', 'gpt2'],
  ['a new Llama by TorchScript', 'weights/llama.onnx', 'llama.safetensors', 'llama'],
];
for (const [what, model, file, name] of RUNS)
  test(`${what}: logits are PyTorch's with the weights of ${file}`, async () => {
    const artifacts = await generateArtifacts(golden(model), { ...OPTIONS, weights: pathOf(file) });
    assert.deepEqual(
      artifacts.warnings.filter((one) => one.startsWith('weights')),
      [],
    );
    near(await logitsOf(artifacts), name);
  });

const filesOf = (name) => readSafetensors(golden(`weights/${name}`), name, TrainletError).tensors;
const warnedOf = async (model, weights, more) => {
  const artifacts = await generateArtifacts(model, { ...OPTIONS, weights, ...more });
  return { artifacts, warnings: artifacts.warnings.filter((one) => one.startsWith('weights')) };
};

test('a tied weight that the file has once is found where the exporter has transposed a copy of it', async () => {
  const tensors = filesOf('gpt2.safetensors');
  tensors.delete('lm_head.weight');
  const { artifacts, warnings } = await warnedOf(golden('weights/gpt2.onnx'), writeSafetensors(tensors, 'float32'));
  assert.deepEqual(warnings, []);
  near(await logitsOf(artifacts), 'gpt2');
});

test('of tied weights that differ none is taken', async () => {
  const tensors = filesOf('gpt2.safetensors');
  const { dims: shape, data } = tensors.get('lm_head.weight');
  tensors.set('lm_head.weight', { dims: shape, data: data.map((x, i) => (i === 70 ? x + 1 : x)) });
  await assert.rejects(
    warnedOf(golden('lora/gpt2.onnx'), writeSafetensors(tensors, 'float32')),
    is('invalid-argument', /^weights: '.*weight' and '.*weight' differ, and the model has only '.*' for both$/),
  );
});

test('names without their prefix, and with one more, are the same; in a worker too', async () => {
  for (const renamed of [(name) => name.replace('transformer.', ''), (name) => `a.model.${name}`]) {
    const body = [...filesOf('gpt2.safetensors')].filter(([name]) => name !== 'lm_head.weight'); // GPT2Model's
    const tensors = new Map(body.map(([name, one]) => [renamed(name), one]));
    const weights = new Blob([writeSafetensors(tensors, 'float32')]);
    const { artifacts, warnings } = await warnedOf(golden('lora/gpt2.onnx'), weights, { worker: true });
    assert.deepEqual(warnings, []);
    near(await logitsOf(artifacts), 'gpt2');
  }
});

test('what one side alone has is told', async () => {
  const tensors = filesOf('llama.safetensors');
  for (const name of ['q_proj', 'k_proj', 'v_proj', 'o_proj'])
    tensors.delete(`model.layers.1.self_attn.${name}.weight`);
  tensors.set('extra', { dims: [1], data: Float32Array.of(1) });
  const { warnings } = await warnedOf(golden('weights/llama.onnx'), writeSafetensors(tensors, 'float32'));
  assert.equal(warnings.length, 2);
  assert.equal(warnings[0], "weights: the model has no parameter for 'extra'");
  assert.match(
    warnings[1],
    /^weights: there is no tensor for '.*\.q_proj\.weight', '.*', '.*' and 1 more: the model's own values stay$/,
  );
});

test('parametersOf tells the names', async () => {
  const all = await parametersOf(golden('weights/llama.onnx'), HERE);
  const found = all.find(({ names }) => names.includes('model.model.layers.0.self_attn.q_proj.weight'));
  assert.match(found.name, /^onnx::MatMul_/);
  assert.deepEqual([found.dims, found.transposed], [[16, 16], true]);
});

// ── Sources, types and faults, with models whose own weights lie outside ──

const FILE = 'model.data';
const [WORDS, WIDTH, DEEP] = [300, 64, 300];
const PARTS = { table: [WORDS, WIDTH], up: [WIDTH, DEEP], scale: [DEEP], down: [DEEP, WIDTH], head: [WIDTH, 5] };
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const valuesOf = (seed) =>
  new Map(
    Object.entries(PARTS).map(([name, shape]) => [
      name,
      {
        dims: shape,
        data: Float32Array.from({ length: sizeOf(shape) }, (_, i) => batchUnit(seed + sizeOf(shape), i) - 0.5),
      },
    ]),
  );
const [OLD, NEW] = [valuesOf(1), valuesOf(2)];
const rawOf = (values) =>
  new Uint8Array(Buffer.concat([...values.values()].map(({ data }) => Buffer.from(data.buffer))));
const note = (key, value) => message([1, key], [2, value]);

function outside() {
  let end = 0;
  return Object.entries(PARTS).map(([name, shape]) => {
    const offset = end;
    end += 4 * sizeOf(shape);
    return tensorProto({
      dims: shape,
      dataType: 1,
      name,
      externalData: [note('location', FILE), note('offset', String(offset)), note('length', String(end - offset))],
      dataLocation: 1,
    });
  });
}
const modelOf = (initializers) =>
  modelProto({
    irVersion: 10,
    opsetImport: opsetId(17),
    graph: graphProto({
      node: [
        node('Gather', ['table', 'ids'], 'x'),
        node('MatMul', ['x', 'up'], 'wide'),
        node('Mul', ['wide', 'scale'], 'scaled'),
        node('MatMul', ['scaled', 'down'], 'y'),
        node('MatMul', ['y', 'head'], 'logits'),
      ],
      name: 'model',
      initializer: initializers,
      input: info('ids', 7, ['N', 'T']),
      output: info('logits', 1, ['N', 'T', 5]),
    }),
  });
const inside = modelOf(
  [...OLD].map(([name, { dims: shape, data }]) => tensor(name, { type: 'float32', dims: shape, data })),
);
const external = modelOf(outside());
const MORE = { lora: { r: 2, targets: ['up', 'down'], moduleNames: { up: 'up', down: 'down', head: 'head' } } };
const madeOf = (model, more) => generateArtifacts(model, { ...OPTIONS, ...MORE, ...more });
const file = writeSafetensors(NEW, 'float32');

const folder = mkdtempSync(join(tmpdir(), 'trainlet-weights-'));
let server, site;
let asked = [];
before(async () => {
  writeFileSync(join(folder, 'model.safetensors'), file);
  server = createServer((request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')?.map(Number) ?? [];
    asked.push([from, to]);
    response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${file.length}` }).end(file.subarray(from, to + 1));
  });
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  site = `http://localhost:${server.address().port}/model.safetensors`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

test('artifacts are those of a model that has the weights itself, wherever these and its own lie', async () => {
  const part = (...names) => writeSafetensors(new Map(names.map((name) => [name, NEW.get(name)])), 'float32');
  const models = {
    'its own inside': [inside, {}],
    'outside, whole': [external, { externalData: { [FILE]: rawOf(OLD) } }],
    'outside, in pieces': [external, { externalData: { [FILE]: new Blob([rawOf(OLD)]) } }],
    'not there at all': [external, {}],
  };
  for (const quantizeFrozen of [undefined, 'int8', 'int4', 'float16']) {
    const want = await madeOf(external, { quantizeFrozen, externalData: { [FILE]: rawOf(NEW) } });
    const parts = [part('table', 'head'), new Blob([part('up', 'scale', 'down')])];
    for (const [what, [model, more]] of Object.entries(models))
      for (const weights of [
        file,
        file.buffer.slice(0),
        new Blob([file]),
        join(folder, 'model.safetensors'),
        site,
        parts,
      ])
        assert.deepEqual(await madeOf(model, { quantizeFrozen, weights, ...more }), want, `${what}, ${quantizeFrozen}`);
  }
});

test('a file is read a tensor at a time, and told as it comes', async () => {
  asked = [];
  const told = [];
  const onProgress = ({ source, loadedBytes, totalBytes }) => told.push([source, loadedBytes, totalBytes]);
  await madeOf(external, { weights: site, onProgress });
  const start = 8 + Number(new DataView(file.buffer).getBigUint64(0, true));
  const sizes = asked.map(([from, to]) => to + 1 - from);
  assert.deepEqual(sizes.slice(0, 3), [1, 8, start - 8]);
  const tensors = Object.values(PARTS).map((shape) => 4 * sizeOf(shape));
  assert.deepEqual(sizes.slice(3).sort(), tensors.sort());
  assert.deepEqual(told.at(-1), ['weights', file.length - start, file.length - start]);
});

test('what the weights do not have is the own, or where that is missing an error', async () => {
  const rest = new Map(NEW);
  rest.delete('down');
  const weights = writeSafetensors(rest, 'float32');
  const mixed = new Map([...NEW, ['down', OLD.get('down')]]);
  const want = await madeOf(external, { externalData: { [FILE]: rawOf(mixed) } });
  for (const source of [rawOf(OLD), new Blob([rawOf(OLD)])]) {
    const made = await madeOf(external, { weights, externalData: { [FILE]: source } });
    assert.deepEqual(made.checkpointState, want.checkpointState);
    assert.deepEqual(made.warnings, ["weights: there is no tensor for 'down': the model's own values stay"]);
  }
  await assert.rejects(
    madeOf(external, { weights }),
    is('invalid-model', /^weights have nothing for 'down', whose own values are in 'model.data': give that file/),
  );
});

test('numbers become those of the type that the model has', async () => {
  for (const type of ['float16', 'bfloat16']) {
    const rounded = readSafetensors(writeSafetensors(NEW, type), type, TrainletError).tensors;
    const inOrder = new Map(Object.keys(PARTS).map((name) => [name, rounded.get(name)]));
    const want = await madeOf(external, { externalData: { [FILE]: rawOf(inOrder) } });
    assert.deepEqual(await madeOf(inside, { weights: writeSafetensors(NEW, type) }), want, type);
  }
});

test('frozen initializers of 16 bits take tensors of 32', async () => {
  const shape = [4, 3];
  const data = Float32Array.from({ length: 12 }, (_, i) => batchUnit(9, i) - 0.5);
  const halves = writeSafetensors(new Map([['w', { dims: shape, data }]]), 'float16');
  const bits = new Uint16Array(halves.buffer.slice(-24));
  const narrow = (values) =>
    modelProto({
      irVersion: 10,
      opsetImport: opsetId(17),
      graph: graphProto({
        node: [
          node('Cast', ['w'], 'wide', attribute('to', 1)),
          node('MatMul', ['x', 'wide'], 'h'),
          node('MatMul', ['h', 'v'], 'y'),
        ],
        name: 'model',
        initializer: [
          tensor('w', { type: 'float16', dims: shape, data: values }),
          tensor('v', { type: 'float32', dims: [3, 2], data: data.slice(0, 6) }),
        ],
        input: info('x', 1, ['N', 4]),
        output: info('y', 1, ['N', 2]),
      }),
    });
  const made = (values, weights) => generateArtifacts(narrow(values), { ...HERE, loss: 'mse', frozen: ['w'], weights });
  const weights = writeSafetensors(new Map([['w', { dims: shape, data }]]), 'float32');
  const { warnings, ...own } = await made(bits);
  assert.deepEqual(await made(new Uint16Array(12), weights), {
    ...own,
    warnings: [...warnings, "weights: there is no tensor for 'v': the model's own values stay"],
  });
});

test('memory is planned without the file', async () => {
  const own = { externalData: { [FILE]: rawOf(NEW) } };
  const plan = (more) => planMemory(external, { ...OPTIONS, ...MORE, ...more, dims: { ids: [1, 2], labels: [1, 2] } });
  assert.deepEqual(await plan({ weights: '/nowhere' }), await plan(own));
});

/** A file with this header. */
function hostile(header, bytes = 0) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const made = new Uint8Array(8 + text.length + bytes);
  new DataView(made.buffer).setBigUint64(0, BigInt(text.length), true);
  made.set(text, 8);
  return made;
}

test('what fits nowhere, or is no such file, is refused', async () => {
  const refused = (weights, error, model = inside) => assert.rejects(madeOf(model, { weights }), error);
  const one = (name, shape, data = new Float32Array(sizeOf(shape))) =>
    writeSafetensors(new Map([[name, { dims: shape, data }]]), 'float32');
  await refused(
    one('other', [2]),
    is(
      'invalid-argument',
      /^weights: none of the 1 tensors, as 'other', has the name of a parameter of the model, as '/,
    ),
  );
  await refused(
    one('up', [WIDTH, 3]),
    is('invalid-argument', /^weights: 'up' is \[64,3\], and 'up' of the model \[64,300\]$/),
  );
  const norm = new Map([...NEW, ['bn.running_mean', { dims: [3], data: new Float32Array(3) }]]);
  await refused(writeSafetensors(norm, 'float32'), is('invalid-argument', /^weights: 'bn.running_mean' is of a Batch/));
  await refused(
    [one('up', PARTS.up), one('up', PARTS.up)],
    is('source-unreadable', /^weights: tensor 'up' is in two of the files$/),
  );
  await refused([], is('invalid-argument', /^weights: none of the 0 tensors/));
  await refused(new Uint8Array(7), is('source-unreadable', /^weights: has 7 bytes, too few/));
  await refused(
    new Blob([new Uint8Array(99).fill(255)]),
    is('source-unreadable', /its header has \d+ bytes, and has 99/),
  );
  await refused(hostile([1]), is('source-unreadable', /its header is no JSON object/));
  const since = process.cpuUsage().user;
  const long = hostile({ up: 'x'.repeat(99e6) });
  await refused(long, is('source-unreadable', /has a header of 990000\d\d bytes; at most 16777216 are read$/));
  assert.ok(process.cpuUsage().user - since < 2e6);
  const F32 = { dtype: 'F32', shape: [2] };
  await refused(
    hostile({ up: { ...F32, data_offsets: [0, 9] } }, 9),
    is('source-unreadable', /has 9 bytes, and needs 8/),
  );
  await refused(hostile({ up: { ...F32, data_offsets: [4, 12] } }, 12), is('source-unreadable', /begins at byte 4/));
  await refused(hostile({ up: { ...F32, data_offsets: [0, 8] } }, 3), is('source-unreadable', /was it cut off/));
  const odd = { dtype: 'U8', shape: [3], data_offsets: [8, 3] };
  await refused(
    hostile({ odd, up: { ...F32, data_offsets: [0, 8] } }, 8),
    is('source-unreadable', /'odd' ends at byte 3, and begins at 8/),
  );
  await refused(join(folder, 'absent'), is('source-unreadable', /^weights could not be loaded from .*absent/));
  await refused(7, is('source-unreadable', /^weights could not be loaded: expected a URL, a path, bytes/));
  const index = join(folder, 'bad.index.json');
  writeFileSync(index, JSON.stringify({ weight_map: { up: '../../etc/passwd' } }));
  await refused(index, is('source-unreadable', /^weights: .*bad.index.json is no index of safetensors files$/));
  await assert.rejects(
    generateArtifacts(inside, { ...HERE, weights: file }),
    is('invalid-argument', /^generateArtifacts: weights go with a loss of its own/),
  );
  await assert.rejects(
    madeOf(inside, { weights: file, signal: AbortSignal.abort() }),
    (error) => error.code === 'aborted',
  );
});

test('tensors of whole numbers, as counts of batches, are not wanted', async () => {
  const made = writeSafetensors(NEW, 'float32');
  const start = 8 + Number(new DataView(made.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(made.subarray(8, start)));
  const end = made.length - start;
  header.batches = { dtype: 'I64', shape: [], data_offsets: [end, end + 8] };
  const weights = hostile(header, end + 8);
  weights.set(made.subarray(start), weights.length - end - 8);
  const { warnings } = await madeOf(inside, { weights });
  assert.deepEqual(warnings, []);
});

test('the example of docs/guides/adapters.md runs', async () => {
  const page = readFileSync(new URL('../../../docs/guides/adapters.md', import.meta.url), 'utf8');
  const [, recipe] = /^## Weights as the Hub has them$.*?^```js\n(.*?)^```/ms.exec(page);
  const told = [];
  const make = (model, options) => {
    assert.deepEqual([model, options.weights], ['model.onnx', 'base/model.safetensors']);
    return generateArtifacts(golden('weights/llama.onnx'), {
      ...options,
      weights: golden('weights/llama.safetensors'),
    });
  };
  await new Function('generateArtifacts', 'console', `return (async () => { ${recipe} })()`)(make, {
    log: (warnings) => told.push(warnings),
  });
  assert.deepEqual(
    told.flat().filter((one) => one.startsWith('weights')),
    [],
  );
});

test('at the command line files are told from what a compact one keeps', async () => {
  const model = pathOf('llama.onnx');
  const place = join(folder, 'made');
  const index = pathOf('model.safetensors.index.json');
  const made = await run('artifacts', pathOf('tied.onnx'), '--loss', 'cross-entropy', '--weights', index, '-o', place);
  assert.equal(made.code, 0, made.stderr);
  assert.doesNotMatch(made.stderr, /weights:/);
  const file = pathOf('llama.safetensors');
  const compact = ['--format', 'compact', '-o', join(folder, 'compact')];
  const both = await run(
    'artifacts',
    model,
    '--loss',
    'cross-entropy',
    '--weights',
    file,
    '--weights',
    'float16',
    ...compact,
  );
  assert.equal(both.code, 0, both.stderr);
  const odd = await run('artifacts', place, '--weights', file, '--format', 'compact', '-o', join(folder, 'again'));
  assert.match(odd.stderr, /--weights: what is trained in .* has its own/);
});
