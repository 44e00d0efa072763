// Text as tokens and back, by Hugging Face's tokenizers: the page's own, or those of the file of another model.

import { Tokenizer } from '../../node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';

/**
 * `end` stands between texts, where the model has such a token.
 * @typedef {{ encode: (text: string) => number[], decode: (ids: number[]) => string, end: number | undefined }} Tokens
 */

const ENDS = ['<|endoftext|>', '<|end_of_text|>', '<|im_end|>', '</s>', '<eos>'];

/** @param {unknown} json what `tokenizer.json` has @returns {Tokens} */
export function tokensOf(json) {
  const tokenizer = new Tokenizer(/** @type {object} */ (json), {});
  return {
    encode: (text) => [...tokenizer.encode(text, { add_special_tokens: false }).ids],
    decode: (ids) => tokenizer.decode(ids, { clean_up_tokenization_spaces: false }),
    end: ENDS.map((token) => tokenizer.token_to_id(token)).find((id) => id !== undefined),
  };
}
