/** The page of a model of one's own: data that it reads or refuses, training on them, and the same as a program. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { Tensor } from '../../../js/index.js';
import { root } from '../../support/engines.js';
import { onnxFile } from '../../support/onnx-file.js';
import '../../support/site-layout.js';

const PAGE = '../../../web-demo/try/';
const { codeOf } = await import(`${PAGE}code.js`);
const { rowsOf, split } = await import(`${PAGE}data.js`);
const { flowers } = await import(`${PAGE}examples.js`);
const { literal } = await import(`${PAGE}literal.js`);
const { makeNetwork } = await import(`${PAGE}made.js`);
const { modelOf, weightsOf } = await import(`${PAGE}model.js`);
const { parseNpy, parseNpz } = await import(`${PAGE}npy.js`);
const { playgroundCode, playgroundLink } = await import(`${PAGE}playground.js`);
const { codeOf: playedOf } = await import('../../../web-demo/play/link.js');
const { readPictures } = await import(`${PAGE}pictures.js`);
const { readData } = await import(`${PAGE}read-data.js`);
const { propose } = await import(`${PAGE}recipe.js`);
const { Training } = await import(`${PAGE}training.js`);

const readers = await readFile(path.join(root, 'web-demo/try/npy.js'), 'utf8');
const run = promisify(execFile);
/** A folder in the package, so that its programs import the package by its name. @type {string} */
let folder;
before(async () => {
  folder = await mkdtemp(path.join(root, 'build', 'try-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A dense layer from `dims` to `outputs`. @param {(string | number)[]} dims @param {number} outputs */
function dense(dims, outputs) {
  const inputs = dims.slice(1).reduce((/** @type {number} */ a, b) => a * Number(b), 1);
  const data = Float32Array.from({ length: inputs * outputs }, (_, i) => Math.sin(i) / 4);
  const isFlat = dims.length > 2;
  return onnxFile({
    name: 'dense',
    nodes: [
      ...(isFlat ? [{ op: 'Flatten', inputs: ['x'], outputs: ['f'], attributes: { axis: 1 } }] : []),
      { op: 'MatMul', inputs: [isFlat ? 'f' : 'x', 'w'], outputs: ['y'], attributes: {} },
    ],
    weights: new Map([['w', { type: 'float32', dims: [inputs, outputs], data }]]),
    inputs: [{ name: 'x', type: 'float32', dims }],
    outputs: [{ name: 'y', type: 'float32', dims: ['N', outputs] }],
  });
}

const csv = (/** @type {string} */ name, /** @type {string} */ text) => new File([text], name);
const table = (/** @type {File} */ file) => ({ kind: 'table', files: [{ file, path: file.name }] });
const read = (/** @type {any} */ raw, /** @type {any} */ model, choices = {}) =>
  readData(raw, choices, model, () => {});
const small = async () =>
  modelOf('small.onnx', await makeNetwork({ features: 4, outputs: 3 }), { features: 4, outputs: 3 });
const refusalOf = async (/** @type {Promise<any>} */ promise) =>
  promise.then(
    () => assert.fail('it was not refused'),
    (error) => error.message,
  );

/**
 * Trains as the page does, and runs its program in Node: both must lose the same.
 * @param {any} model @param {any} data @param {Record<string, Uint8Array | string>} files
 */
async function sameAsCode(model, data, files) {
  const { recipe } = propose(model.onnx, weightsOf(model), data);
  const training = await Training.open(model, { ...recipe, epochs: 3 }, data);
  await training.fit({});
  const judged = await training.judge();
  await training.release();
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
  await writeFile(path.join(folder, 'same.mjs'), codeOf(model, { ...recipe, epochs: 3 }, data, readers));
  const { stdout } = await run(process.execPath, ['same.mjs'], { cwd: folder });
  const loss = Number(/loss: ([\d.e+-]+)/.exec(stdout)?.[1]);
  assert.ok(Math.abs(loss - judged.loss) <= 1e-6 * Math.abs(judged.loss), `${loss} and ${judged.loss}: ${stdout}`);
  return { recipe, judged };
}

test('a table with the small network, which is made for it: trained, judged, and the same as a program', async () => {
  const { data, model } = await read(table(flowers()), await small());
  assert.equal(data.count, 150);
  assert.deepEqual(data.classes, ['daisy', 'poppy', 'tulip']);
  assert.deepEqual(data.example(0), ['2.3', '10.5', 'white', 'daisy']);
  const { judged } = await sameAsCode(model, data, { 'flowers.csv': await flowers().text() });
  assert.equal(judged.readings.length, 30);
  assert.equal(
    judged.confusion.flat().reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b),
    30,
  );
});

test('numbers to predict, and two classes on one output: the same as a program', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => `${i % 7},${i % 5},${3 * (i % 7) - (i % 5)},${Number(i % 7 > 3)}`);
  const text = ['a,b,price,late', ...rows].join('\n');
  const houses = table(csv('houses.csv', text));
  const numbers = await read(houses, await small(), { target: 'price' });
  assert.equal(numbers.data.task, 'numbers');
  const { judged } = await sameAsCode(numbers.model, numbers.data, { 'houses.csv': text });
  assert.equal(judged.confusion, undefined);
  assert.ok(Number.isFinite(judged.metrics.r2));

  const one = await modelOf('one.onnx', dense(['N', 2], 1));
  const binary = await read(houses, one, { target: 'late', ignore: ['price'], task: 'classification' });
  const trained = await sameAsCode(one, binary.data, { 'houses.csv': text, 'one.onnx': dense(['N', 2], 1) });
  assert.equal(trained.recipe.loss, 'bce-with-logits');
  assert.equal(trained.judged.confusion.length, 2);
});

test('rows of another shape, and random numbers: the same as a program', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => `${i},${i % 2},${i % 3},${-i},c${i % 3}`);
  const text = ['a,b,c,d,kind', ...rows].join('\n');
  const square = await modelOf('square.onnx', dense(['N', 2, 2], 3));
  const { data } = await read(table(csv('square.csv', text)), square);
  assert.deepEqual(data.learned.inputs.x.dims.slice(1), [2, 2]);
  await sameAsCode(square, data, { 'square.csv': text, 'square.onnx': dense(['N', 2, 2], 3) });
  const random = await read({ kind: 'random', files: [] }, await small());
  await sameAsCode(random.model, random.data, {});

  const tokens = await readFile(path.join(root, 'tests/golden/data/transformer.onnx'));
  const model = await modelOf('transformer.onnx', tokens);
  const scored = await read({ kind: 'random', files: [] }, model);
  assert.deepEqual(scored.data.learned.labels.dims, [205, 9]); // a label for each token
  await sameAsCode(model, scored.data, { 'transformer.onnx': tokens });
});

test('a table that does not fit is refused in a sentence that says what to do', async () => {
  const seven = await modelOf('seven.onnx', dense(['N', 7], 3));
  const refused = (/** @type {string} */ text, choices = {}) =>
    refusalOf(read(table(csv('t.csv', text)), seven, choices));
  const fits = 'a,b,kind\n1,2,x\n3,4,y\n5,6,x\n';
  assert.match(
    await refused(fits),
    /^A row becomes 2 numbers \(a, b\), and the model's input 'x' takes 7: add the columns/,
  );
  assert.match(await refused(''), /t\.csv has no example|is empty/);
  assert.match(await refused('kind\nx\ny\n'), /no column is left to learn from/);
  const named = Array.from({ length: 30 }, (_, i) => `name ${i},${i},${i % 4},${i % 2 ? 'x' : 'y'}`);
  const left = await read(table(csv('t.csv', ['name,a,b,kind', ...named].join('\n'))), await small());
  assert.deepEqual(left.data.warnings, ["Column 'name' is left out: it has dates, or texts that are all different."]);
  const numbers = await read(table(csv('t.csv', '1,2,0\n3,4,1\n5,6,0\n')), await small());
  assert.deepEqual(numbers.data.head, ['column 1', 'column 2', 'column 3']);
});

test('labels that the outputs cannot be are refused, a new last layer takes them', async () => {
  const rows = Array.from({ length: 12 }, (_, i) => `${i},${i % 2},c${i % 4}`);
  const model = await modelOf('two.onnx', dense(['N', 2], 3));
  const { data } = await read(table(csv('t.csv', ['a,b,kind', ...rows].join('\n'))), model);
  const { recipe } = propose(model.onnx, weightsOf(model), data);
  assert.equal(recipe.trains, 'head');
  assert.match(
    await refusalOf(Training.open(model, { ...recipe, trains: 'all' }, data)),
    /^There are 4 classes, and the model has 3 outputs, for labels from 0 to 2: choose a new last layer\.$/,
  );
  assert.match(
    await refusalOf(Training.open(model, { ...recipe, loss: 'mse' }, data)),
    /classes: choose cross-entropy/,
  );
});

test('pictures of one class, or for a model of rows, are refused', async () => {
  const pictures = [1, 2].map((i) => ({ file: new Blob(['x']), path: `pets/cat/${i}.png` }));
  const image = await modelOf('image.onnx', dense(['N', 3, 2, 2], 3));
  assert.match(
    await refusalOf(readPictures(pictures, 'unit', image, () => {})),
    /^2 pictures of one class alone, the folder 'cat'\. .* a subfolder for each/,
  );
  assert.match(
    await refusalOf(readPictures(pictures, 'unit', await small(), () => {})),
    /^Pictures fill one input of four/,
  );
});

/** A .npy file. @param {string} descr @param {number[]} dims @param {Uint8Array} bytes */
function npy(descr, dims, bytes) {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims.join(', ')},), }\n`;
  const file = Buffer.alloc(10 + header.length + bytes.length);
  file.write('\x93NUMPY\x01\x00', 'latin1');
  file.writeUInt16LE(header.length, 8);
  file.write(header, 10);
  file.set(bytes, 10 + header.length);
  return file;
}

/** A .npz file of one entry for each array, deflated. @param {Record<string, Buffer>} files */
function npz(files) {
  const parts = /** @type {Buffer[]} */ ([]);
  const directory = /** @type {Buffer[]} */ ([]);
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const packed = deflateRawSync(content);
    const local = Buffer.alloc(30 + name.length);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(name.length, 26);
    local.write(name, 30);
    const entry = Buffer.alloc(46 + name.length);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(content.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    entry.write(name, 46);
    parts.push(local, packed);
    directory.push(entry);
    at += local.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

const bytesOf = (/** @type {any} */ array) => new Uint8Array(array.buffer);

test('arrays of NumPy are read, fitted to the model, and refused where they do not fit or are cut off', async () => {
  const x = npy('<f4', [12, 4], bytesOf(Float32Array.from({ length: 48 }, (_, i) => Math.cos(i))));
  const y = npy('<i8', [12], bytesOf(BigInt64Array.from({ length: 12 }, (_, i) => BigInt(i % 3))));
  assert.deepEqual(parseNpy(x).dims, [12, 4]);
  assert.deepEqual(
    [...(await parseNpz(npz({ 'y.npy': y }))).y.data].map(Number),
    Array.from({ length: 12 }, (_, i) => i % 3),
  );
  assert.throws(() => parseNpy(x.subarray(0, 100)), /cut off/);
  const files = (/** @type {Buffer} */ bytes) => [{ file: new File([bytes], 'data.npz'), path: 'data.npz' }];
  const model = await modelOf('four.onnx', dense(['N', 4], 3));
  const raw = { kind: 'arrays', files: files(npz({ 'x.npy': x, 'y.npy': y })) };
  const { data } = await read(raw, model);
  assert.deepEqual([data.count, data.task, data.classes?.length], [12, 'classes', 3]);
  assert.deepEqual(data.judged, [4, 9]);
  const program = codeOf(model, propose(model.onnx, 12, data).recipe, data, readers);
  const local = program.replace(
    '(await fetch(file)).arrayBuffer()',
    "(await import('node:fs/promises')).readFile(file)",
  );
  await writeFile(path.join(folder, 'four.onnx'), dense(['N', 4], 3));
  await writeFile(path.join(folder, 'data.npz'), npz({ 'x.npy': x, 'y.npy': y }));
  await writeFile(path.join(folder, 'arrays.mjs'), local);
  assert.match((await run(process.execPath, ['arrays.mjs'], { cwd: folder })).stdout, /loss: [\d.]+, accuracy: /);

  const fitted = await read(raw, await modelOf('small.onnx', await makeNetwork({ features: 9, outputs: 2 }), {}));
  assert.deepEqual(fitted.model.onnx.inputs[0].dims, ['batch', 4]);
  assert.deepEqual(fitted.model.onnx.outputs[0].dims, ['batch', 3]);

  const other = await modelOf('nine.onnx', dense(['N', 9], 3));
  assert.match(await refusalOf(read(raw, other)), /^'x' has examples of \(4\), and the input 'x' takes \(9\)/);
  const cut = { kind: 'arrays', files: files(npz({ 'x.npy': x }).subarray(0, 60)) };
  assert.match(await refusalOf(read(cut, model)), /^'data\.npz' is no \.npz, or not all of it\.$/);
  const alone = { kind: 'arrays', files: files(npz({ 'x.npy': x })) };
  assert.match(await refusalOf(read(alone, model)), /^There are no labels among the arrays 'x' float32 \(12, 4\)/);
});

test('every fifth example is held out, and rows keep their numbers', () => {
  const inputs = {
    x: new Tensor(
      'float32',
      Float32Array.from({ length: 24 }, (_, i) => i),
      [12, 2],
    ),
  };
  const labels = new Tensor(
    'int64',
    BigInt64Array.from({ length: 12 }, (_, i) => BigInt(i)),
  );
  const { learned, heldOut, judged } = split({ inputs, labels }, Tensor);
  assert.deepEqual([learned.labels.dims, judged], [[10], [4, 9]]);
  assert.deepEqual([...heldOut.inputs.x.data], [8, 9, 18, 19]);
  assert.deepEqual(rowsOf(labels, [11], Tensor).data, BigInt64Array.of(11n));
});

test('the program for the playground has the example or asks for its files, and a link brings it there', async () => {
  const { data, model } = await read(table(flowers()), await small());
  const { recipe } = propose(model.onnx, weightsOf(model), data);
  const text = await flowers().text();
  const code = playgroundCode(model, recipe, data, readers, text);
  assert.ok(code.includes(`const tableText = \`${text}\`;`) && code.includes('readTable(tableText, '));
  assert.match(playgroundCode(model, recipe, data, readers), /readTable\(file\('flowers\.csv'\), /);
  const link = await playgroundLink(code);
  assert.match(link, /^\.\.\/play\/#code=/);
  assert.equal(await playedOf(link.slice(link.indexOf('#'))), code);
  assert.equal(playgroundCode(model, recipe, { ...data, kind: 'pictures' }, readers), undefined);
});

test('values are written as JavaScript reads them', () => {
  const value = { a: [1, 'it\'s "so"\n'], 'b-c': { d: null }, e: [], f: true };
  assert.deepEqual(new Function(`return ${literal(value)}`)(), value);
  const long = Array.from({ length: 40 }, (_, i) => `name ${i}`);
  assert.deepEqual(new Function(`return ${literal(long)}`)(), long);
});
