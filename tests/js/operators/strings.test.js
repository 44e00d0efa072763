/** Tensors of strings: what operators make of them, as onnxruntime-web does, and what is refused. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import { generateArtifacts, InferenceSession, Tensor, TrainletError } from '../../../js/index.js';
import {
  attribute,
  attributeProto,
  graphProto,
  info,
  modelProto,
  node,
  opsetId,
  tensorProto,
} from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';

ort.env.wasm.numThreads = 1;
const [FLOAT, INT, INT32, STRING, BOOL, DOUBLE, UINT8] = [1, 7, 6, 8, 9, 11, 2];

/**
 * @param {Uint8Array[]} nodes
 * @param {Uint8Array[]} inputs
 * @param {Uint8Array[]} outputs
 * @param {Uint8Array[]} constants
 */
const model = (nodes, inputs, outputs, constants = []) =>
  modelProto({
    irVersion: 9,
    graph: graphProto({ node: nodes, name: 'g', initializer: constants, input: inputs, output: outputs }),
    opsetImport: opsetId(19),
  });
const words = (/** @type {string} */ name, /** @type {string[]} */ list) =>
  attributeProto({ name, strings: list, type: 8 });
const floats = (/** @type {string} */ name, /** @type {number[]} */ list) =>
  attributeProto({ name, floats: new Uint8Array(Float32Array.from(list).buffer), type: 6 });
const constant = (/** @type {string} */ name, /** @type {string[]} */ list) =>
  tensorProto({ dims: list.length, dataType: STRING, stringData: list, name });

/** @param {Uint8Array} bytes @param {Record<string, Tensor | Tensor<string[]>>} feeds */
async function ours(bytes, feeds, options = {}) {
  const session = await InferenceSession.create(bytes, { ...ALONE, ...options });
  try {
    return await session.run(feeds);
  } finally {
    await session.release();
  }
}

/**
 * Runs a model of one operator here and there: outputs must be the same to the bit.
 * @param {Uint8Array} bytes
 * @param {any} feeds
 */
async function agree(bytes, feeds) {
  const session = await ort.InferenceSession.create(bytes);
  const theirs = await session.run(
    Object.fromEntries(
      Object.entries(feeds).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
    ),
  );
  const got = await ours(bytes, feeds);
  for (const [name, { type, data, dims }] of Object.entries(theirs)) {
    assert.deepEqual(
      [got[name].type, [...got[name].dims], [...got[name].data]],
      [type, [...dims], [.../** @type {any} */ (data)]],
    );
  }
  await session.release();
  return /** @type {any} */ (got).y.data;
}

const strings = (/** @type {string[]} */ data, dims = [data.length]) => new Tensor('string', data, dims);
const TEXTS = strings(['', 'naïve', '日本語', '𝒳 & 🦊', 'a\nb', ' '], [2, 3]);

test('strings travel whole, through a worker too, and move as other elements do', async () => {
  const nodes = [
    node('Gather', ['x', 'i'], 'rows'),
    node('Transpose', ['rows'], 'turned'),
    node('Concat', ['turned', 'turned'], 'both', attribute('axis', 1)),
    node('Equal', ['x', 'w'], 'same'),
    node('Where', ['same', 'x', 'w'], 'chosen'),
    node('Reshape', ['chosen', 'flat'], 'y'),
    node('Shape', ['both'], 'shape'),
  ];
  const inputs = [info('x', STRING, ['N', 3]), info('i', INT, ['K'])];
  const outputs = [
    info('both', STRING, [3, 'M']),
    info('same', BOOL, ['N', 3]),
    info('y', STRING, ['L']),
    info('shape', INT, [2]),
  ];
  const flat = tensorProto({
    dims: 1,
    dataType: INT,
    name: 'flat',
    rawData: new Uint8Array(BigInt64Array.of(-1n).buffer),
  });
  const bytes = model(nodes, inputs, outputs, [constant('w', ['', 'naive', '日本語']), flat]);
  const feeds = { x: TEXTS, i: new Tensor('int64', [1, 0, 1]) };
  const { both, y, same, shape } = /** @type {any} */ (await ours(bytes, feeds, { worker: true, threads: 1 }));
  assert.ok(both instanceof Tensor);
  assert.deepEqual(
    both.data,
    [0, 1, 2].flatMap((column) => [1, 0, 1, 1, 0, 1].map((row) => TEXTS.data[3 * row + column])),
  );
  assert.deepEqual(
    y.data,
    ['', 'naïve', '日本語', '𝒳 & 🦊', 'a\nb', ' '].map((text, i) =>
      same.data[i] ? text : ['', 'naive', '日本語'][i % 3],
    ),
  );
  assert.deepEqual(
    [[...same.data], [...shape.data]],
    [
      [1, 0, 1, 0, 0, 0],
      [3n, 6n],
    ],
  );
  const session = await InferenceSession.create(bytes, ALONE);
  for (const [n, text] of /** @type {[number, string][]} */ ([
    [2, 'ab'],
    [2, 'a much longer text than the one before'.repeat(50)],
    [0, ''],
    [1, ''],
  ])) {
    const own = strings(Array(6).fill(''), [3, 2]);
    const { both: again } = await session.run(
      { x: strings(Array(3 * n).fill(text), [n, 3]), i: new Tensor('int64', n ? [0] : [], [n ? 1 : 0]) },
      { both: n ? own : null },
    );
    assert.deepEqual(/** @type {any} */ (again).data, n ? Array(6).fill(text) : []);
    assert.equal(again, n ? own : again);
  }
  await session.release();
});

test('Cast writes numbers that read back, and reads what ONNX Runtime reads', async () => {
  const cast = (/** @type {number} */ from, /** @type {number} */ to) =>
    model([node('Cast', ['x'], 'y', attribute('to', to))], [info('x', from, ['N'])], [info('y', to, ['N'])]);
  for (const [from, to, type] of /** @type {[number, number, any][]} */ ([
    [STRING, FLOAT, 'float32'],
    [STRING, DOUBLE, 'float64'],
    [STRING, INT, 'int64'],
    [STRING, INT32, 'int32'],
    [STRING, UINT8, 'uint8'],
  ])) {
    const texts = type.startsWith('float')
      ? ['1', '-0.5', '1e-5', '1E8', 'NaN', 'INF', '-INF', '3.4028235e38', '0.1']
      : ['0', '7', '123'];
    await agree(cast(from, to), { x: strings(texts) });
    await assert.rejects(
      ours(cast(from, to), { x: strings(['1', '2b']) }),
      /Cast 'Casty': element 1, '2b', is no number/,
    );
    assert.equal(type, (await ours(cast(from, to), { x: strings(['1']) })).y.type);
  }
  assert.deepEqual(
    await agree(cast(INT, STRING), { x: new Tensor('int64', [0, -7, 9007199254740993n, -(2n ** 63n)]) }),
    ['0', '-7', '9007199254740993', '-9223372036854775808'],
  );
  const numbers = Float32Array.of(0, -0, 1, 0.1, 1 / 3, 16777216, 1e-45, 3.4028234663852886e38, -2.5e-7);
  for (const x of [new Tensor('float32', numbers), new Tensor('float64', Float64Array.of(...numbers, 0.1, Math.PI))]) {
    const kind = x.type === 'float32' ? FLOAT : DOUBLE;
    const { y } = /** @type {any} */ (await ours(cast(kind, STRING), { x }));
    const back = await ours(cast(STRING, kind), { x: y });
    assert.deepEqual([...back.y.data], [...x.data]);
    assert.deepEqual(y.data.slice(2, 4), ['1', x.type === 'float32' ? '0.1' : '0.10000000149011612']);
  }
  const { y } = /** @type {any} */ (
    await ours(cast(FLOAT, STRING), { x: new Tensor('float32', [Number.NaN, Infinity, -Infinity]) })
  );
  assert.deepEqual(y.data, ['NaN', 'INF', '-INF']);
});

test('strings that a Loop makes outlive it', async () => {
  const session = await InferenceSession.create(
    readFileSync(new URL('../../golden/data/subgraphs/fed_texts.onnx', import.meta.url)),
    ALONE,
  );
  for (const n of [1, 300, 7]) {
    const { y } = await session.run({ n: new Tensor('int64', [n], []) });
    assert.deepEqual(
      /** @type {any} */ (y.data),
      Array.from({ length: n }, (_, i) => String(i)),
    );
  }
  await session.release();
});

test('StringNormalizer as ONNX Runtime has it, other alphabets too', async () => {
  const normalize = (/** @type {Uint8Array[]} */ ...attributes) =>
    model(
      [node('StringNormalizer', ['x'], 'y', ...attributes)],
      [info('x', STRING, ['N'])],
      [info('y', STRING, ['M'])],
    );
  const x = strings([
    'Monday',
    'tuesday',
    'ÉTÉ',
    'Straße',
    'ΑΒΓ',
    'Привет',
    'Ёлка',
    'Žluťoučký',
    'ſ',
    '日本',
    '',
    'MONDAY',
  ]);
  const stop = words('stopwords', ['monday', 'ÉTÉ', 'ёлка']);
  for (const action of ['LOWER', 'UPPER', 'NONE']) {
    for (const sensitive of [0, 1]) {
      const { y } = /** @type {any} */ (
        await ours(
          normalize(attribute('case_change_action', action), attribute('is_case_sensitive', sensitive), stop),
          { x },
        )
      );
      const same = (/** @type {string} */ text) => (sensitive ? text : text.toLowerCase());
      const kept = x.data.filter((text) => !['monday', 'ÉTÉ', 'ёлка'].some((word) => same(word) === same(text)));
      const changed = (/** @type {string} */ text) =>
        action === 'LOWER'
          ? text.toLowerCase()
          : action === 'UPPER'
            ? text.replace(/[^ßſ]/g, (c) => c.toUpperCase())
            : text;
      assert.deepEqual(y.data, kept.map(changed));
    }
  }
  const plain = strings(['Monday', 'tuesday', 'MONDAY', 'x']);
  for (const action of ['LOWER', 'UPPER', 'NONE']) {
    for (const sensitive of [0, 1]) {
      await agree(
        normalize(
          attribute('case_change_action', action),
          attribute('is_case_sensitive', sensitive),
          words('stopwords', ['monday', 'MONDAY']),
        ),
        { x: plain },
      );
    }
  }
  assert.deepEqual(
    await agree(normalize(words('stopwords', ['x']), attribute('is_case_sensitive', 1)), { x: strings(['x', 'x']) }),
    [''],
  );
});

test('TfIdfVectorizer as ONNX Runtime has it, in all modes', async () => {
  const attributes = [
    attribute('min_gram_length', 1),
    attribute('max_gram_length', 3),
    attribute('max_skip_count', 2),
    attribute('ngram_counts', [0, 3, 9]),
    attribute('ngram_indexes', [4, 0, 2, 1, 3, 6, 5]),
    floats('weights', [0.5, 2, 3, 4, 5, 6, 7]),
  ];
  const pool = [1, 2, 3, 1, 2, 2, 3, 3, 1, 1, 2, 3];
  const row = [1, 2, 3, 1, 1, 2, 2, 3, 3, 3, 1, 2];
  for (const mode of ['TF', 'IDF', 'TFIDF']) {
    const make = (/** @type {number} */ type, /** @type {Uint8Array} */ items) =>
      model(
        [node('TfIdfVectorizer', ['x'], 'y', attribute('mode', mode), ...attributes, items)],
        [info('x', type, ['N', 'C'])],
        [info('y', FLOAT, ['N', 7])],
      );
    const ints = attribute('pool_int64s', pool);
    const counted = await agree(make(INT, ints), { x: new Tensor('int64', row, [2, 6]) });
    assert.ok(counted.some((/** @type {number} */ n) => n > (mode === 'TF' ? 1 : 0)));
    await agree(make(INT32, ints), { x: new Tensor('int32', row, [2, 6]) });
    await agree(
      make(
        STRING,
        words(
          'pool_strings',
          pool.map((n) => `word ${n}`),
        ),
      ),
      {
        x: strings(
          row.map((n) => `word ${n}`),
          [2, 6],
        ),
      },
    );
  }
});

test('what has no place for strings refuses them in one sentence', async () => {
  const is = (/** @type {string} */ code, /** @type {RegExp} */ sentence) => (/** @type {unknown} */ error) => {
    assert.ok(error instanceof TrainletError, String(error));
    assert.match(error.message, sentence);
    assert.equal(error.code, code);
    return true;
  };
  const add = model([node('Add', ['x', 'x'], 'y')], [info('x', STRING, [2])], [info('y', STRING, [2])]);
  await assert.rejects(
    ours(add, { x: strings(['a', 'b']) }),
    is('unsupported-op', /Add 'Addy': input 0 \('x'\) is string, it takes numbers/),
  );
  const fill = model(
    [
      node(
        'ConstantOfShape',
        ['x'],
        'y',
        attributeProto({ name: 'value', t: tensorProto({ dims: 1, dataType: STRING, stringData: 'a' }), type: 4 }),
      ),
    ],
    [info('x', INT, [1])],
    [info('y', STRING, ['N'])],
  );
  await assert.rejects(
    ours(fill, { x: new Tensor('int64', [2]) }),
    is('unsupported-op', /ConstantOfShape 'ConstantOfShapey': it makes numbers, no strings/),
  );
  const same = model([node('Identity', ['x'], 'y')], [info('x', STRING, [2])], [info('y', STRING, [2])]);
  await assert.rejects(
    ours(same, { x: new Tensor('float32', [1, 2]) }),
    is('invalid-feed', /input 'x' wants string, float32 came/),
  );
  await assert.rejects(
    ours(same, { x: strings(['a', 'b', 'c']) }),
    is('invalid-feed', /input 'x' wants shape \(2\), \(3\) came/),
  );
  await assert.rejects(
    generateArtifacts(same, { loss: 'mse', ...ALONE }),
    is('unsupported-op', /input 'x' has elements of type string; training feeds graphs with numbers alone/),
  );
  const broken = model([node('Identity', ['w'], 'y')], [], [info('y', STRING, [2])], [constant('w', ['a', 'b\0'])]);
  await assert.rejects(ours(broken, {}), is('unsupported-op', /initializer 'w' has a string with a zero character/));
  const short = model(
    [node('Identity', ['w'], 'y')],
    [],
    [info('y', STRING, [2])],
    [tensorProto({ dims: 3, dataType: STRING, stringData: 'a', name: 'w' })],
  );
  await assert.rejects(
    ours(short, {}),
    is('invalid-model', /initializer 'w' of shape \(3\) needs 3 strings of data, it has 1/),
  );
});
