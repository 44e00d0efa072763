// Tokens a second of language models beside a plain loop over onnxruntime-web 1.30, one thread against one, in turns:
// the same file, the same tokens. Beside them how fast weights are read, and how fast memory is copied meanwhile. All
// by processor time, which others on the machine change least.

import { createRequire } from 'node:module';
import { generate, InferenceSession } from '../../js/index.js';
import { decoderModel } from './models/decoder.js';
import { quantile } from './statistics.js';

const SIZES = { blocks: 8, width: 768, heads: 12, kvHeads: 4, inner: 2048, words: 16384, positions: 512 };
const TOKENS = 32;
const PROMPT = [1, 5, 99, 1234, 7];
const COPIES = 4;
const LARGE = 64e6; // bytes, more than caches hold

/** @type {Record<string, import('./models/decoder.js').Form>} */
const FORMS = {
  'int4, GroupQueryAttention': { weights: 'int4', attention: 'group-query' },
  'int4 of accuracy level 4': { weights: 'int4', attention: 'group-query', accuracy: 4 },
  int4: { weights: 'int4', attention: 'pieces' },
  int8: { weights: 'int8', attention: 'pieces' },
  float32: { weights: 'float32', attention: 'pieces' },
};

const best = (/** @type {Float32Array} */ scores) =>
  scores.reduce((found, score, i) => (score > scores[found] ? i : found), 0);

/** One token after the other; what the run before gave as present is fed as past. */
async function theirTokens(ort, session) {
  const whole = (/** @type {number[]} */ values) =>
    new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
  const pasts = session.inputNames.filter((name) => name.startsWith('past'));
  const kvHeads = session.inputNames.includes('position_ids') ? SIZES.heads : SIZES.kvHeads;
  const empty = new ort.Tensor('float32', new Float32Array(), [1, kvHeads, 0, SIZES.width / SIZES.heads]);
  const past = Object.fromEntries(pasts.map((name) => [name, empty]));
  const all = [...PROMPT];
  for (let fresh = PROMPT; all.length < PROMPT.length + TOKENS; fresh = all.slice(-1)) {
    const feeds = { input_ids: whole(fresh), attention_mask: whole(all.map(() => 1)), ...past };
    const places = fresh.map((_, i) => all.length - fresh.length + i);
    if (session.inputNames.includes('position_ids')) feeds.position_ids = whole(places);
    const outputs = await session.run(feeds);
    for (const name of pasts) past[name] = outputs[name.replace('past_key_values', 'present')];
    all.push(best(outputs.logits.data.subarray(-SIZES.words)));
  }
  return all.slice(PROMPT.length);
}

/** Adds the milliseconds of the processor. */
async function measured(times, work) {
  const started = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(started);
  times.push((user + system) / 1000);
  return result;
}

/** @param {number} rounds */
export async function benchGenerate(rounds) {
  const ort = createRequire(import.meta.url)('onnxruntime-web-1.30');
  ort.env.wasm.numThreads = 1;
  const [from, to] = [new Uint8Array(LARGE).fill(1), new Uint8Array(LARGE).fill(2)];
  console.log('| model | tokens a second | onnxruntime-web 1.30 | ratio | GB/s of weights | GB/s of a copy | share |');
  console.log('|---|---:|---:|---:|---:|---:|---:|');
  for (const [name, form] of Object.entries(FORMS)) {
    const { bytes, read } = decoderModel(SIZES, form);
    const ours = await InferenceSession.create(bytes, { worker: false, threads: 1 });
    const theirs = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
    const times = { ours: [], theirs: [], copy: [] };
    for (let round = -1; round < rounds; round++) {
      if (round === 0) for (const list of Object.values(times)) list.length = 0; // all is planned
      const made = await measured(times.ours, () => generate(ours, PROMPT, { maxTokens: TOKENS }));
      const wanted = await measured(times.theirs, () => theirTokens(ort, theirs));
      const copies = [];
      for (let i = 0; i < COPIES; i++) await measured(copies, () => to.set(from));
      times.copy.push(Math.min(...copies)); // the first finds other things in the caches
      if (made.ids.join() !== wanted.join()) throw new Error(`${name}: ${made.ids} are not ${wanted}`);
    }
    const [mine, other, copy] = Object.values(times).map((list) => quantile(list, 0.5));
    const [speed, copied] = [(read * TOKENS) / mine / 1e6, LARGE / copy / 1e6];
    const ratio = quantile(
      times.ours.map((ms, i) => times.theirs[i] / ms),
      0.5,
    );
    const cells = [(1000 * TOKENS) / mine, (1000 * TOKENS) / other, ratio, speed, copied, speed / copied];
    console.log(`| ${name} | ${cells.map((cell) => cell.toFixed(cell < 20 ? 2 : 0)).join(' | ')} |`);
    await ours.release();
    await theirs.release();
  }
}
