/**
 * Tables: awkward CSV held to what pandas and scikit-learn read (tests/golden/scripts/make_table.py), and what is
 * refused.
 */

import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readTable } from '../../../js/index.js';

const golden = JSON.parse(await readFile(new URL('../../golden/data/table.json', import.meta.url), 'utf8'));
/** Options of the cases in which pandas was told, too. */
const TOLD = {
  'more texts for missing cells': { naValues: ['-', 'unknown'] },
  'numbers that are categories': { types: { zip: 'category' } },
  'names of the alphabet': { types: { k: 'category' } },
  'windows-1252': { encoding: 'windows-1252' },
  'no line of names': { header: ['rooms', 'city', 'price'] },
};

/** @param {Float32Array} data @param {number} width @returns {number[][]} columns of rows */
const columnsOf = (data, width) => Array.from({ length: width }, (_, c) => [...data].filter((_, i) => i % width === c));

for (const [name, { csv, features, x, mean, variance, price }] of Object.entries(golden))
  test(`${name}: as pandas and scikit-learn read it`, async () => {
    const bytes = new Uint8Array(Buffer.from(csv, 'base64'));
    const table = await readTable(bytes, { target: 'price', task: 'regression', ...TOLD[name] });
    assert.deepEqual(table.features, features);
    assert.deepEqual(
      columnsOf(table.inputs.input_layer.data, features.length),
      x.map((column) => column.map(Math.fround)),
    );
    for (const [own, wanted] of [
      [table.mean, mean],
      [table.variance, variance],
    ]) {
      assert.equal(own.length, wanted.length);
      own.forEach((value, i) => {
        assert.ok(Math.abs(value - wanted[i]) <= 1e-12 * Math.max(1, Math.abs(wanted[i])), `${own} ≠ ${wanted}`);
      });
    }
    assert.deepEqual([...table.labels.target.data], price.map(Math.fround));
    assert.deepEqual(table.labels.target.dims, [price.length, 1]);
  });

/** @param {Promise<unknown>} work @param {RegExp} message @param {string} code */
const refused = (work, message, code = 'source-unreadable') =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, message);
    return true;
  });

const IRIS = ['width,kind', ...Array.from({ length: 30 }, (_, i) => `${i},${['b', 'c', 'a'][i % 3]}`)].join('\n');

test('classes: texts, true and false, 0 and 1; other numbers if the task says so', async () => {
  const { labels, classes, columns } = await readTable(IRIS, { target: 'kind' });
  assert.deepEqual([labels.labels.type, labels.labels.dims], ['int64', [30]]);
  assert.deepEqual([...labels.labels.data].slice(0, 3), [1n, 2n, 0n]);
  assert.deepEqual(classes, ['a', 'b', 'c']);
  assert.deepEqual(columns[1], { name: 'kind', role: 'target', type: 'category', categories: classes });
  const of = async (cells, options) => {
    const csv = `x,y\n${cells.map((cell, i) => `${i},${cell}`).join('\n')}\n`;
    const table = await readTable(csv, { target: 'y', ...options });
    return [table.classes, Object.keys(table.labels), table.warnings];
  };
  assert.deepEqual(await of([1, 0, 1]), [['0', '1'], ['labels'], []]);
  assert.deepEqual((await of([1, 0, '', 1])).slice(0, 2), [['0', '1'], ['labels']]);
  assert.deepEqual(await of([true, false, true]), [['false', 'true'], ['labels'], []]);
  assert.deepEqual(await of([1, 0, 1], { task: 'regression' }), [undefined, ['target'], []]);
  assert.deepEqual(await of([10, 9, 2, 2], { task: 'classification' }), [['2', '9', '10'], ['labels'], []]);
  const [none, target, [warning]] = await of([3, 4, 5, 5]);
  assert.deepEqual([none, target], [undefined, ['target']]);
  assert.match(warning, /^column 'y' has 3 different whole numbers .*; task: 'classification' makes them classes$/);
});

test('several targets, and none', async () => {
  const { labels, features } = await readTable('a,b,c\n1,2,3\n4,5,6\n', { target: ['c', 'a'], task: 'regression' });
  assert.deepEqual([features, labels.target.dims, [...labels.target.data]], [['b'], [2, 2], [1, 3, 4, 6]]);
  assert.equal((await readTable('a,b\n1,2\n')).labels, undefined);
});

test('validation is a share of each class, and mean and variance are those of what is left', async () => {
  const { inputs, labels, validation, mean, variance } = await readTable(IRIS, { target: 'kind', validation: 0.2 });
  assert.deepEqual(
    [inputs.input_layer.dims, validation.inputs.input_layer.dims],
    [
      [24, 1],
      [6, 1],
    ],
  );
  const counts = [0n, 1n, 2n].map((c) => validation.labels.labels.data.filter((label) => label === c).length);
  assert.deepEqual(counts, [2, 2, 2]);
  const rows = [...inputs.input_layer.data];
  assert.deepEqual(
    [...rows, ...validation.inputs.input_layer.data].sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, i) => i),
  );
  rows.forEach((width, i) => {
    assert.equal(labels.labels.data[i], [1n, 2n, 0n][width % 3]);
  });
  const middle = rows.reduce((sum, width) => sum + width, 0) / 24;
  assert.ok(Math.abs(mean[0] - middle) < 1e-12);
  assert.ok(Math.abs(variance[0] - rows.reduce((sum, width) => sum + (width - middle) ** 2, 0) / 24) < 1e-12);
  const again = (seed) => readTable(IRIS, { target: 'kind', validation: 0.2, seed });
  assert.deepEqual((await again(0)).inputs, inputs);
  assert.notDeepEqual((await again(1)).inputs, inputs);
});

test('new rows become the same inputs: of CSV, of objects, by columns that went through JSON', async () => {
  const csv = 'id,rooms,city,sea,price\n1,3,Bern,false,500\n2,5,Genf,true,900\n3,4,Bern,false,650\n';
  const { inputs, columns } = await readTable(csv, { target: 'price', ignore: ['id'] });
  const kept = { columns: JSON.parse(JSON.stringify(columns)) };
  const all = await readTable(csv, kept);
  assert.deepEqual([all.inputs, [...all.labels.target.data]], [inputs, [500, 900, 650]]);
  const other = 'sea\trooms\tcity\nTRUE\t5\tGenf\n'; // other columns, order and separator
  assert.deepEqual(
    [...(await readTable(other, kept)).inputs.input_layer.data],
    [...inputs.input_layer.data.subarray(4, 8)],
  );
  const object = { rooms: 5, city: 'Genf', sea: true, more: 'x' };
  const { inputs: own, labels, warnings } = await readTable([object], kept);
  assert.deepEqual([[...own.input_layer.data], labels, warnings], [[5, 0, 1, 1], undefined, []]);
});

test('new rows: an unseen category is told, a missing cell filled, a missing column refused', async () => {
  const { columns } = await readTable('rooms,city\n3,Bern\n5,Genf\n');
  const { inputs, warnings } = await readTable([{ rooms: null, city: 'Basel' }], { columns });
  assert.deepEqual([...inputs.input_layer.data], [4, 0, 0]);
  assert.deepEqual(
    warnings,
    [
      "column 'city' has 'Basel' in example 1, which is none of its categories: all of them are 0 there",
      "column 'rooms' has 1 cell without a value: its mean is put there",
    ].toSorted((a) => (a.includes('rooms') ? -1 : 1)),
  );
  await refused(
    readTable([{ rooms: 3 }], { columns }),
    /^the table has no column 'city', which the table before had; /,
  );
  await refused(
    readTable([{ rooms: 'three', city: 'Bern' }], { columns }),
    /column 'rooms' has 'three' in example 1 where a finite number is wanted$/,
  );
  await refused(
    readTable(IRIS, { columns, target: 'kind' }),
    /^readTable: target is for a table that is read anew/,
    'invalid-argument',
  );
  await refused(
    readTable(IRIS, { columns: ['rooms'] }),
    /^readTable: columns are those that an earlier/,
    'invalid-argument',
  );
  const iris = await readTable(IRIS, { target: 'kind' });
  await refused(
    readTable('width,kind\n1,d\n', { columns: iris.columns }),
    /'d' in example 1, which is none of its classes a, b, c$/,
  );
});

test('missing cells: filled, left out or refused, and examples without a target left out', async () => {
  const csv = 'a,k,y\n1,p,1\n,q,2\n3,,3\n5,p,\n';
  const read = (missing) => readTable(csv, { target: 'y', task: 'regression', missing });
  const filled = await read('fill');
  assert.deepEqual([...filled.inputs.input_layer.data], [1, 1, 0, 2, 0, 1, 3, 0, 0]);
  assert.deepEqual(filled.warnings, [
    "left out: 1 example without 'y'",
    "column 'a' has 1 cell without a value: its mean is put there",
    "column 'k' has 1 cell without a value: all its categories are 0 there",
  ]);
  const dropped = await read('drop');
  assert.deepEqual([...dropped.labels.target.data], [1]);
  assert.equal(dropped.warnings.at(-1), 'left out: 2 examples with a cell without a value');
  await refused(read('refuse'), /^the table: column 'a' has 1 cell without a value$/);
  await refused(readTable('a,y\n1,\n2,NA\n', { target: 'y' }), /^the table: column 'y' has no value to learn$/);
});

test('a column of texts that are all different is told, a target or one of a given type is not', async () => {
  const csv = (/** @type {string[]} */ names) => ['name,y', ...names.map((name, i) => `${name},${i}`)].join('\n');
  const told = async (/** @type {string[]} */ names, options = {}) =>
    (await readTable(csv(names), { target: 'y', task: 'regression', ...options })).warnings;
  const people = ['Ada', 'Bo', '', 'Cy', 'Di', 'Eve'];
  const sentence = "column 'name' has another text in every example, as a name has: ignore it, if it is one";
  assert.equal((await told(people))[0], sentence);
  assert.deepEqual(await told(people.with(2, 'Ada')), []);
  assert.deepEqual(await told(['a', 'b', 'c', 'd']), []);
  assert.deepEqual(await told(people.with(2, 'Flo'), { types: { name: 'category' } }), []);
  assert.deepEqual(await told(people, { target: 'name', task: 'classification' }), [
    "left out: 1 example without 'name'",
  ]);
});

/** @type {Record<string, [csv: string, options: object, message: RegExp, code?: string]>} */
const REFUSED = {
  'no line of names': ['1,2\n3,4\n', {}, /^the table has numbers in its first line: say by header /],
  'two columns of one name': ['a,a\n1,2\n', {}, /has two columns 'a'$/],
  'a row that is short': ['a,b\n1,2\n3\n', {}, /example 2 has 1 cells, and there are 2 names$/],
  'a quote that never ends': ['a,b\n1,"2\n', {}, /line 2 has a quote where none can be$/],
  'names alone': ['a,b\n', {}, /has no example/],
  'ISO dates': ['d,y\n2020-01-02,1\n2020-01-03T10:00,2\n', {}, /column 'd' has dates \('2020-01-02' in example 1\)/],
  'dates with points, and times': [
    'd,t\n2.1.2020,10:30\n3.1.2020,11:45:00\n',
    {},
    /column 'd' has dates.*; column 't' has dates/,
  ],
  'American dates': ['d,y\n12/31/2019,1\n1/5/2020,2\n', {}, /column 'd' has dates/],
  'a text among numbers': [
    'a,y\n1,2\n-,3\n5,4\n',
    {},
    /column 'a' has numbers, and '-' in example 2: is it one of naValues, /,
  ],
  'texts that are all different': [
    `name,y\n${Array.from({ length: 21 }, (_, i) => `n${i},1`).join('\n')}`,
    {},
    /column 'name' has 21 different texts \('n0' in example 1\): ignore it, or say the type category$/,
  ],
  infinity: ['a,y\n1,2\ninf,3\n', {}, /'inf' in example 2 where a finite number is wanted$/],
  'more than float32 holds': ['a,y\n1,2\n1e39,3\n', {}, /'1e39' in example 2 where a finite number is wanted$/],
  'a number that is a text': ['a,y\nx,2\n1,3\n', { types: { a: 'number' } }, /'x' in example 1 where a finite number/],
  'a boolean that is none': [
    'a,y\nyes,2\n1,3\n',
    { types: { a: 'boolean' } },
    /'yes' in example 1 where true or false/,
  ],
  'a single class': ['a,y\n1,x\n2,x\n', { target: 'y' }, /'x' in every example: there must be two classes at least$/],
  'only a target': ['a\n1\n', { target: 'a' }, /no column is left to learn from$/],
  'texts to regress on': ['a,y\n1,p\n2,q\n', { target: 'y', task: 'regression' }, /regression needs numbers, /],
  'two targets of texts': [
    'a,b,c\n1,p,2\n2,q,3\n',
    { target: ['b', 'c'] },
    /of several targets each must be numbers, and 'b' is not$/,
  ],
  'a target that is not there': [
    'a,b\n1,2\n',
    { target: 'price' },
    /^readTable: target names 'price', and the columns of the table are a, b$/,
    'invalid-argument',
  ],
  'an option that is none': ['a,b\n1,2\n', { seperator: ';' }, /there is no option 'seperator'/, 'invalid-argument'],
  'a separator of two': [
    'a,b\n1,2\n',
    { separator: ', ' },
    /separator is one character, not ', '$/,
    'invalid-argument',
  ],
  'a type that is none': [
    'a,b\n1,2\n',
    { types: { a: 'text' } },
    /types: a is 'number' or 'boolean' or 'category', not 'text'$/,
    'invalid-argument',
  ],
  'all held out': ['a,b\n1,2\n', { validation: 1 }, /validation is a share below 1, not 1$/, 'invalid-argument'],
};

for (const [name, [csv, options, message, code]] of Object.entries(REFUSED))
  test(`${name}: refused in a sentence`, () => refused(readTable(csv, options), message, code));

test('texts that may be all different are a category if that is said', async () => {
  const csv = `name,y\n${Array.from({ length: 200 }, (_, i) => `n${i},1`).join('\n')}`;
  assert.equal((await readTable(csv, { types: { name: 'category' } })).features.length, 201);
});

test('a string of one line is a path or a URL, and other sources are read as bytes', async () => {
  const file = path.join(tmpdir(), `trainlet-table-${process.pid}.csv`);
  await writeFile(file, IRIS);
  try {
    const wanted = (await readTable(IRIS)).inputs;
    const bytes = await readFile(file);
    const named = new File([bytes], 'iris.csv');
    for (const source of [
      file,
      pathToFileURL(file),
      new Blob([bytes]),
      named,
      new Response(bytes),
      new Uint8Array(bytes),
    ])
      assert.deepEqual((await readTable(source)).inputs, wanted);
    await refused(
      readTable(file, { target: 'price' }),
      new RegExp(`columns of ${file} are width, kind$`),
      'invalid-argument',
    );
    await refused(readTable(named, { target: 'price' }), /columns of iris\.csv are width, kind$/, 'invalid-argument');
    await refused(
      readTable(new Uint8Array([0xe9, 10, 49])),
      /^the table is not text in UTF-8: name its encoding, as windows-1252$/,
    );
  } finally {
    await rm(file);
  }
  await refused(readTable('nowhere.csv'), /^table could not be loaded from nowhere\.csv: /);
  await refused(readTable([]), /^readTable: wanted rows as objects/, 'invalid-argument');
  await refused(readTable(7), /^table could not be loaded: expected a URL, /);
  await refused(readTable(IRIS, { signal: AbortSignal.abort() }), /./, 'aborted');
});

test('100,000 rows of ten columns take less than three seconds of the processor', async () => {
  const line = (_, i) => Array.from({ length: 10 }, (_, c) => (c === 9 ? `"k${i % 7}"` : i * c * 0.5)).join(',');
  const csv = ['a,b,c,d,e,f,g,h,i,k', ...Array.from({ length: 1e5 }, line)].join('\n');
  const start = process.cpuUsage();
  const { inputs } = await readTable(csv, { target: 'a' });
  assert.deepEqual(inputs.input_layer.dims, [1e5, 15]);
  const { user } = process.cpuUsage(start);
  assert.ok(user < 3e6, `${user} µs`);
});
