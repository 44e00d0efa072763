/** Language models: generation and packing of token ids. */

import type { AdapterChoice } from './adapters.js';
import type { AbortSignal } from './internal/platform.js';
import type { ValueInfo } from './inspection.js';
import type { InferenceSession } from './session.js';
import type { Tensor, TypedArray } from './tensor.js';
import type { TrainingSession } from './training-session.js';

/** Token ids of a text: an array of whole numbers, or a typed one as tokenizers give it. */
export type TokenIds = readonly number[] | readonly bigint[] | Exclude<TypedArray, Float32Array | Float64Array>;

/** Meanings and defaults are those of transformers' `generate`. */
export interface GenerateOptions {
  /** The most new tokens (`max_new_tokens`); default 20. */
  maxTokens?: number;
  /**
   * The divisor of scores before one is drawn: below 1 the likely ones become likelier. Default 0: nothing is drawn,
   * the token of the highest score is taken each time, as with `do_sample=False`.
   */
  temperature?: number;
  /** Draws only from this many best tokens, after the temperature; 0: all. Default 50. Needs a temperature. */
  topK?: number;
  /** Draws from the likeliest of these whose shares add up to at least this; default 1: all. Needs a temperature. */
  topP?: number;
  /**
   * The factor by which the score of a token that is there already (the prompt counts) is divided where it is positive,
   * and multiplied where it is negative, before all else. Default 1: not at all.
   */
  repetitionPenalty?: number;
  /**
   * With a temperature: a whole number of at least 0; the same one gives the same tokens again, as long as weights and
   * options are the same. Default: another each time.
   */
  seed?: number;
  /** Tokens, or sequences of tokens, after which no more are made; they are among the result. Default: none. */
  stop?: readonly (number | TokenIds)[];
  /** Told each new token; if it gives a promise, the next token waits for it. What it throws ends the call. */
  onToken?: (id: number) => unknown;
  /** Stops it, within a token too, as the signal of a run does: `aborted`. */
  signal?: AbortSignal;
  /**
   * The adapter of a training session: another than the one in use, null, or a sum, for this text alone, as in
   * `predict`; a sum is computed once. Default: the one in use.
   */
  adapter?: AdapterChoice;
}

/** The result of `generate`. */
export interface Generated {
  /** The new tokens alone. */
  readonly ids: number[];
  /** Why it ended: so many tokens as were asked for, or one of `stop`. */
  readonly stopped: 'max-tokens' | 'stop';
}

/**
 * Text of a language model (decoder-only: token ids in, `logits` [batch, sequence, vocabulary] out) as it is in a
 * session now: what was learned answers at once.
 * ```js
 * const options = { maxTokens: 50, temperature: 0.8, topP: 0.95 };
 * const { ids } = await generate(session, tokenizer.encode('Once upon'), options);
 * console.log(tokenizer.decode(ids));
 * ```
 * The model is fed what it has of `input_ids` (or its only input of token ids), `attention_mask`, `position_ids`,
 * `num_logits_to_keep`, and `past_key_values.…`, whose new values it must give as `present.…`: they stay in the engine
 * from token to token. Without these all tokens are computed again for each. Steps and other runs of the session may
 * come between. `docs/guides/generate.md` has more.
 * Errors: `invalid-argument` (options; no such model; a token that is none of the vocabulary, more tokens than the
 * model has positions), `aborted`, and those of `predict`.
 */
export function generate(
  session: TrainingSession | InferenceSession,
  ids: TokenIds,
  options?: GenerateOptions,
): Promise<Generated>;

/** A text as token ids; with a prompt, of which nothing is learned, and its answer. */
export type TextIds =
  | TokenIds
  | {
      /** Tokens of which nothing is learned. */
      readonly prompt: TokenIds;
      /** Tokens that are learned. */
      readonly answer: TokenIds;
    };

/** Options of `packText`. */
export interface PackOptions {
  /** Tokens of an example. */
  length: number;
  /**
   * Tokens from the beginning of an example to that of the next one; at most `length`, the default. What an example has
   * in common with the one before is context: each label counts once.
   */
  stride?: number;
  /** Fills the last example of a text up (`pad_token_id`). Default: what does not fill an example is left out. */
  padTokenId?: number;
  /** The label of what does not count, as the loss's `ignoreIndex`; default −100. */
  ignoreIndex?: number;
  /**
   * true (default): the label of a token is the one after it, as losses of `generateArtifacts` compare them. false: it
   * is the token itself, for models of transformers that take labels and have their own loss.
   */
  shift?: boolean;
  /**
   * `session.trainingInputs`: there will be `attention_mask`, `position_ids` and empty `past_key_values.…` too where
   * the model takes them. Default: `input_ids` alone.
   */
  inputs?: readonly ValueInfo[];
}

/** Texts as rows of token ids. */
export interface PackedText {
  /** [examples, length], int64 where the model does not say otherwise. */
  readonly inputs: Record<string, Tensor>;
  /** The labels by the name of their input, int64 [examples, length]. */
  readonly labels: Record<string, Tensor>;
}

/**
 * Token ids of texts as a data set of a language model. Each text is cut by itself; join them to have examples go over
 * their ends.
 * ```js
 * const data = await packText(tokenizer.encode(text), { length: 128, inputs: session.trainingInputs });
 * await session.fit(data, { epochs: 3 });
 * ```
 * If labels are ignored (prompts, padding, a smaller `stride`), artifacts need the loss's `ignoreIndex: -100`.
 * Errors: `invalid-argument` (options, what is no token, no text that fills an example).
 */
export function packText(texts: TextIds | readonly TextIds[], options: PackOptions): Promise<PackedText>;
