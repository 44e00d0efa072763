// The language model of the page: it learns a text as an adapter, goes on with what is written, and tells how well.

import { CheckpointStore, packText } from '../../js/index.js';
import { goOn, learn, RATE, withAdapter } from './lesson.js';
import { roundsOf } from './rounds.js';

/** @import { AdapterSources, TrainingSession } from '../../js/types.js' */
/** @import { Tokens } from './tokens.js' */
/** @typedef {'me' | 'other' | 'base'} Who */
/** @typedef {{ model: URL | Blob, externalData?: Record<string, Uint8Array>, name: string }} Base */
/** @typedef {{ learned: string, heldOut: string, rehearsed: readonly string[], tested: readonly string[] }} Lesson */
/**
 * Bits a character: of the person's held-out lines, and of text that the base knows.
 * @typedef {{ own: number, base: number }} Bits
 */

/** Tokens of an example, and examples of a step. */
const [LENGTH, BATCH] = [64, 4];
/** More steps make it forget, and fewer do not let a phrase stick; a long text is read twice. */
const [STEPS, LEAST_ROUNDS] = [140, 2];
const MOST_MS = 23_000;
/** Between two looks at how well it guesses, which take time too. */
const LOOK_STEPS = 20;
/** The most that stands before what is made: more takes more time. */
const PROMPT_TOKENS = 64;
/** A base of one's own is smaller with its weights in int8. */
const LARGE_BYTES = 20e6;

/** The session's name of each writer. @type {Record<Who, string | null>} */
const ADAPTERS = { me: 'default', other: 'other', base: null };

export class Learner {
  #session;
  #tokens;
  #store;
  /** Under which what it learns is saved. */
  name;

  /**
   * @param {TrainingSession} session @param {Tokens} tokens
   * @param {CheckpointStore | undefined} store @param {string} name
   */
  constructor(session, tokens, store, name) {
    [this.#session, this.#tokens, this.#store, this.name] = [session, tokens, store, name];
  }

  /** With what was learned before, where this browser has it. @param {Base} base @param {Tokens} tokens */
  static async open({ model, externalData, name }, tokens) {
    const store = await CheckpointStore.open({ database: 'trainlet-writer', keep: 1 }).catch(() => undefined);
    const saved = await store?.load(name).catch(() => undefined);
    const options = {
      ...(externalData && { externalData }),
      ...(model instanceof Blob && model.size > LARGE_BYTES && { quantizeFrozen: 'int8' }),
    };
    const session = await withAdapter(model, saved?.bytes, options).catch((error) => {
      if (!/^checkpoint-/.test(error.code)) throw error; // the adapter is there another time
      return withAdapter(model, undefined, options); // another base's
    });
    return new Learner(session, tokens, store, name);
  }

  get hasOther() {
    return this.#session.adapters.names.includes('other');
  }

  /**
   * Until its rounds or its time are over. With a signal, what was learned until then stays.
   * @param {Lesson} lesson
   * @param {{ step: (step: number, steps: number, share: number) => void, round: (now: Bits) => Promise<void> }} on
   * @param {AbortSignal} signal
   */
  async learn(lesson, on, signal) {
    const known = lesson.rehearsed.length ? await this.#data(lesson.rehearsed) : undefined;
    const { round, steps } = roundsOf(await this.#data([lesson.learned]), known, BATCH);
    const rounds = Math.max(LEAST_ROUNDS, Math.ceil(STEPS / steps));
    const begun = performance.now();
    let [done, looked] = [0, 0];
    const share = () => Math.min(Math.max(done / (rounds * steps), (performance.now() - begun) / MOST_MS), 1);
    await this.#session.setLearningRate(RATE);
    await learn(this.#session, round, {
      epochs: rounds,
      budget: { maxMs: MOST_MS },
      ...(this.#store && { checkpoint: { store: this.#store, name: this.name, base: false, everyMs: 5000 } }),
      onBatch: async () => {
        on.step(++done, rounds * steps, share());
        await this.#session.setLearningRate(RATE * (1 - share())); // so less is forgotten
      },
      onEpoch: async () => {
        if (done - looked < LOOK_STEPS) return;
        looked = done;
        await on.round(await this.bits(lesson));
      },
      signal,
    });
  }

  /** @param {Lesson} lesson @param {Who} [who] @returns {Promise<Bits>} */
  async bits({ heldOut, tested }, who = 'me') {
    return { own: await this.#bitsOf([heldOut], who), base: await this.#bitsOf(tested, who) };
  }

  /** @param {readonly string[]} texts @param {Who} who */
  async #bitsOf(texts, who) {
    const found = await this.#session.evaluate(await this.#data(texts), {
      batchSize: 2 * BATCH,
      metrics: ['bits-per-byte'],
      bytes: texts.join('').length, // characters, for a reader
      ...(who !== 'me' && { adapter: ADAPTERS[who] }),
    });
    return found['bits-per-byte'];
  }

  /**
   * Suggests a continuation, and reports it as it grows.
   * @param {string} text @param {Who} who @param {(more: string) => void} onText @param {AbortSignal} signal
   */
  async goOn(text, who, onText, signal) {
    const { encode, decode, end } = this.#tokens;
    const lineEnd = encode('\n').length === 1 ? encode('\n') : [];
    const spaced = text.endsWith(' '); // most tokens begin with a space
    const ids = encode(spaced ? text.slice(0, -1) : text).slice(-PROMPT_TOKENS);
    if (!ids.length) return;
    if (ids.length < PROMPT_TOKENS) ids.unshift(...lineEnd);
    /** @type {number[]} */
    const made = [];
    await goOn(this.#session, ids, {
      stop: [...(end === undefined ? [] : [end]), ...lineEnd],
      ...(who !== 'me' && { adapter: ADAPTERS[who] }),
      signal,
      onToken: (id) => {
        if (id === end) return;
        made.push(id);
        const more = decode(made)
          .replace(/\n.*/s, '')
          .replace(/\ufffd.*/, '');
        onText(spaced ? more.replace(/^ /, '') : more);
      },
    });
  }

  /** ONNX Runtime's file of what was learned. @returns {Promise<Uint8Array>} */
  async adapterFile() {
    return (await this.#session.exportAdapter({ format: 'onnx' }))['adapter.onnx_adapter'];
  }

  /** The model with the adapter's matrices as inputs, for ONNX Runtime. @returns {Promise<Uint8Array>} */
  async model() {
    return await this.#session.exportModel({ adapters: 'inputs' });
  }

  /** Somebody else's. @param {AdapterSources} files */
  async takeOther(files) {
    if (this.hasOther) await this.#session.deleteAdapter('other');
    await this.#session.addAdapter('other', files);
  }

  /** Nothing of it is left, here or in the browser's storage. */
  async forget() {
    await this.#store?.delete(this.name);
    const [fresh, before] = ['fresh', 'default'];
    await this.#session.addAdapter(fresh);
    await this.#session.useAdapter(fresh);
    await this.#session.deleteAdapter(before);
    await this.#session.addAdapter(before);
    await this.#session.useAdapter(before);
    await this.#session.deleteAdapter(fresh);
  }

  async close() {
    await this.#session.release();
  }

  /** @param {readonly string[]} texts @returns {Promise<any>} */
  #data(texts) {
    const { encode, end } = this.#tokens;
    const ids = texts.map((text) => [...(end === undefined ? [] : [end]), ...encode(text)]);
    return packText(ids, { length: LENGTH, padTokenId: end ?? 0, inputs: this.#session.trainingInputs });
  }
}
