/** Data sources of the command line: NumPy's .npz, CSV, JSON lines, several inputs, folders of pictures. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync } from 'node:zlib';
import sharp from 'sharp';
import { readArrays } from '../../../js/cli/arrays.js';
import { graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const golden = (name) => fileURLToPath(new URL(`../../golden/data/samples/${name}`, import.meta.url));
const X = { name: 'x', type: 'float32', dims: ['N', 6] };
const MORE = { name: 'more', type: 'float32', dims: ['N', 2] };
const LABELS = { name: 'labels', type: 'int64', dims: ['N'], labels: { classes: 3, axis: 1 } };

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-data-'));
});
after(() => rm(folder, { recursive: true }));

const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
const write = async (name, content) => {
  await writeFile(path.join(folder, name), content);
  return path.join(folder, name);
};
const read = (spec, wanted, options) => readArrays(spec, 'train', wanted, options);
const refused = (work, message, name = 'TrainletError') =>
  assert.rejects(work, (error) => {
    assert.equal(error.name === 'TrainletError' ? error.name : error.constructor.name, name, error.stack);
    assert.match(error.message, message);
    return true;
  });

for (const name of ['arrays.npz', 'packed.npz'])
  test(`${name} of NumPy: the arrays by the names of the inputs`, async () => {
    const { inputs, labels } = await read(golden(name), [X, LABELS, MORE]);
    assert.deepEqual([inputs.x.type, inputs.x.dims], ['float32', [4, 6]]);
    assert.deepEqual(
      [...inputs.x.data],
      Array.from({ length: 24 }, (_, i) => i / 8),
    );
    assert.deepEqual(
      [inputs.more.dims, [...inputs.more.data]],
      [
        [4, 2],
        [-4, -3, -2, -1, 0, 1, 2, 3],
      ],
    );
    assert.deepEqual([labels.labels.type, [...labels.labels.data]], ['int64', [2n, 0n, 1n, 2n]]);
    await refused(
      read(golden(name), [{ ...X, name: 'y' }, LABELS]),
      /npz has no 'y', which the model takes; it has x, more, labels$/,
    );
  });

test('a .npz that is damaged is one sentence', async () => {
  const whole = await readFile(golden('packed.npz'));
  const bad = async (bytes, message = /hurt\.npz is no \.npz, or not all of it: |hurt\.npz: \w+\.npy/) =>
    refused(read(await write('hurt.npz', bytes), [X, LABELS]), message);
  await bad(Buffer.from('no zip'), /it has no directory at its end$/);
  await bad(Buffer.alloc(0), /it has no directory at its end$/);
  for (const end of [30, 200, whole.length - 30]) await bad(whole.subarray(0, end));
  const at = whole.indexOf('PK\x01\x02', 'latin1');
  for (const [offset, value] of [
    [20, 1e9],
    [24, 3e9],
    [24, 5],
    [42, 7],
    [10, 99],
  ]) {
    const bytes = Buffer.from(whole);
    bytes.writeUInt32LE(value, at + offset);
    await bad(bytes);
  }
  for (let i = 0; i < whole.length; i += 7) {
    const bytes = Buffer.from(whole);
    bytes[i] ^= 0xff;
    await read(await write('hurt.npz', bytes), [X, LABELS]).catch((error) =>
      assert.equal(error.name, 'TrainletError', error.stack),
    );
  }
});

test('several inputs, a file each: in order, or by name', async () => {
  const npy = async (name, descr, dims, data) => {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims.join(', ')},), }`
      .padEnd(117)
      .concat('\n');
    return await write(
      name,
      Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header), Buffer.from(data.buffer)]),
    );
  };
  const x = await npy('x.npy', '<f4', [2, 6], new Float32Array(12).fill(1));
  const more = await npy('more.npy', '<i4', [2, 2], Int32Array.of(1, 2, 3, 4));
  const y = await npy('y.npy', '<i8', [2], BigInt64Array.of(0n, 1n));
  const wanted = [X, LABELS, MORE]; // the labels are the last file all the same
  for (const spec of [`${x},${more},${y}`, `labels=${y},x=${x},more=${more}`]) {
    const { inputs, labels } = await read(spec, wanted);
    assert.deepEqual(
      [[...inputs.more.data], [...labels.labels.data]],
      [
        [1, 2, 3, 4],
        [0n, 1n],
      ],
    );
  }
  await refused(
    read(`${x},${y}`, wanted),
    /^--data has 2 files, and the model takes 3: x, more, labels$/,
    'UsageError',
  );
  await refused(read(`x=${x},labels=${y}`, wanted), /^--data has no 'more', which the model takes; it has x, labels$/);
});

test('CSV: the columns that no name claims are the input, labels may be names of classes', async () => {
  const file = await write(
    'iris.csv',
    '\ufeffa,b,c,"d, wide",e,f,Class\r\n1,2,3,4,5,6,"the ""cat"""\r\n-1,0.5,1e3,0,0,0,dog\r\n\r\n',
  );
  const { inputs, labels } = await read(file, [X, LABELS]);
  assert.deepEqual(
    [inputs.x.dims, [...inputs.x.data]],
    [
      [2, 6],
      [1, 2, 3, 4, 5, 6, -1, 0.5, 1000, 0, 0, 0],
    ],
  );
  assert.deepEqual([...labels.labels.data], [1n, 0n]);
  const ordered = await read(file, [X, LABELS], { classes: ['the "cat"', 'dog'] });
  assert.deepEqual([...ordered.labels.labels.data], [0n, 1n]);
  const by = await write('two.csv', 'more.0,labels,x,more.1\n1,2,10,3\n4,0,20,5\n');
  const two = await read(by, [MORE, { ...X, dims: ['N'] }, LABELS]);
  assert.deepEqual(
    [[...two.inputs.more.data], [...two.inputs.x.data], [...two.labels.labels.data]],
    [
      [1, 3, 4, 5],
      [10, 20],
      [2n, 0n],
    ],
  );
});

test('CSV that does not fit is one sentence', async () => {
  const bad = async (text, message, wanted = [X, LABELS], options = {}) =>
    refused(read(await write('bad.csv', text), wanted, options), message);
  await bad('', /bad\.csv has no example: wanted are a line of names and one for each example$/);
  await bad('a,labels\n', /bad\.csv has no example/);
  await bad('a,labels\n1\n', /bad\.csv: example 1 has 1 cells, and there are 2 names$/);
  await bad('a,b\n1,2\n', /bad\.csv has no column 'labels', which the model takes; it has a, b$/);
  await bad('a,labels\n1,0\nx,1\n', /bad\.csv: x: example 2 has 'x' where a number is wanted$/, [
    { ...X, dims: ['N', 2] },
    LABELS,
  ]);
  await bad('a,b,labels\n1,2,0\n3,,1\n', /bad\.csv: x: example 2 has '' where a number is wanted$/, [
    { ...X, dims: ['N', 2] },
    LABELS,
  ]);
  await bad('a,b,labels\n1,2,0\n3,ten,1\n', /bad\.csv: x: example 2 has 'ten' where a number is wanted$/);
  for (const cell of ['0x10', '0X1f', '0b11', '0o17'])
    await bad(`a,b,labels\n1,${cell},0\n`, new RegExp(`example 1 has '${cell}' where a number is wanted$`));
  await bad('a,labels\n1,"0\n', /bad\.csv: line 2 has a quote where none can be$/);
  await bad('a,labels\n1,fox\n', /bad\.csv: labels has the class 'fox'; --classes has cat, dog$/, [X, LABELS], {
    classes: ['cat', 'dog'],
  });
  await bad(Buffer.from([0xff, 0xfe, 0x41]), /bad\.csv is not text in UTF-8$/);
});

test('JSON lines: numbers, nested arrays and names of classes', async () => {
  const lines = [
    {
      x: [
        [1, 2, 3],
        [4, 5, 6],
      ],
      labels: 'dog',
      extra: null,
    },
    {
      labels: 'cat',
      x: [
        [0, 0, 0],
        [1, 1, 1],
      ],
    },
  ];
  const file = await write('two.jsonl', `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`);
  const { inputs, labels } = await read(file, [{ ...X, dims: ['N', 2, 3] }, LABELS]);
  assert.deepEqual(
    [inputs.x.dims, [...inputs.x.data]],
    [
      [2, 2, 3],
      [1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 1, 1],
    ],
  );
  assert.deepEqual([...labels.labels.data], [1n, 0n]);
  const bad = async (text, message) => refused(read(await write('bad.jsonl', text), [X, LABELS]), message);
  await bad('\n', /bad\.jsonl has no example/);
  await bad('{"x": 1, "labels": 0}\n{"x": 1', /bad\.jsonl: line 2 is not JSON: /);
  await bad('{"x": 1}\n', /bad\.jsonl: line 1 has no 'labels', which the model takes$/);
  await bad('[1]\n', /bad\.jsonl: line 1 has no 'x', which the model takes$/);
  await bad(
    '{"x": [1, 2], "labels": 0}\n{"x": [1], "labels": 0}\n',
    /bad\.jsonl: x: example 2 is \[1\], and the first \[2\]$/,
  );
  await bad('{"x": [1, "b"], "labels": 0}\n', /bad\.jsonl: x: example 1 must be numbers \[2\], not \[1,"b"\]$/);
  await bad('{"x": [[1, 2], [3]], "labels": 0}\n', /bad\.jsonl: x: example 1 must be numbers \[2,2\], not /);
});

/** One colour. */
const plain = (width, height, r, g, b) => sharp({ create: { width, height, channels: 3, background: { r, g, b } } });

/** pets/cat: red, pets/dog: blue; formats, sizes and turns of all kinds, and what is no picture. */
async function makePets() {
  const pets = path.join(folder, 'pets');
  for (const name of ['cat', 'dog', 'dog/puppies', '.hidden']) await mkdir(path.join(pets, name), { recursive: true });
  const at = (name) => path.join(pets, name);
  await plain(20, 10, 255, 0, 0).png().toFile(at('cat/1.png'));
  await plain(9, 30, 250, 5, 5).jpeg({ quality: 100 }).toFile(at('cat/2.JPG'));
  await plain(16, 16, 255, 0, 0).webp({ lossless: true }).toFile(at('cat/3.webp'));
  await plain(8, 8, 0, 0, 255).gif().toFile(at('dog/1.gif'));
  await plain(8, 8, 0, 0, 255).tiff().toFile(at('dog/2.tif'));
  await plain(33, 8, 0, 0, 255).png({ palette: true }).toFile(at('dog/puppies/3.png'));
  await writeFile(at('dog/.DS_Store'), 'x');
  await writeFile(at('cat/notes.txt'), 'x');
  return pets;
}

/** x (N, 3, 8, 8) ─ Flatten ─ MatMul ─▶ scores (N, 2) */
const pictureModel = () =>
  modelProto({
    graph: graphProto({
      node: [node('Flatten', ['x'], ['flat']), node('MatMul', ['flat', 'w'], ['scores'])],
      name: 'g',
      initializer: tensor('w', { type: 'float32', dims: [192, 2], data: new Float32Array(384) }),
      input: info('x', 1, ['N', 3, 8, 8]),
      output: info('scores', 1, ['N', 2]),
    }),
    opsetImport: opsetId(17),
  });

test('a folder of pictures trains: each folder in it is a class', async () => {
  const pets = await makePets();
  const model = await write('pets.onnx', pictureModel());
  const made = path.join(folder, 'made');
  assert.equal((await run('artifacts', model, '--loss', 'cross-entropy', '--lr', '0.01', '-o', made)).code, 0);
  const trained = await run('train', made, '--data', pets, '--epochs', '30');
  assert.deepEqual([trained.code, trained.stderr], [0, '']);
  assert.match(
    trained.stdout,
    /^.*pets: 1 files that are no pictures are left out\n.*pets: 6 examples of 2 classes: 0 cat \(3\), 1 dog \(3\)\n/,
  );
  assert.match((await run('eval', made, '--data', pets)).stdout, /accuracy 100\.00 %\n$/);
  const augmented = await run('train', made, '--data', pets, '--augment', 'flip,rotate,colour', '--lr', '0.001');
  assert.deepEqual([augmented.code, augmented.stderr], [0, '']);
  const mirrored = await run('train', made, '--data', pets, '--augment', 'mirror');
  assert.deepEqual(
    [mirrored.code, mirrored.stderr.slice(0, 46)],
    [2, "trainlet: augment: there is no step 'mirror'; "],
  );
  const turned = await run('eval', made, '--data', pets, '--classes', 'dog,cat');
  assert.match(turned.stdout, /0 dog \(3\), 1 cat \(3\)\n.*accuracy 0\.00 %\n$/);
  const fewer = await run('eval', made, '--data', pets, '--classes', 'dog');
  assert.deepEqual([fewer.code, fewer.stderr], [1, `trainlet: ${pets} has the class 'cat'; --classes has dog\n`]);
  const odd = await run('eval', made, '--data', pets, '--crop', 'left');
  assert.deepEqual(
    [odd.code, odd.stderr],
    [2, "trainlet: --crop must be center or false, not 'left' (see trainlet eval --help)\n"],
  );
  const size = await run('eval', made, '--data', pets, '--size', '8,8,3');
  assert.deepEqual(
    [size.code, size.stderr],
    [2, "trainlet: --size must be a number or HEIGHT,WIDTH, not '8,8,3' (see trainlet eval --help)\n"],
  );
});

test('pictures have the layout, channels and numbers that input and options say; they stand upright', async () => {
  const one = path.join(folder, 'one');
  await mkdir(path.join(one, 'a'), { recursive: true });
  const left = plain(16, 32, 0, 0, 255);
  const right = { input: await plain(16, 32, 255, 0, 0).png().toBuffer(), left: 0, top: 0 };
  await left
    .composite([{ ...right, input: await plain(16, 16, 255, 0, 0).png().toBuffer() }])
    .jpeg({ quality: 100 })
    .withMetadata({ orientation: 6 })
    .toFile(path.join(one, 'a/1.jpg'));
  const nhwc = await read(one, [{ name: 'x', type: 'float32', dims: ['N', 'h', 'w', 3] }, LABELS], {
    image: { size: [2, 4], mean: 0.5, std: 0.5 },
  });
  assert.deepEqual(nhwc.inputs.x.dims, [1, 2, 4, 3]);
  const [first, last] = [nhwc.inputs.x.data.subarray(0, 3), nhwc.inputs.x.data.subarray(9, 12)];
  assert.ok(first[0] < -0.9 && first[2] > 0.9 && last[0] > 0.9 && last[2] < -0.9, 'red was above, and is on the right');
  const grey = await read(one, [{ name: 'x', type: 'uint8', dims: ['N', 1, 4, 4] }, LABELS]);
  assert.deepEqual([grey.inputs.x.type, grey.inputs.x.dims], ['uint8', [1, 1, 4, 4]]);
  await refused(
    read(one, [{ name: 'x', type: 'float32', dims: ['N', 3, 'h', 'w'] }, LABELS]),
    /input 'x' is \[N, 3, h, w\], which leaves the size open: give --size$/,
  );
  await refused(read(one, [X, LABELS]), /^.*one: pictures are for a model of one input of four dims, /);
  await writeFile(path.join(one, 'a/2.png'), 'no picture');
  await refused(
    read(one, [{ name: 'x', type: 'float32', dims: ['N', 3, 4, 4] }, LABELS]),
    /2\.png is no picture that can be read: /,
  );
  await mkdir(path.join(folder, 'empty'));
  await refused(
    read(path.join(folder, 'empty'), [{ name: 'x', type: 'float32', dims: ['N', 3, 4, 4] }, LABELS]),
    /empty has no folders with pictures: wanted is one for each class, as .*empty\/cat\/1\.jpg$/,
  );
});

/** A zip file as NumPy writes it, of stored or deflated entries; `directory` changes what it lists. */
function zipOf(entries, directory = (listed) => listed) {
  const parts = [];
  let at = 0;
  const listed = entries.map(({ name, content, method = 0, packed = content }) => {
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(name.length, 26);
    parts.push(head, Buffer.from(name), packed);
    const entry = { name, method, packed: packed.length, size: content.length, sum: crc32(content), at };
    at += 30 + name.length + packed.length;
    return entry;
  });
  const rows = directory(listed).map(({ name, method, packed, size, sum, at: from }) => {
    const row = Buffer.alloc(46);
    row.writeUInt32LE(0x02014b50, 0);
    row.writeUInt16LE(method, 10);
    for (const [place, value] of [
      [16, sum],
      [20, packed],
      [24, size],
      [42, from],
    ])
      row.writeUInt32LE(value, place);
    row.writeUInt16LE(name.length, 28);
    return Buffer.concat([row, Buffer.from(name)]);
  });
  const end = Buffer.alloc(22);
  const table = Buffer.concat(rows);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(rows.length, 8);
  end.writeUInt16LE(rows.length, 10);
  end.writeUInt32LE(table.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, table, end]);
}

const npy = (header, data = Buffer.alloc(24), version = [1, 0]) => {
  const length = Buffer.alloc(version[0] > 1 ? 4 : 2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.from(version), length, Buffer.from(header), data]);
};
const PLAIN = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 6), }\n";

test('each flipped bit of a .npz is refused, or changes no array', async () => {
  const whole = await readFile(golden('packed.npz'));
  const known = await read(golden('packed.npz'), [X, LABELS, MORE]);
  let refusals = 0;
  for (let bit = 0; bit < 8 * whole.length; bit += 5) {
    const bytes = Buffer.from(whole);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    const found = await read(await write('bit.npz', bytes), [X, LABELS, MORE]).catch((error) => {
      assert.equal(error.name, 'TrainletError', error.stack);
      refusals++;
    });
    if (found) assert.deepEqual(found, known, `bit ${bit}`);
  }
  assert.ok(refusals > whole.length / 2);
});

test('a .npz whose entries overlap, share a name or unpack to too much is refused before it is unpacked', async () => {
  const content = npy(PLAIN);
  const entry = { name: 'x.npy', content };
  const good = zipOf([
    entry,
    { name: 'labels.npy', content: npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", Buffer.alloc(8)) },
  ]);
  assert.deepEqual((await read(await write('good.npz', good), [X, LABELS])).inputs.x.dims, [1, 6]);
  const bad = async (zip, message) => {
    const since = performance.now();
    await refused(read(await write('bad.npz', zip), [X, LABELS]), message);
    assert.ok(performance.now() - since < 2000);
  };
  const twice = (listed) => [...listed, { ...listed[0], name: 'labels.npy' }];
  await bad(zipOf([entry], twice), /overlaps what follows it|another name/);
  await bad(zipOf([entry, entry]), /it has two arrays of one name$/);
  const zeros = Buffer.alloc(2 ** 26);
  const bomb = { name: 'x.npy', content: zeros, method: 8, packed: deflateRawSync(zeros) };
  const many = (listed) => Array.from({ length: 100 }, (_, i) => ({ ...listed[0], name: `${i}.npy` }));
  await bad(zipOf([bomb], many), /it unpacks to 6710886400 bytes; at most 4294967295 are read$/);
  const some = (listed) => many(listed).slice(0, 5);
  await bad(zipOf([bomb], some), /it unpacks to 335544320 bytes, more than 100 times its own \d+: numpy\.savez writes/);
  await bad(
    zipOf([entry], ([one]) => [{ ...one, sum: (one.sum ^ 1) >>> 0 }]),
    /x\.npy has other bytes than were saved$/,
  );
  await bad(Buffer.concat([Buffer.from('junk'), zipOf([entry])]), /no \.npz, or not all of it/);
});

/** Headers that NumPy 2.4 refuses. */
const REFUSED_HEADERS = [
  "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 6), } }",
  "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 6), 'more': 1}",
  "{'descr': '<f4', 'shape': (1, 6), }",
  "{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 6), }",
  "{'descr': '<f4', 'fortran_order': 'False', 'shape': (1, 6), }",
  "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }",
  "{'descr': '<f4', 'fortran_order': False, 'shape': (1,, 6), }",
  "{'descr': '<f4', 'fortran_order': False, 'shape': (01, 6), }",
  "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 6), }\xa0",
  "'descr': '<f4', 'fortran_order': False, 'shape': (1, 6)",
  `{'descr': '<f4', 'fortran_order': False, 'shape': (1, 6), }${' '.repeat(10_000)}`,
];

test('the header of a .npy is parsed: what NumPy refuses is refused, Fortran order seen however written', async () => {
  const load = async (header, version) => read(`x=${await write('a.npy', npy(header, undefined, version))}`, [X]);
  for (const header of [PLAIN, '{"shape":(1,6),"descr":"<f4","fortran_order":False}'])
    assert.deepEqual((await load(header)).labels.x.dims, [1, 6]);
  await load(PLAIN, [2, 0]);
  for (const header of REFUSED_HEADERS) await refused(load(header), /its header (is none of NumPy|would have)/);
  for (const version of [
    [0, 0],
    [4, 0],
    [1, 1],
  ])
    await refused(load(PLAIN, version), /is no \.npy|is of version \d(\.\d)? of \.npy/);
  for (const spelt of ["'fortran_order' : True", "'fortran_order':True", '"fortran_order": True'])
    await refused(load(`{'descr': '<f4', ${spelt}, 'shape': (1, 6), }`), /is in Fortran order/);
});

test('a table of 100,000 classes, and JSON nested a million deep, take less than two seconds', async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => `1,c${i}\n`);
  const cpu = () => process.cpuUsage().user / 1e6;
  const since = cpu();
  const { labels } = await read(await write('many.csv', `x,labels\n${rows.join('')}`), [
    { ...X, dims: ['N'] },
    { ...LABELS, labels: {} },
  ]);
  assert.equal(labels.labels.dims[0], 100_000);
  const deep = `${'['.repeat(1e6)}1${']'.repeat(1e6)}`;
  for (const line of [`{"x": ${deep}, "labels": 1}`, `{"x": [1, ${deep}], "labels": 1}`])
    await refused(read(await write('deep.jsonl', line), [X, LABELS]), /deep\.jsonl: x: example 1 must be numbers/);
  assert.ok(cpu() - since < 2, `${cpu() - since} s`);
});
