/** The command line: help and errors, the checkpoints it writes, and the demo's server. */

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readArrays } from '../../../js/cli/arrays.js';
import { COMMANDS } from '../../../js/cli/commands.js';
import { artifactsIn } from '../../../js/cli/files.js';
import { Progress } from '../../../js/cli/progress.js';
import { printable } from '../../../js/cli/terminal.js';
import { TrainingSession, TrainletError } from '../../../js/index.js';
import { startServer } from '../../../tools/serve-demo.js';
import { onnxFile } from '../../support/onnx-file.js';
import { commandLinePage } from '../../docs/command-line.js';
import { clusters } from '../../support/clusters.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-cli-'));
});
after(() => rm(folder, { recursive: true }));

test('every command has help', async () => {
  const { code, stdout } = await run('--help');
  assert.equal(code, 0);
  await Promise.all(
    Object.keys(COMMANDS).map(async (name) => {
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
      const help = await run(name, '--help');
      assert.deepEqual([help.code, help.stderr], [0, '']);
      assert.match(help.stdout, new RegExp(`^trainlet ${name} `));
      const rows = [...help.stdout.matchAll(/^ {2}(?:-(\w), )?--([\w-]+)(?: ([A-Z]\S*))? {1,}\S/gm)];
      const printed = rows.map(([, short, option, value]) => [option, short, value]);
      const parsed = Object.entries(COMMANDS[name].options).map(([option, { short, value }]) => [option, short, value]);
      assert.deepEqual(printed, [...parsed, ['help', 'h', undefined]]);
      for (const line of help.stdout.split('\n')) assert.ok(line.length <= 120, line);
    }),
  );
});

test('docs/guides/command-line-options.md is what npm run docs:options prints', async () => {
  const page = await readFile(new URL('../../../docs/guides/command-line-options.md', import.meta.url), 'utf8');
  assert.equal(page, await commandLinePage());
});

test('an option takes a value exactly where its help names one', () => {
  for (const { options } of Object.values(COMMANDS))
    for (const [name, { type, value, help }] of Object.entries(options)) {
      assert.equal(type, value ? 'string' : 'boolean', name);
      assert.ok(help, name);
    }
});

test('wrong usage is one sentence and exit code 2', async () => {
  const wrong = [
    [],
    ['trian'],
    ['train'],
    ['train', 'a', 'b'],
    ['train', '.', '--epoch', '3'],
    ['train', '.'],
    ['train', '.', '--data', 'mnist', '--epochs', '0'],
  ];
  for (const { code, stderr } of await Promise.all(wrong.map((args) => run(...args)))) {
    assert.equal(code, 2);
    assert.match(stderr, /^trainlet: .+ \(see trainlet( \w+)? --help\)\n$/);
  }
});

test("a model's files of external data are named, and found relative to it", async () => {
  const place = fileURLToPath(new URL('../../golden/data/external/', import.meta.url));
  const model = path.join(place, 'one_file.onnx'),
    file = path.relative(process.cwd(), path.join(place, 'one_file.onnx.data'));
  const alone = path.join(folder, 'alone.onnx');
  await copyFile(model, alone);
  const without = await run('inspect', alone);
  assert.deepEqual([without.code, without.stdout], [1, '']);
  assert.match(
    without.stderr,
    new RegExp(
      "^trainlet: initializer 'fc1.weight' keeps its data in 'one_file.onnx.data': " +
        'give the bytes of that file in externalData, which has nothing; .+\\n$',
    ),
  );
  const found = await run('inspect', model);
  assert.deepEqual([found.code, found.stderr], [0, '']);
  const inspected = await run('inspect', model, '--external-data', file);
  assert.deepEqual([inspected.code, inspected.stderr], [0, '']);
  assert.match(inspected.stdout, /^input {13}input {2}float32 \[.+, 20\]$/m);
  const out = path.join(folder, 'external');
  const made = await run('artifacts', model, '--external-data', file, '--loss', 'cross-entropy', '-o', out);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  const inline = path.join(folder, 'inline');
  await run('artifacts', path.join(place, '../mlp_small.onnx'), '--loss', 'cross-entropy', '-o', inline);
  for (const name of ['checkpoint', 'training_model.onnx'])
    assert.deepEqual(await readFile(path.join(out, name)), await readFile(path.join(inline, name)));
  assert.equal((await run('bench', model, '--external-data', file, '--steps', '1')).code, 0);
});

test('what fails is one sentence and exit code 1', async () => {
  const { code, stderr, stdout } = await run('inspect', path.join(folder, 'none.onnx'));
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^trainlet: .*none\.onnx'?\n$/);
});

const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
/**
 * Who wrote the checkpoint of a directory: ONNX Runtime's has an identifier after four bytes.
 * @param {string} directory
 */
const formatIn = async (directory) =>
  (await readFile(path.join(directory, 'checkpoint'))).toString('latin1', 4, 8) === 'ODTC' ? 'ort' : 'trainlet';

test('inspect tells of each parameter who reads it as what, and whether it trains', async () => {
  const model = (/** @type {string} */ name) =>
    fileURLToPath(new URL(`../../golden/data/${name}.onnx`, import.meta.url));
  const { code, stdout, stderr } = await run('inspect', model('causal'));
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^parameter +shape +read as +trains$/m);
  assert.match(stdout, /^mask +\[1, 1, 12, 12\] +operand of Add '.+' +no: it holds values that are infinite or NaN$/m);
  assert.match(stdout, /^wte\.weight +\[17, 16\] +weight of Gather '\/wte\/Gather' +yes$/m);
  assert.match(stdout, /^parameters +4,192, of which 4,048 train by default$/m);
  const make = (/** @type {string[]} */ ...more) =>
    run(
      'artifacts',
      model('encoder'),
      '--loss',
      'cross-entropy',
      '-o',
      path.join(folder, 'encoder'),
      '--force',
      ...more,
    );
  const inFolder = async () =>
    (await run('inspect', path.join(folder, 'encoder'))).stdout.match(/^parameters.*$/m)?.[0];
  assert.deepEqual((await make()).stderr, '');
  const apart = await inFolder();
  assert.deepEqual((await make('--untie', '--batch-norm', 'update')).stderr, '');
  assert.deepEqual([await inFolder(), typeof apart], [apart, 'string']);
});

test('inspect --graph shows what runs: rewritten or not, for inference or training; lives and offsets', async () => {
  const graph = async (/** @type {string[]} */ ...args) => {
    const { code, stdout, stderr } = await run('inspect', MODEL, '--graph', ...args);
    assert.deepEqual([code, stderr], [0, '']);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    const plan = /^(\d+) nodes, \d+ of them run, in an arena of (\d+) bytes; most are alive at node \d+: \d+ bytes$/;
    const [, nodes, arena] = plan.exec(head) ?? [];
    assert.equal(lines.length, Number(nodes));
    for (const [i, line] of lines.entries()) {
      assert.match(line, new RegExp(`^ *${i}  .+ = \\w+ '.*'\\(.*\\)( scratch @\\d+\\+\\d+)?$`));
      for (const [, offset, bytes] of line.matchAll(/@(\d+)\+(\d+)/g)) {
        assert.ok(Number(offset) + Number(bytes) <= Number(arena), line);
      }
    }
    return { lines, arena: Number(arena) };
  };
  const ways = [[], ['--passes', 'none'], ['--batch-size', '7'], ['--train', '--loss', 'cross-entropy']];
  const [rewritten, plain, large, training] = await Promise.all(ways.map((args) => graph(...args)));
  assert.match(plain.lines[0], /^ +0 {2}\S+ \(1, \d+\) @\d+\+\d+ \[0, \d+\] = Gemm '/);
  assert.ok(rewritten.lines.length < plain.lines.length, 'no activation was joined to its product');
  assert.ok(large.arena > rewritten.arena && large.lines.at(-1)?.includes('(7, '), large.lines.at(-1));
  const operators = new Set(training.lines.map((line) => / = (\w+) '/.exec(line)?.[1]));
  for (const op of ['SoftmaxCrossEntropyLoss', 'SoftmaxCrossEntropyLossGrad', 'InPlaceAccumulatorV2'])
    assert.ok(operators.has(op), op);
  assert.match(training.lines.join('\n'), / in the state /); // a gradient is made where it is read
});

test('inspect --graph of a directory is of its predictions, with --train of its training', async () => {
  const out = path.join(folder, 'graphs');
  assert.equal((await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', out)).code, 0);
  const shown = (/** @type {string[]} */ ...more) => run('inspect', out, '--graph', ...more);
  const [{ stdout: predicting }, { stdout: training }] = await Promise.all([shown(), shown('--train')]);
  assert.match(predicting, / = (Fused)?Gemm '/);
  assert.doesNotMatch(predicting, /Loss/);
  assert.match(training, / = SoftmaxCrossEntropyLossGrad '/);
  const lossless = [
    [MODEL, '--loss', 'mse'],
    [out, '--train', '--loss', 'mse'],
  ];
  const wrong = [...lossless, [MODEL, '--graph', '--batch-size', '0'], [MODEL, '--batch', '2']];
  for (const { code, stderr } of await Promise.all(wrong.map((args) => run('inspect', ...args)))) {
    assert.equal(code, 2);
    assert.match(stderr, /^trainlet: .+ \(see trainlet( \w+)? --help\)\n$/);
  }
  const none = await run('inspect', MODEL, '--graph', '--passes', 'fold,faster');
  assert.deepEqual([none.code, none.stdout], [2, '']);
  assert.match(none.stderr, /^trainlet: there is no pass 'faster'; there are /);
});

test('inspect and bench run a training directory whose loss is outside', async () => {
  const out = path.join(folder, 'outside');
  assert.equal((await run('artifacts', MODEL, '--loss', 'outside', '-o', out)).code, 0);
  const inspected = await run('inspect', out);
  assert.deepEqual([inspected.code, inspected.stderr], [0, '']);
  assert.match(inspected.stdout, /^training outputs +logits$/m);
  assert.match(inspected.stdout, /bytes/);
  assert.match((await run('inspect', out, '--graph', '--train')).stdout, / = YieldOp '/);
  const { code, stdout } = await run('bench', out, '--steps', '3');
  assert.equal(code, 0);
  assert.match(stdout, /^training step at batch 64: median /);
});

test('a graph that does not run on random inputs is shown as it was loaded, with the names of its dims', async () => {
  const file = path.join(folder, 'odd.onnx');
  const attributes = {};
  const nodes = [
    { op: 'Relu', inputs: ['x'], outputs: ['y'], attributes },
    { op: 'Reshape', inputs: ['y', 'shape'], outputs: ['z'], attributes },
  ];
  const value = (/** @type {string} */ name, /** @type {(string | number)[]} */ dims) => ({
    name,
    type: 'float32',
    dims,
  });
  const weights = Object.entries({ shape: { type: 'int64', dims: [1], data: BigInt64Array.of(3n) } });
  await writeFile(
    file,
    onnxFile({ name: 'g', nodes, weights, inputs: [value('x', ['batch', 2])], outputs: [value('z', [3])] }),
  );
  const { code, stdout, stderr } = await run('inspect', file, '--graph');
  assert.equal(code, 0);
  assert.match(stderr, /^the graph as it was loaded, since it does not run on random inputs: Reshape /);
  assert.match(stdout, /^y \(batch, 2\) = Relu '\S*'\(x\)\nz \(3\) = Reshape /);
});

test('bench --nodes tells the ms of each node by operator, which add up, and the share of the peak', async () => {
  const { code, stdout, stderr } = await run('bench', MODEL, '--nodes', '--steps', '5', '--batch-size', '256');
  assert.deepEqual([code, stderr], [0, '']);
  const [step, head, ...rows] = stdout.trimEnd().split('\n');
  assert.match(step, /^inference at batch 256: median /);
  assert.match(head, /^operator \(nodes\), node +ms +of step +GFLOP\/s +of peak$/);
  assert.match(rows.pop() ?? '', /^peak: [\d.]+ GFLOP\/s, /);
  assert.match(rows.at(-1) ?? '', /^outside of nodes +-?[\d.]+ +-?[\d.]+ %$/);
  const products = rows.filter((row) => /^(Fused)?Gemm \(\d+\) /.test(row));
  assert.ok(
    products.length && products.every((row) => / +[\d.]+ +[\d.]+ % +[\d.]+ +[\d.]+ %$/.test(row)),
    rows.join('\n'),
  );
  const shares = rows.filter((row) => !row.startsWith('  ')).map((row) => Number(/([\d.-]+) %/.exec(row)?.[1]));
  assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 100) < 0.1 * shares.length, `${shares}`);
  const [groups, nodes] = [/^\S/, /^ {2}\S/].map((kind) => rows.filter((row) => kind.test(row)).length);
  assert.ok(nodes >= groups - 1, rows.join('\n'));
});

test('checkpoints are written in the format asked for, and each is trained on', async () => {
  const { inputs, labels } = clusters(40, 1);
  const data = [
    await npy('in.npy', '<f4', '(40, 20)', inputs.input.data),
    await npy('labels.npy', '<i8', '(40,)', labels.labels.data),
  ].join();
  const make = (/** @type {string} */ out, /** @type {string[]} */ ...more) =>
    run('artifacts', MODEL, '--loss', 'cross-entropy', '--force', '-o', path.join(folder, out), ...more);
  for (const [format, args] of /** @type {[string, string[]][]} */ ([
    ['ort', []],
    ['ort', ['--format', 'ort']],
    ['trainlet', ['--format', 'trainlet']],
  ])) {
    assert.deepEqual([(await make('dir', ...args)).stderr, await formatIn(path.join(folder, 'dir'))], ['', format]);
    for (const [left, more] of /** @type {[string, string[]][]} */ ([
      ['trainlet', []],
      ['ort', ['--format', 'ort']],
      ['ort', ['--format', 'ort']],
    ])) {
      const { code, stderr } = await run('train', path.join(folder, 'dir'), '--data', data, ...more);
      assert.deepEqual([code, stderr, await formatIn(path.join(folder, 'dir'))], [0, '', left]);
    }
  }
  const losses = (
    await Promise.all(
      ['dir', 'fresh'].map(async (out) => {
        if (out === 'fresh') await make(out);
        return (await run('eval', path.join(folder, out), '--data', data)).stdout;
      }),
    )
  ).map((text) => Number(/loss ([\d.]+)/.exec(text)?.[1]));
  assert.ok(losses[0] < losses[1], `loss ${losses}`);
});

test('--ort-format puts .ort files beside the others, and export writes one', async () => {
  const [out, model] = [path.join(folder, 'with-ort'), path.join(folder, 'exported.ort')];
  const made = await run('artifacts', MODEL, '--loss', 'cross-entropy', '--ort-format', '-o', out);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.equal((await run('export', out, '--format', 'ort', '-o', model)).code, 0);
  const models = ['training_model', 'eval_model', 'optimizer_model'].map((name) => path.join(out, `${name}.ort`));
  for (const file of [...models, model]) assert.equal((await readFile(file, 'latin1')).slice(4, 8), 'ORTM', file);
  const [trainModel, evalModel, optimizerModel] = models;
  const theirs = { trainModel, evalModel, optimizerModel, checkpointState: path.join(out, 'checkpoint') };
  const losses = await Promise.all(
    [artifactsIn(out), theirs].map(async (artifacts) => {
      const session = await TrainingSession.create(artifacts);
      const { inputs, labels } = clusters(8, 1);
      const losses = [await session.step({ ...inputs, ...labels }), await session.step({ ...inputs, ...labels })];
      await session.release();
      return losses.map(({ loss }) => loss);
    }),
  );
  assert.deepEqual(losses[1], losses[0]);
  const again = await run('artifacts', MODEL, '--loss', 'cross-entropy', '--ort-format', '-o', out);
  assert.match(again.stderr, /training_model\.ort is there already|checkpoint is there already/);
  assert.equal((await run('artifacts', MODEL, '--loss', 'mse', '--force', '-o', out)).code, 0);
  await assert.rejects(readFile(trainModel), { code: 'ENOENT' }, 'the models of before are gone in both formats');
  for (const args of [
    ['export', out, '--format', 'tflite', '-o', model],
    ['export', out, '--format', 'ort', '--training-info', '-o', model],
    ['artifacts', MODEL, '--format', 'compact', '--ort-format', '-o', model],
  ])
    assert.equal((await run(...args)).code, 2, args.join(' '));
});

test('--nominal leaves the values out', async () => {
  const [full, nominal] = ['full', 'nominal'].map((name) => path.join(folder, name));
  assert.equal((await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', full)).code, 0);
  assert.equal((await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', nominal, '--nominal')).code, 0);
  const [whole, names] = await Promise.all(
    [full, nominal].map(async (directory) => (await readFile(path.join(directory, 'checkpoint'))).length),
  );
  const session = await TrainingSession.create(artifactsIn(nominal), { worker: false });
  const bytes = 4 * (await session.getParametersSize(false));
  assert.ok(whole - names >= bytes, `${whole} − ${names} bytes, of which the values are ${bytes}`);
  await session.loadParametersBuffer(new Uint8Array(bytes), false);
  assert.deepEqual(new Set((await session.getContiguousParameters(false)).data), new Set([0]));
  await session.release();
  const wrong = [
    ['--nominal', '--format', 'trainlet'],
    ['--format', 'onnx'],
  ];
  for (const args of wrong) {
    const { code, stderr } = await run('artifacts', MODEL, '--loss', 'mse', '-o', full, ...args);
    assert.equal(code, 2);
    assert.match(stderr, /^trainlet: --(nominal|format).* \(see trainlet( \w+)? --help\)\n$/);
  }
  assert.match(
    (await run('train', full, '--data', 'mnist', '--format', 'onnx')).stderr,
    /--format must be ort or trainlet, not 'onnx'/,
  );
});

/** A .npy file. @param {string} name @param {string} descr @param {string} shape @param {ArrayBufferView} data */
async function npy(name, descr, shape, data) {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(118);
  const file = path.join(folder, name);
  await writeFile(
    file,
    Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header), Buffer.from(data.buffer)]),
  );
  return file;
}

test('data are read from .npy, IDX and MNIST, in the shape and type of the model', async () => {
  const wanted = [
    { name: 'x', type: 'float32', dims: ['N', 1, 2] },
    { name: 'labels', type: 'int64', dims: ['N'] },
  ];
  const x = await npy('x.npy', '<f8', '(2, 2)', new Float64Array([1, 2, 3, 4]));
  const y = await npy('y.npy', '<i4', '(2,)', new Int32Array([5, 6]));
  const data = await readArrays(`${x},${y}`, 'train', wanted);
  assert.deepEqual([data.inputs.x.dims, data.inputs.x.data], [[2, 1, 2], new Float32Array([1, 2, 3, 4])]);
  assert.deepEqual([data.labels.labels.dims, data.labels.labels.data], [[2], new BigInt64Array([5n, 6n])]);
  await assert.rejects(readArrays(`${x}`, 'train', wanted), /a file \.npy for each of x, labels, not /);
  await assert.rejects(readArrays(`${x},${x}.none`, 'train', wanted), /could not be read/);
  await writeFile(`${x}.cut`, 'hello, world');
  await assert.rejects(readArrays(`${x}.cut,${y}`, 'train', wanted), /neither \.npy nor an IDX file/);

  const mnist = await readArrays('mnist', 'test', [{ name: 'x', type: 'float32', dims: ['N', 1, 28, 28] }, wanted[1]]);
  assert.deepEqual(mnist.inputs.x.dims, [10_000, 1, 28, 28]);
  assert.deepEqual([...mnist.labels.labels.data.subarray(0, 4)], [7n, 2n, 1n, 0n]);
  assert.equal(
    mnist.inputs.x.data.reduce((a, b) => Math.max(a, b), 0),
    1,
  );
});

test("an array file that lies about its size, or does not fit the input's type, is refused", async () => {
  const wanted = [
    { name: 'x', type: 'float32', dims: ['N', 2] },
    { name: 'labels', type: 'int8', dims: ['N'] },
  ];
  const x = await npy('good.npy', '<f4', '(2, 2)', new Float32Array(4));
  const read = (/** @type {string} */ file, values = wanted) => readArrays(`${x},${file}`, 'train', values);
  const shapes = ['(4294967296, 4294967296)', '(-2, -1)', '(3,)', '(1.5,)', '(1e999, 0)', '(0x2, x)'];
  for (const [i, shape] of shapes.entries()) {
    const message =
      i < 3 ? /lie-\d\.npy: its dims are \[.*\], but 2 elements follow$/ : /lie-\d\.npy: its header is none of/;
    const file = await npy(`lie-${i}.npy`, '<i4', shape, new Int32Array(2));
    await assert.rejects(read(file), {
      code: 'source-unreadable',
      message,
    });
  }
  const long = path.join(folder, 'long.npy');
  for (const bytes of [[], [1, 0], [2, 0, 255, 255, 255, 255]]) {
    await writeFile(long, Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.from(bytes)]));
    await assert.rejects(read(long), { code: 'source-unreadable', message: /long\.npy/ });
  }
  const idx = path.join(folder, 'deep.idx');
  await writeFile(idx, Buffer.concat([Buffer.from([0, 0, 8, 255]), Buffer.alloc(4 * 255, 255)]));
  await assert.rejects(read(idx), /deep\.idx: its dims are \[.*\], but 0 elements follow$/);
  for (const [descr, values] of /** @type {[string, any][]} */ ([
    ['<i4', Int32Array.of(1, 300)],
    ['<f4', Float32Array.of(1, 0.5)],
    ['<f4', Float32Array.of(1, NaN)],
  ])) {
    await assert.rejects(
      read(await npy('unfit.npy', descr, '(2,)', values)),
      /unfit\.npy does not fit the input 'labels' of type int8: element 1 is (300|0\.5|NaN)$/,
    );
  }
  const half = [wanted[0], { name: 'labels', type: 'float16', dims: ['N'] }];
  await assert.rejects(
    read(await npy('half.npy', '<f4', '(2,)', Float32Array.of(1, 2)), half),
    /float16: it is float32, and would have to be converted$/,
  );
});

/** Control characters, barred from the terminal. */
const COMMANDING = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

test('names are shown with their control characters escaped', async () => {
  const odd = '\x1b[31mred\x07\x9b2J\u202egnp\u2066\x7f';
  assert.equal(printable(`${odd}\n\ud800é漢🙂`), '\\x1b[31mred\\x07\\x9b2J\\u202egnp\\u2066\\x7f\\x0a\\ud800é漢🙂');
  const value = (/** @type {string} */ name) => ({ name, type: 'float32', dims: ['N', 2] });
  const file = async (/** @type {string} */ name, /** @type {string} */ op, /** @type {string} */ input) => {
    const nodes = [{ op, inputs: [input], outputs: [`y${odd}`], attributes: {} }];
    await writeFile(
      path.join(folder, name),
      onnxFile({ name: 'g', nodes, weights: [], inputs: [value(`x${odd}`)], outputs: [value(`y${odd}`)] }),
    );
    return path.join(folder, name);
  };
  const shown = await run('inspect', await file('odd.onnx', 'Relu', `x${odd}`));
  assert.deepEqual([shown.code, shown.stderr], [0, '']);
  assert.match(shown.stdout, /^input {13}x\\x1b\[31mred\\x07\\x9b2J\\u202egnp\\u2066\\x7f /m);
  assert.doesNotMatch(shown.stdout, COMMANDING);
  const odds = [
    [await file('odd-op.onnx', `Re${odd}`, `x${odd}`)],
    [await file('odd-in.onnx', 'Relu', `z${odd}`)],
    [path.join(folder, `none${odd}`)],
  ];
  for (const { code, stderr } of await Promise.all(odds.map((args) => run('inspect', ...args)))) {
    assert.equal(code, 1);
    assert.match(stderr, /^trainlet: [^\n]*\\x1b\[31mred[^\n]*\n$/);
    assert.doesNotMatch(stderr, COMMANDING);
  }
  assert.doesNotMatch((await run(`${odd}`)).stderr, COMMANDING);
});

test('what has no end, or is no file, is refused at once', {
  skip: process.platform === 'win32',
  timeout: 60_000,
}, async () => {
  const [fifo, sparse, directory] = ['fifo', 'sparse', 'place'].map((name) => path.join(folder, name));
  execFileSync('mkfifo', [fifo]);
  const handle = await open(sparse, 'w');
  await handle.truncate(20e9);
  await handle.close();
  await mkdir(directory);
  const y = await npy('fine.npy', '<i8', '(2,)', new BigInt64Array(2));
  const made = path.join(folder, 'endless');
  assert.equal((await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', made)).code, 0);
  for (const [file, why] of [
    ['/dev/zero', 'a device or a pipe'],
    [fifo, 'a device or a pipe'],
    [sparse, '20000000000 bytes'],
    [directory, 'a directory'],
  ]) {
    const commands = [
      ['eval', made, '--data', `${file},${y}`],
      ['inspect', MODEL, '--external-data', file],
    ];
    if (file !== directory)
      commands.push(['inspect', file], ['artifacts', file, '--loss', 'mse', '-o', path.join(folder, 'no')]);
    for (const { code, stdout, stderr } of await Promise.all(commands.map((args) => run(...args)))) {
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, new RegExp(`^trainlet: [^\n]*(${why})[^\n]*\n$`));
    }
  }
  await rm(path.join(made, 'checkpoint'));
  await symlink(fifo, path.join(made, 'checkpoint'));
  assert.match(
    (await run('eval', made, '--data', `${y},${y}`)).stderr,
    /^trainlet: checkpointState could not be loaded from \S+: it is a device or a pipe, not a file\n$/,
  );
});

/** A request whose path is sent as it is. @param {string} url @param {string} place */
const get = (url, place, method = 'GET') =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, path: place, method }, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => {
        bytes += chunk.length;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, bytes }));
    })
      .on('error', reject)
      .end();
  });

test('the demo is served with types and a strict policy, and nothing outside its folders', async () => {
  const { url, close } = await startServer();
  try {
    const page = await get(url, '/');
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
    assert.match(page.headers['content-security-policy'], /script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'/);
    assert.equal((await get(url, '/js/index.js')).headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal((await get(url, '/mnist/t10k-labels-idx1-ubyte')).bytes, 10_008);
    assert.equal((await get(url, '/js/index.js', 'HEAD')).bytes, 0);
    assert.equal((await get(url, '/', 'POST')).status, 405);
    const outside = [
      '/../package.json',
      '/js/../package.json',
      '/%2e%2e/package.json',
      '/js/%2e%2e%2fpackage.json',
      '/..%5cpackage.json',
      '/js',
      '/js/',
      '/%00',
      '/%',
      '/none',
      '//etc/passwd',
      '/js//etc/passwd',
      '/mnist/%2fetc%2fpasswd',
    ];
    for (const place of outside) assert.equal((await get(url, place)).status, 404, place);
    const link = fileURLToPath(new URL('../../../web-demo/outside.json', import.meta.url));
    await symlink('../package.json', link);
    try {
      assert.equal((await get(url, '/outside.json')).status, 404);
    } finally {
      await rm(link);
    }
  } finally {
    await close();
  }
});

test('the demo is served by brotli to who takes it', async () => {
  const { url, close } = await startServer();
  const place = new URL('../../../js/engine/trainlet.wasm', import.meta.url);
  try {
    for (const coding of ['br', 'identity']) {
      const answer = await fetch(new URL('js/engine/trainlet.wasm', url), { headers: { 'accept-encoding': coding } });
      const sent = Number(answer.headers.get('content-length'));
      assert.equal(answer.headers.get('content-encoding'), coding === 'br' ? 'br' : null);
      assert.ok(coding === 'br' ? sent < 380_000 : sent > 700_000, `${coding}: ${sent} bytes`);
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(await readFile(place)));
    }
    const manifest = await fetch(new URL('manifest.webmanifest', url));
    assert.equal(manifest.headers.get('content-type'), 'application/manifest+json');
  } finally {
    await close();
  }
});

test('a checkpoint that could not be saved is told while the training goes on', () => {
  const written = [];
  const { onCheckpoint } = new Progress(
    /** @type {any} */ ({
      isTTY: false,
      write: (text) => {
        written.push(text);
      },
    }),
  );
  onCheckpoint({ step: 1, epoch: 0 });
  onCheckpoint({
    step: 2,
    epoch: 0,
    error: new TrainletError('store-failed', 'a\x1b[2Jb could not be written: ENOSPC'),
    retryMs: 1000,
  });
  onCheckpoint({ step: 3, epoch: 0, error: new TrainletError('store-failed', 'the fit is rejected with this') });
  assert.equal(written.length, 1);
  assert.match(written[0], /^not saved: a.*b could not be written: ENOSPC; training goes on/);
  assert.ok(!written[0].includes('\x1b'));
});

test('artifacts --plan tells the memory of a step, without the files of weights, and writes nothing', async () => {
  const model = fileURLToPath(new URL('../../golden/data/external/one_file.onnx', import.meta.url));
  const step = ['--loss', 'cross-entropy', '--plan', 'input=4x20', '--plan', 'labels=4'];
  const { code, stdout, stderr } = await run('artifacts', model, ...step);
  assert.equal(stderr, '');
  assert.match(stdout, /^memory {12}state [\d,]+, arena [\d,]+, peak [\d,]+ bytes\n$/);
  assert.equal(code, 0);
  const wrong = await run('artifacts', model, '--plan', 'x=4,20');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /--plan must be NAME=DIMS, as input_ids=1x128, not 'x=4,20'/);
});
