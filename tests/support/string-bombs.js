// Bombs of strings: what is repeated, joined, cut, matched and written as text.

import { attribute, attributeProto, info, node, tensorProto } from './onnx-file.js';
import { int64, learned, list, microsoft, model } from './bomb-models.js';

const STRING = 8;
/** An initializer of strings. */
const strings = (name, ...texts) => [5, tensorProto({ dims: texts.length, dataType: STRING, stringData: texts, name })];
/** `s` joined with itself: 2 ** times texts. */
const doubled = (times, from = 's') =>
  list(times, (i) =>
    node('StringConcat', i ? [`d${i - 1}`, `d${i - 1}`] : [from, from], [i === times - 1 ? 'long' : `d${i}`]),
  );
/** A model that makes v, whole numbers or truths, of the text s. */
const bomb = (nodes, text = 'a b', constants = {}) =>
  model(nodes, constants, { opset: 20, parts: [strings('s', text)], type: true });
const many = () => node('Expand', ['s', 'size'], ['many']);
export const split = (input) => node('StringSplit', [input], ['parts', 'v'], attribute('delimiter', ' '));
const matches = (input, pattern) => node('RegexFullMatch', [input], ['v'], attribute('pattern', pattern));
/** A model whose output y is the strings that the nodes make. */
const written = (nodes, text = 'a b', constants = {}) =>
  model(nodes, constants, { opset: 20, parts: [strings('s', text)], type: true, output: info('y', STRING, ['n']) });
/** Strings of what is fed, so that no string is known before a run: 'fed', 'count' times, joined with itself. */
export const fed = (times) => [
  node('ReduceMax', ['x'], ['one'], attribute('keepdims', 0)),
  node('Cast', ['one'], ['text'], attribute('to', STRING)),
  ...doubled(times, 'text'),
  node('Expand', [times ? 'long' : 'text', 'size'], ['many']),
];
const tokenizer = (input, pattern) =>
  microsoft(
    'Tokenizer',
    [input],
    ['tokens'],
    attribute('mark', 0),
    attribute('mincharnum', 1),
    attribute('pad_value', ''),
    attribute('tokenexp', pattern),
  );
const size = (...dims) => ({ size: int64(...dims) });

/* Operators that compare strings as a run computes: 'many', which are '0.5' times a power of two, with long keys. */
const KEY = '0.5'.repeat(335);
const keys = (name) => attribute(name, { strings: [KEY] });
const LOOKUPS = {
  LabelEncoder: () => learned('LabelEncoder', ['many'], ['v'], keys('keys_strings'), attribute('values_int64s', [1])),
  CategoryMapper: () => learned('CategoryMapper', ['many'], ['v'], keys('cats_strings'), attribute('cats_int64s', [1])),
  OneHotEncoder: () => learned('OneHotEncoder', ['many'], ['v'], keys('cats_strings')),
  DictVectorizer: () => learned('DictVectorizer', ['many', 'many'], ['words'], keys('string_vocabulary')),
  TfIdfVectorizer: () =>
    node(
      'TfIdfVectorizer',
      ['many'],
      ['v'],
      attribute('mode', 'TF'),
      ...['min_gram_length', 'max_gram_length'].map((name) => attribute(name, 1)),
      ...['ngram_counts', 'ngram_indexes'].map((name) => attribute(name, [0])),
      keys('pool_strings'),
    ),
  Equal: () => node('Equal', ['many', 'others'], ['v']),
};
const others = [node('StringConcat', ['long', 's'], ['other']), node('Expand', ['other', 'size'], ['others'])];
/** Each of these, of `count` strings that are known, and that are fed. */
const lookups = (count) =>
  Object.entries(LOOKUPS).flatMap(([op, made]) => {
    const nodes = [
      ...(op === 'Equal' ? others : []),
      made(),
      ...(op === 'DictVectorizer' ? [matches('words', 'a')] : []),
    ];
    const known = [...doubled(10), node('Expand', ['long', 'size'], ['many'])];
    return [
      [`${op} of ${count} long strings`, () => bomb([...known, ...nodes], '0.5', size(count))],
      [`${op} of ${count} long fed strings`, () => bomb([...fed(10), ...nodes], '0.5', size(count))],
    ];
  });

/** @type {[string, () => Uint8Array][]} */
export const STRING_BOMBS = [
  ...[2 ** 20, 2 ** 26, 2 ** 31].map((count) => [
    `StringSplit of ${count} strings`,
    () => bomb([many(), split('many')], 'a b c', size(count)),
  ]),
  ...[20, 26, 32].map((times) => [
    `StringSplit of a string doubled ${times} times`,
    () => bomb([...doubled(times), split('long')]),
  ]),
  ...[20, 26, 32].map((times) => [
    `RegexFullMatch of a string doubled ${times} times`,
    () => bomb([...doubled(times), matches('long', '(a|b| |ab|.)*')]),
  ]),
  ['RegexFullMatch with 4,000 states', () => bomb([...doubled(18), matches('long', '(.?){900}X')])],
  ...[2 ** 20, 2 ** 28].map((count) => [
    `RegexFullMatch of ${count} strings`,
    () => bomb([many(), matches('many', 'a.*')], 'a b', size(count)),
  ]),
  ...[2 ** 12, 2 ** 20].map((count) => [
    `StringConcat of a column and a row of ${count}`,
    () =>
      bomb(
        [
          node('Expand', ['s', 'size'], ['row']),
          node('Expand', ['s', 'tall'], ['column']),
          node('StringConcat', ['row', 'column'], ['all']),
          matches('all', 'a'),
        ],
        'a b',
        { size: int64(1, count), tall: int64(count, 1) },
      ),
  ]),
  ...[2 ** 16, 2 ** 24].map((count) => [
    `StringNormalizer of ${count} strings`,
    () =>
      bomb(
        [
          many(),
          node(
            'StringNormalizer',
            ['many'],
            ['lower'],
            attribute('case_change_action', 'LOWER'),
            attributeProto({ name: 'stopwords', strings: list(200, (i) => `w${i}`), type: STRING }),
          ),
          matches('lower', 'a'),
        ],
        'a b',
        size(count),
      ),
  ]),
  ...['.', 'a+', '.*?b'].map((pattern) => [
    `Tokenizer ${pattern} of a string doubled 22 times`,
    () => bomb([...doubled(22), tokenizer('long', pattern), matches('tokens', 'a')]),
  ]),
  ...[2 ** 18, 2 ** 26].map((count) => [
    `Cast of ${count} numbers to strings`,
    () =>
      bomb(
        [
          node('ConstantOfShape', ['size'], ['zeros']),
          node('Cast', ['zeros'], ['many'], attribute('to', STRING)),
          matches('many', '0'),
        ],
        'a',
        size(count),
      ),
  ]),
  ['Tile of a string', () => bomb([node('Tile', ['s', 'size'], ['many']), matches('many', 'a')], 'a', size(2 ** 27))],
  [
    'Concat of strings, doubled 27 times',
    () =>
      bomb([
        ...list(27, (i) =>
          node('Concat', i ? [`c${i - 1}`, `c${i - 1}`] : ['s', 's'], [`c${i}`], attribute('axis', 0)),
        ),
        matches('c26', 'a'),
      ]),
  ],
  [
    'Gather of one string many times',
    () =>
      bomb(
        [
          node('ConstantOfShape', ['size'], ['zeros'], attribute('value', int64(0))),
          node('Gather', ['s', 'zeros'], ['many']),
          matches('many', 'a'),
        ],
        'a',
        size(2 ** 26),
      ),
  ],
  [
    'a chain of StringSplit',
    () =>
      bomb([
        ...doubled(16),
        node('StringSplit', ['long'], ['p0', 'n0'], attribute('delimiter', ' ')),
        ...list(6, (i) => node('StringSplit', [`p${i}`], [`p${i + 1}`, `n${i + 1}`], attribute('delimiter', ''))),
        matches('p6', 'a'),
      ]),
  ],
  [
    'StringSplit by a long delimiter, most of which comes all along',
    () =>
      bomb(
        [
          ...doubled(12),
          node('Expand', ['long', 'size'], ['many']),
          node('StringSplit', ['many'], ['parts', 'v'], attribute('delimiter', `${'a'.repeat(800)}b`)),
        ],
        'a',
        size(2 ** 12),
      ),
  ],
  // the strings are computed in a run
  ['StringSplit of fed strings', () => bomb([...fed(8), split('many')], 'a', size(2 ** 21))],
  ['StringSplit of a fed string', () => bomb([...fed(24), split('many')], 'a', size(1))],
  ['RegexFullMatch of fed strings', () => bomb([...fed(4), matches('many', '(0|.|5)*')], 'a', size(2 ** 20))],
  ['RegexFullMatch of long fed strings', () => bomb([...fed(20), matches('many', '(0|.|5)*')], 'a', size(2 ** 12))],
  [
    'Tokenizer of fed strings',
    () => bomb([...fed(10), tokenizer('many', '.'), matches('tokens', 'a')], 'a', size(2 ** 10)),
  ],
  [
    'Cast of fed strings to numbers',
    () => bomb([...fed(0), node('Cast', ['many'], ['v'], attribute('to', 1))], 'a', size(2 ** 22)),
  ],
  [
    'StringConcat of long fed strings',
    () => bomb([...fed(16), node('StringConcat', ['many', 'many'], ['all']), matches('all', 'a')], 'a', size(2 ** 12)),
  ],
  // expressions that reach many places for each letter
  [
    'RegexFullMatch of empty alternatives',
    () => bomb([...doubled(18), matches('long', `${'('.repeat(90)}.${'|)'.repeat(90)}*`)]),
  ],
  [
    'RegexFullMatch of a class of many ranges',
    () =>
      bomb([...doubled(20), matches('long', `[${list(400, (i) => String.fromCharCode(0x100 + 2 * i)).join('')}a b]*`)]),
  ],
  [
    'Tokenizer of an expression of 4,000 instructions',
    () => bomb([...doubled(20), tokenizer('long', 'a|c{900}|d{900}|e{900}'), matches('tokens', 'a')]),
  ],
  ...[2 ** 10, 2 ** 17, 2 ** 22].flatMap(lookups),
  // numbers
  [
    'Cast of a number of a million digits, many times',
    () =>
      bomb(
        [...doubled(20), node('Expand', ['long', 'size'], ['many']), node('Cast', ['many'], ['v'], attribute('to', 1))],
        '1',
        size(2 ** 12),
      ),
  ],
  [
    'Cast of fractions to strings',
    () =>
      bomb([
        node('RandomUniform', [], ['numbers'], attribute('shape', [2 ** 18]), attribute('dtype', 11)),
        node('Cast', ['numbers'], ['many'], attribute('to', STRING)),
        matches('many', '0'),
      ]),
  ],
  // strings that JavaScript makes
  ...[2 ** 16, 2 ** 22, 2 ** 26].map((count) => [
    `${count} strings given back`,
    () => written([many(), node('Identity', ['many'], ['y'])], 'a b', size(count)),
  ]),
  [
    'a string of a million letters given back many times',
    () => written([...doubled(20), node('Expand', ['long', 'size'], ['y'])], 'a b', size(2 ** 12)),
  ],
  [
    'parts of a string given back',
    () => written([...doubled(21), node('StringSplit', ['long'], ['y', 'n'], attribute('delimiter', ' '))]),
  ],
  ['a text of 2 GB, given back', () => written([...doubled(30), node('Identity', ['long'], ['y'])])],
];
