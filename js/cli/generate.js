/** `trainlet generate`: what a language model goes on with, with the words of generate. */

import { generate, generateArtifacts, InferenceSession, TrainingSession } from '../index.js';
import { adapterAt } from './adapter.js';
import { trainingAt } from './files.js';
import { flag, text } from './help.js';
import { stoppable } from './interrupt.js';
import { MODEL_OPTIONS, modelOptionsIn } from './model-options.js';
import { number, wholeNumber, wholeNumbers } from './options.js';
import { UsageError } from './run-main.js';
import { printable, say, warn } from './terminal.js';
import { TOKENIZER, tokenizerAt } from './tokenizer.js';

/** @import { EngineOptions, GenerateOptions } from '../types.js' */
/** @import { Values } from './commands.js' */
/** @import { OptionTable } from './help.js' */
/** @import { Tokenizer } from './tokenizer.js' */

export const GENERATE_USAGE = `trainlet generate MODEL|DIR|COMPACT --ids IDS|--text TEXT --tokenizer FILE [options]
Prints the tokens, or the text, with which a language model goes on, as it is in MODEL, or trained in DIR or COMPACT.`;

/** @type {OptionTable} */
export const GENERATE_OPTIONS = {
  ids: text('IDS', 'the tokens to go on from, joined by commas'),
  text: text('TEXT', 'the text to go on from, with --tokenizer'),
  ...TOKENIZER,
  adapter: text('DIR', "an adapter's folder, as PEFT and train --adapter write it; with MODEL its base"),
  'max-tokens': text('N', 'the most new tokens (default: 20)'),
  temperature: text('T', 'above 0: each token is drawn by its share (default: 0, the best is taken)'),
  'top-k': text('K', 'with --temperature: only the K best are drawn from; 0: all (default: 50)'),
  'top-p': text('P', 'with --temperature: only the likeliest that have this share together (default: 1)'),
  'repetition-penalty': text('P', 'how much less likely what is there already becomes (default: 1, not at all)'),
  seed: text('N', 'with --temperature: the same gives the same again (default: another each time)'),
  stop: text('IDS', 'a token after which it ends, or some that follow each other, joined by commas', {
    multiple: true,
  }),
  json: flag('{"ids", "stopped", "text" with --tokenizer} at the end instead'),
  ...MODEL_OPTIONS,
};

/** @param {string} place @param {Values} values */
export async function runGenerate(place, values) {
  const options = optionsIn(values);
  const tokenizer = values.tokenizer && (await tokenizerAt(values.tokenizer));
  const ids = await promptIn(values, tokenizer);
  const session = await sessionAt(place, values);
  try {
    warn(session.warnings);
    const onToken = values.json ? undefined : teller(tokenizer);
    const made = await stoppable((signal) => generate(session, ids, { ...options, onToken, signal }));
    if (!values.json) return say('');
    const text = tokenizer && { text: await tokenizer.detokenize(made.ids) };
    process.stdout.write(`${JSON.stringify({ ...made, ...text })}\n`);
  } finally {
    await session.release();
  }
}

/** @param {Values} values @returns {GenerateOptions} */
function optionsIn(values) {
  const whole = (/** @type {string} */ name, /** @type {number} */ least) =>
    values[name] === undefined ? undefined : wholeNumber(name, values[name], least);
  return {
    maxTokens: whole('max-tokens', 1),
    temperature: number('temperature', values.temperature, { least: 0 }),
    topK: whole('top-k', 0),
    topP: number('top-p', values['top-p'], { least: 0, most: 1 }),
    repetitionPenalty: number('repetition-penalty', values['repetition-penalty'], { least: 0 }),
    seed: whole('seed', 0),
    stop: values.stop?.map((/** @type {string} */ text) => wholeNumbers('stop', text, 0)),
  };
}

/** @param {Values} values @param {Tokenizer | undefined} tokenizer */
async function promptIn({ ids, text }, tokenizer) {
  if ((ids === undefined) === (text === undefined)) throw new UsageError('either --ids or --text is needed');
  if (ids !== undefined) return /** @type {number[]} */ (wholeNumbers('ids', ids, 0));
  if (!tokenizer) throw new UsageError('--text needs --tokenizer');
  return Array.from(await tokenizer.tokenize(text));
}

/** @param {string} place @param {Values} values */
async function sessionAt(place, values) {
  const [training, options] = [await trainingAt(place), await modelOptionsIn(place, values)];
  const adapter = values.adapter && (await adapterAt(values.adapter));
  if (!training && !adapter) return await InferenceSession.create(place, options);
  const session = await TrainingSession.create(training?.artifacts ?? (await adapted(place, adapter, options)));
  if (adapter) await session.loadAdapter(adapter);
  return session;
}

/** @param {string} model @param {Awaited<ReturnType<typeof adapterAt>>} adapter @param {EngineOptions} options */
async function adapted(model, adapter, options) {
  const lora = JSON.parse(Buffer.from(adapter['adapter_config.json']).toString());
  return await generateArtifacts(model, { ...options, loss: { type: 'cross-entropy', axis: -1 }, lora });
}

/** Prints what each token adds: of text, once its characters are whole. @param {Tokenizer | undefined} tokenizer */
function teller(tokenizer) {
  /** @type {number[]} */
  const made = [];
  let printed = '';
  return async (/** @type {number} */ id) => {
    made.push(id);
    const text = tokenizer ? await tokenizer.detokenize([...made]) : made.join(' ');
    if (text.endsWith('\ufffd') || !text.startsWith(printed)) return;
    const lines = text.slice(printed.length).split('\n');
    process.stdout.write(lines.map(printable).join('\n'));
    printed = text;
  };
}
