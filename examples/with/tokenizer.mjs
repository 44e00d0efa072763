/**
 * Sentences through a tokenizer of Hugging Face: a small network learns which department a message is for.
 * `@huggingface/tokenizers` reads the files of any model of the Hub; the one here is made of the words of the examples.
 *
 *     node examples/with/tokenizer.mjs
 */

import { Tokenizer } from '@huggingface/tokenizers';
import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, embedding, globalMaxPooling1d, input, sequential } from 'trainlet/layers';
import { isMain } from '../main.mjs';

const DEPARTMENTS = ['delivery', 'payment', 'returns'];
/** @type {[string, string][]} */
const MESSAGES = [
  ['Where is my parcel?', 'delivery'],
  ['My parcel has not arrived yet.', 'delivery'],
  ['The courier left the box at the wrong door.', 'delivery'],
  ['When will the order arrive?', 'delivery'],
  ['You charged my card twice.', 'payment'],
  ['Can I pay by invoice?', 'payment'],
  ['The card payment was declined.', 'payment'],
  ['The invoice shows the wrong amount.', 'payment'],
  ['I want to send the shoes back.', 'returns'],
  ['How do I return a broken lamp?', 'returns'],
  ['I would like to exchange it for a larger size.', 'returns'],
  ['The lamp is broken, I want to return it.', 'returns'],
];
const LENGTH = 12;

/** A tokenizer of the form that a model's `tokenizer.json` has: each word of the messages is a token. */
function makeTokenizer() {
  const words = MESSAGES.flatMap(([text]) => text.toLowerCase().match(/\w+|[^\w\s]/g) ?? []);
  const vocab = Object.fromEntries(['[PAD]', '[UNK]', ...new Set(words)].map((word, id) => [word, id]));
  const file = {
    version: '1.0',
    added_tokens: [],
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Whitespace' },
    post_processor: null,
    decoder: null,
    model: { type: 'WordLevel', vocab, unk_token: '[UNK]' },
  };
  return { tokenizer: new Tokenizer(file, { unk_token: '[UNK]' }), size: Object.keys(vocab).length };
}

/** @returns the departments of two new messages */
export async function learnDepartments() {
  const { tokenizer, size } = makeTokenizer();
  /** Rows of the same length; 0 is [PAD]. @param {string[]} texts */
  const encode = (texts) =>
    tensor(
      texts.map((text) => [...tokenizer.encode(text).ids, ...Array(LENGTH).fill(0)].slice(0, LENGTH)),
      'int32',
    );
  const network = await sequential(
    [
      input([LENGTH], { dtype: 'int32' }),
      embedding(size, 16),
      globalMaxPooling1d({ dataFormat: 'channels_last' }),
      dense(DEPARTMENTS.length),
    ],
    { seed: 7 },
  );
  const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.02 } };
  const session = await TrainingSession.create(await generateArtifacts(network, options));
  const inputs = encode(MESSAGES.map(([text]) => text));
  const labels = tensor(
    MESSAGES.map(([, department]) => DEPARTMENTS.indexOf(department)),
    'int64',
  );
  await session.fit({ inputs, labels }, { epochs: 60 });

  const texts = ['My card was charged twice!', 'Has the parcel arrived at the door?', 'I want to return the shoes'];
  const [scores] = Object.values(await session.predict(encode(texts)));
  await session.release();
  return texts.map((text, i) => {
    const row = [...scores.data.subarray(i * DEPARTMENTS.length, (i + 1) * DEPARTMENTS.length)];
    return { text, department: DEPARTMENTS[row.indexOf(Math.max(...row))] };
  });
}

if (isMain(import.meta.url))
  for (const { text, department } of await learnDepartments()) console.log(`${text} → ${department}`);
