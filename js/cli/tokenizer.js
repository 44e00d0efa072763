/** Texts at the command line: a tokenizer of the user's own, and files of texts as examples for a language model. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sentenceOf, TrainletError } from '../base/errors.js';
import { packText } from '../index.js';
import { readData } from './files.js';
import { text } from './help.js';
import { wholeNumber } from './options.js';
import { UsageError } from './run-main.js';

/** @import { TextIds, ValueInfo } from '../types.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */
/**
 * @typedef {(text: string) => ArrayLike<number> | Promise<ArrayLike<number>>} Tokenize
 * @typedef {object} Tokenizer what the module of --tokenizer exports
 * @property {Tokenize} tokenize
 * @property {Tokenize} [tokenizeAnswer] of what goes on with a text; default: tokenize
 * @property {(ids: number[]) => string | Promise<string>} detokenize
 */

/** @type {OptionTable} */
export const TOKENIZER = {
  tokenizer: text(
    'FILE',
    "the model's tokenizer.json, read by @huggingface/tokenizers where that is installed; or a JavaScript file that " +
      'exports tokenize(text), which gives token ids, and detokenize(ids)',
  ),
};

/** @type {OptionTable} */
export const TEXT = {
  tokenizer: {
    ...TOKENIZER.tokenizer,
    help:
      `${TOKENIZER.tokenizer.help}\nDATA of a language model is FILE.txt, one text, or FILE.jsonl, in each line an ` +
      'object with a text, or with a prompt and an answer, which alone is learned',
  },
  length: text('N', 'tokens of an example of these (default: 128)'),
  'pad-token': text('ID', 'fills the last example of a text up, which is left out otherwise'),
};

/** @param {string} file @returns {Promise<Tokenizer>} */
export async function tokenizerAt(file) {
  if (/\.json$/i.test(file)) return huggingFaceTokenizer(file);
  const found = await import(pathToFileURL(path.resolve(file)).href).catch((error) => {
    throw new TrainletError('source-unreadable', `--tokenizer ${file}: ${sentenceOf(error)}`, { cause: error });
  });
  if (typeof found.tokenize === 'function' && typeof found.detokenize === 'function') return found;
  throw new UsageError(`--tokenizer ${file}: it must export the functions tokenize and detokenize`);
}

/**
 * Loads @huggingface/tokenizers from the current folder's packages; Trainlet does not include it.
 * @param {string} file @returns {Tokenizer}
 */
function huggingFaceTokenizer(file) {
  const name = '@huggingface/tokenizers';
  const need = createRequire(path.resolve('index.js'));
  let found;
  try {
    found = need(name);
  } catch (cause) {
    throw new UsageError(`--tokenizer ${file} is read by ${name}: npm install ${name}`, { cause });
  }
  const config = path.join(path.dirname(file), 'tokenizer_config.json');
  try {
    const [json, more] = [file, existsSync(config) ? config : undefined].map((one) =>
      one ? JSON.parse(readFileSync(one, 'utf8')) : {},
    );
    const tokenizer = new found.Tokenizer(json, more);
    return {
      tokenize: (text) => tokenizer.encode(text).ids,
      tokenizeAnswer: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids,
      detokenize: (ids) => tokenizer.decode(ids),
    };
  } catch (cause) {
    throw new TrainletError('source-unreadable', `--tokenizer ${file}: ${sentenceOf(cause)}`, { cause });
  }
}

/** Refuses what is for texts alone. @param {Values} values */
export function checkText(values) {
  const stray = ['length', 'pad-token'].find((name) => values[name] !== undefined && !values.tokenizer);
  if (stray) throw new UsageError(`--${stray}: it is for --tokenizer FILE`);
}

/**
 * The texts of a file as examples.
 * @param {string} file @param {Values} values @param {readonly ValueInfo[]} inputs
 */
export async function readTexts(file, values, inputs) {
  const { tokenize, tokenizeAnswer = tokenize } = await tokenizerAt(values.tokenizer);
  const ids = async (/** @type {string} */ text, by = tokenize) => Array.from(await by(text));
  const text = Buffer.from(await readData(file)).toString();
  /** @type {TextIds[]} */
  const texts = [];
  if (/\.txt$/i.test(file)) texts.push(await ids(text));
  else if (!/\.(jsonl|ndjson)$/i.test(file))
    throw new UsageError(`--data with --tokenizer must be a file .txt or .jsonl, not '${file}'`);
  else
    for (const [i, line] of text.split('\n').entries()) {
      if (!line.trim()) continue;
      const { text: whole, prompt, answer } = objectIn(file, i, line);
      if (typeof whole === 'string') texts.push(await ids(whole));
      else if (typeof prompt === 'string' && typeof answer === 'string')
        texts.push({ prompt: await ids(prompt), answer: await ids(answer, tokenizeAnswer) });
      else throw bad(`${file}, line ${i + 1}: it has neither a text nor a prompt and an answer`);
    }
  return await packText(texts, {
    length: wholeNumber('length', values.length ?? '128', 1),
    padTokenId: values['pad-token'] === undefined ? undefined : wholeNumber('pad-token', values['pad-token'], 0),
    inputs,
  });
}

/** @param {string} message @param {unknown} [cause] */
const bad = (message, cause) => new TrainletError('source-unreadable', message, { cause });

/** @param {string} file @param {number} i @param {string} line @returns {Record<string, unknown>} */
function objectIn(file, i, line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (error) {
    throw bad(`${file}, line ${i + 1}: it is no JSON: ${sentenceOf(error)}`, error);
  }
}
