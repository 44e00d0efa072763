/**
 * The engine as C programs have it: installed, moved to another place, found by pkg-config and by CMake; and
 * examples/native/ trains with it, in memory that is fixed beforehand, as the wasm file does.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId, weight } from '../../support/onnx-file.js';
import { root } from '../../support/engines.js';

const EXAMPLE = path.join(root, 'examples/native');
const [PIXELS, HIDDEN, CLASSES, BATCH, STEPS] = [784, 128, 10, 16, 100];
const OVERHEAD = 8 * 1024; // bytes beside the numbers of parameters, gradients, step and inputs: all that is no number

/** Bytes of the example with a library of what mlp.config lists. */
const MOST = { '.text': 60 * 1024, '.rodata': 8_000 };

const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-native-'));
const installed = path.join(folder, 'small');
const compact = path.join(folder, 'mlp.trainlet');
after(() => rmSync(folder, { recursive: true }));

/**
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').ExecFileSyncOptions} [options]
 */
const run = (program, args, options) => String(execFileSync(program, args, { encoding: 'utf8', ...options }));

function writeModel() {
  const graph = graphProto({
    node: [
      node('Gemm', ['x', 'w1', 'b1'], 'hidden'),
      node('Relu', ['hidden'], 'active'),
      node('Gemm', ['active', 'w2', 'b2'], 'logits'),
    ],
    name: 'mlp',
    initializer: [
      weight('w1', [PIXELS, HIDDEN], PIXELS, 1),
      weight('b1', [HIDDEN], PIXELS, 2),
      weight('w2', [HIDDEN, CLASSES], HIDDEN, 3),
      weight('b2', [CLASSES], HIDDEN, 4),
    ],
    input: info('x', 1, ['N', PIXELS]),
    output: info('logits', 1, ['N', CLASSES]),
  });
  writeFileSync(path.join(folder, 'mlp.onnx'), modelProto({ graph, opsetImport: opsetId(17) }));
}

/** @param {string} build @param {string[]} options of CMake */
const configure = (build, ...options) =>
  run('cmake', ['-S', root, '-B', build, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=MinSizeRel', ...options], {
    stdio: 'pipe',
  });

/**
 * Builds the library, and gives the place where it is installed. All are built in one folder, where only what their
 * lists change is compiled again. @param {string} name
 */
function install(name, /** @type {string[]} */ ...options) {
  const build = path.join(root, 'build/small');
  configure(build, '-DBUILD_TESTING=OFF', ...options);
  run('cmake', ['--build', build]);
  run('cmake', ['--install', build, '--prefix', path.join(folder, 'installed')]);
  rmSync(path.join(folder, name), { recursive: true, force: true });
  renameSync(path.join(folder, 'installed'), path.join(folder, name));
  return path.join(folder, name);
}

before(() => {
  install('small', '-DTRAINLET_KEEP=', '-DTRAINLET_FLAVOUR=all');
  writeModel();
  const cli = path.join(root, 'js/cli/index.js');
  const options = ['--loss', 'cross-entropy', '--optimizer', 'sgd', '--lr', '0.1', '--format', 'compact'];
  run(process.execPath, [cli, 'artifacts', path.join(folder, 'mlp.onnx'), ...options, '-o', compact]);
});

/** The batch that the example draws. @param {number} step */
function draw(step) {
  const labels = BigInt64Array.from({ length: BATCH }, (_, i) => BigInt((step + 7 * i) % CLASSES));
  const x = Float32Array.from({ length: BATCH * PIXELS }, (_, at) =>
    ((at % PIXELS) + step) % (2 + Number(labels[Math.trunc(at / PIXELS)])) === 0 ? 1 : 0,
  );
  return { x: new Tensor('float32', x, [BATCH, PIXELS]), labels: new Tensor('int64', labels, [BATCH]) };
}

/** Losses that the example prints, by the wasm file. */
async function trainHere() {
  const artifacts = { compact: new Uint8Array(readFileSync(compact)) };
  const session = await TrainingSession.create(artifacts, { worker: false, reproducible: true });
  const lines = [];
  for (let step = 0; step < STEPS; step++) {
    const { loss } = await session.step(draw(step));
    if (step % 10 === 9) lines.push(`step ${step + 1}: loss ${loss.toFixed(6)}`);
  }
  await session.release();
  return lines;
}

/** @param {string} program what it prints, by lines */
const printed = (program) => run(program, [compact]).trim().split('\n');

/** Without its memory, which the passes change. @param {string} program */
const losses = (program) => printed(program).slice(0, -1);

/** @param {string} name @param {string[]} [more] flags @param {string} [from] @param {string} [source] the example */
function compile(name, more = [], from = installed, source = path.join(EXAMPLE, 'mlp.c')) {
  const options = { env: { ...process.env, PKG_CONFIG_PATH: path.join(from, 'lib/pkgconfig') } };
  const flags = run('pkg-config', ['--cflags', '--libs', 'trainlet'], options).trim().split(' ');
  const program = path.join(folder, name);
  const strict = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-Os', '-Wl,--gc-sections'];
  run('cc', [...strict, source, ...more, ...flags, '-o', program]);
  return program;
}

test('found by pkg-config, the example trains as in wasm', async () => {
  assert.deepEqual(losses(compile('by-pkg-config')), await trainHere());
});

/** A session that trains such a batch, and describes itself. */
const TELLS = `#include <stdio.h>
#include <string.h>
#include <trainlet.h>
static unsigned char file[1 << 20];
int main(int count, char **arguments) {
  FILE *from = fopen(arguments[count - 1], "rb");
  size_t bytes = fread(file, 1, sizeof file, from);
  TrainletSession *s = trainlet_session_new();
  trainlet_session_load(s, TRAINLET_COMPACT, file, bytes);
  trainlet_session_ready(s);
  memset(trainlet_session_feed(s, TRAINLET_TRAIN, "x", 1, 2, \
(int64_t[]){${BATCH}, ${PIXELS}}), 0, ${BATCH * PIXELS} * 4);
  memset(trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, (int64_t[]){${BATCH}}), 0, ${BATCH} * 8);
  if (trainlet_session_step(s)) return puts(trainlet_session_error(s)->text), 1;
  puts(trainlet_session_json(s));
  return 0;
}
`;

/**
 * The example takes what a session of the same build plans, and at most 8 KB.
 * @param {string} example
 * @param {string} from
 */
function checkMemory(example, from) {
  const source = path.join(folder, 'tells.c');
  writeFileSync(source, TELLS);
  const { memory } = JSON.parse(printed(compile('tells', [], from, source))[0]);
  const used = Number(/^(\d+) bytes of \d+$/.exec(printed(example).pop() ?? '')?.[1]);
  assert.ok(used > memory.peakBytes, `${used} bytes, ${memory.peakBytes} of them for numbers`);
  assert.ok(used <= memory.peakBytes + OVERHEAD, `${used} bytes, ${memory.peakBytes} of them for numbers`);
}

test('its memory is what the plan says', () => checkMemory(path.join(folder, 'by-pkg-config'), installed));

test('found by CMake, it prints the same', () => {
  const build = path.join(folder, 'by-cmake');
  run('cmake', ['-S', EXAMPLE, '-B', build, '-G', 'Ninja', `-DCMAKE_PREFIX_PATH=${installed}`]);
  run('cmake', ['--build', build]);
  assert.deepEqual(printed(path.join(build, 'mlp')), printed(path.join(folder, 'by-pkg-config')));
});

test('what is installed: trainlet.h, what it includes, and no word of where it was built', () => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(path.relative(installed, entry.parentPath ?? entry.path), entry.name));
  const headers = files.filter((file) => file.startsWith('include'));
  assert.deepEqual(
    headers.sort(),
    ['trainlet.h', 'trainlet/status.def', 'trainlet/status.h'].map((f) => `include/${f}`),
  );
  for (const file of files.filter((name) => !name.endsWith('.a'))) {
    const text = readFileSync(path.join(installed, file), 'utf8');
    for (const place of [root, path.join(folder, 'installed')]) assert.ok(!text.includes(place), file);
  }
});

test('a program in C++ includes the header', () => {
  const source = path.join(folder, 'program.cpp');
  writeFileSync(source, '#include <trainlet.h>\nint main() { trainlet_session_free(trainlet_session_new()); }\n');
  const libraries = [`-L${path.join(installed, 'lib')}`, '-ltrainlet', '-lm', '-pthread'];
  const program = path.join(folder, 'by-cpp');
  run('c++', [`-I${path.join(installed, 'include')}`, source, ...libraries, '-o', program]);
  run(program, []);
});

/** Bytes of a program's sections. @param {string} program */
function sizesOf(program) {
  const lines = run('size', ['-A', program]).matchAll(/^(\.\w+(?:\.\w+)*) +(\d+) /gm);
  return Object.fromEntries([...lines].map(([, section, bytes]) => [section, Number(bytes)]));
}

// These leave something out, in the order in which the fewest files are compiled again: first those with gradients.
test('a flavour for training trains', () => {
  const made = install('kept', '-DTRAINLET_KEEP=', '-DTRAINLET_FLAVOUR=training');
  assert.deepEqual(printed(compile('flavour', [], made)), printed(path.join(folder, 'by-pkg-config')));
});

test("ONNX Runtime's lists are read; what they leave out is refused by its name", () => {
  const list = path.join(folder, 'required_operators.config');
  writeFileSync(
    list,
    `# ai.onnx;12;Tanh
!globally_allowed_types;float,int64_t
ai.onnx;17;Gemm,SoftmaxCrossEntropyLoss{"inputs": {"0": ["float"], "1": ["int64_t"]}}
com.microsoft;1;InPlaceAccumulatorV2,ReduceSumTraining,ReluGrad,SoftmaxCrossEntropyLossGrad
`,
  );
  const program = compile('listed', [], install('kept', `-DTRAINLET_KEEP=${list}`, '-DTRAINLET_FLAVOUR=all'));
  assert.throws(() => printed(program), /this build was shrunk for required_operators and has no operator Relu\b/);
});

test('a library of what mlp.config lists trains the same, in a fraction of the code', () => {
  const kept = install('kept', `-DTRAINLET_KEEP=${path.join(EXAMPLE, 'mlp.config')}`, '-DTRAINLET_FLAVOUR=all');
  const program = compile('kept-mlp', [], kept);
  assert.deepEqual(losses(program), losses(path.join(folder, 'by-pkg-config')));
  checkMemory(program, kept);
  const sizes = sizesOf(program);
  for (const [section, most] of Object.entries(MOST))
    assert.ok(sizes[section] <= most, `${section} has ${sizes[section]} bytes, at most ${most} are allowed`);
});

test('a flavour for inference does not train', () => {
  const program = compile('flavour', [], install('kept', '-DTRAINLET_KEEP=', '-DTRAINLET_FLAVOUR=inference'));
  assert.throws(() => printed(program), /this build was shrunk for inference and has no /);
});

/** CMake's refusal of options, in one line. @param {string[]} options */
function refused(...options) {
  try {
    configure(path.join(folder, 'wrong'), ...options);
  } catch (error) {
    return String(error).replace(/\s+/g, ' ');
  }
  assert.fail('CMake takes it');
}

test('a list that is wrong is told in a sentence', () => {
  for (const [name, text, sentence] of /** @type {[string, string, RegExp][]} */ ([
    [
      'typo',
      'operator ai.onnx.Gemm\noperator ai.onnx.Gem\n',
      /typo\.config, line 2: there is no operator ai\.onnx\.Gem\b/,
    ],
    ['kind', 'Gemm\n', /kind\.config, line 1: 'Gemm' is not one of operator, /],
    ['ort', 'ai.onnx;17;Gemm,Relu6\n', /ort\.config, line 1: there is no operator ai\.onnx\.Relu6/],
    ['empty', '# nothing\n\n', /empty\.config names no operator/],
  ])) {
    const list = path.join(folder, `${name}.config`);
    writeFileSync(list, text);
    assert.match(refused(`-DTRAINLET_KEEP=${list}`), sentence);
  }
  assert.match(refused('-DTRAINLET_KEEP=/nowhere'), /there is no file \/nowhere/);
  const wrong = refused('-DTRAINLET_KEEP=', '-DTRAINLET_FLAVOUR=small');
  assert.match(wrong, /TRAINLET_FLAVOUR must be one of all, training, inference, artifacts, not 'small'/);
});
