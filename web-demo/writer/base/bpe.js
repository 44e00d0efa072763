// Byte-pair encoding (Sennrich et al. 2016) of bytes, as GPT-2 has it: finds the tokens of the corpus.
//
//   node web-demo/writer/base/bpe.js     writes web-demo/writer/tokenizer.json, as Hugging Face's tokenizers does

import { writeFileSync } from 'node:fs';
import { readCorpus } from './corpus.js';

const SIZE = 2048;
export const END = '<|endoftext|>';
const TO = new URL('../tokenizer.json', import.meta.url);
/** GPT-2's words: a token lies within one. */
const WORD = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** GPT-2 writes each byte as a character that can be seen. */
function lettersOfBytes() {
  const seen = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b < 256 && b !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(seen(b) ? b : next++));
}

/** Each word of the texts, as letters of bytes, and how often it is there. @param {string[]} texts */
function countWords(texts) {
  const letters = lettersOfBytes();
  const counts = new Map();
  for (const text of texts) for (const [word] of text.matchAll(WORD)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => ({ parts: [...Buffer.from(word)].map((b) => letters[b]), count }));
}

/** @typedef {ReturnType<typeof countWords>} Words */

/** The pair that is there most often; of several, the first by its letters. @param {Words} words */
function mostFrequent(words) {
  const counts = new Map();
  for (const { parts, count } of words)
    for (let i = 1; i < parts.length; i++) {
      const pair = `${parts[i - 1]} ${parts[i]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + count);
    }
  let best = ['', 0];
  for (const [pair, count] of counts)
    if (count > best[1] || (count === best[1] && pair < best[0])) best = [pair, count];
  return best[0];
}

/** Makes one of each such pair. @param {Words} words @param {string} pair */
function merge(words, pair) {
  const [left, right] = pair.split(' ');
  for (const { parts } of words)
    for (let i = 1; i < parts.length; i++)
      if (parts[i - 1] === left && parts[i] === right) parts.splice(i - 1, 2, left + right);
}

const words = countWords(readCorpus().learned);
const tokens = [END, ...lettersOfBytes()];
const merges = [];
while (tokens.length < SIZE) {
  const pair = mostFrequent(words);
  merge(words, pair);
  merges.push(pair.split(' '));
  tokens.push(pair.replace(' ', ''));
}
const parts = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
const tokenizer = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [{ id: 0, content: END, ...special }],
  normalizer: null,
  pre_tokenizer: parts,
  post_processor: null,
  decoder: parts,
  model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
};
writeFileSync(TO, JSON.stringify(tokenizer));
console.log(`${tokens.length} tokens of ${words.length} words`);
