// One model of the zoo: what Trainlet computes, learns and exports, beside what its framework noted; prints JSON.
//
//   node tests/models/check.js FOLDER

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apart, forward, tensorsOf, train } from './compare.js';
import { runtime } from './peer.js';

/** The shortest of some calls, in ms: the machine may be doing something else too. */
async function fastest(call, least = 5, mostMs = 1500) {
  let best = Number.POSITIVE_INFINITY;
  const end = performance.now() + mostMs;
  for (let i = 0; i < 50 && (i < least || performance.now() < end); i++) {
    const start = performance.now();
    await call();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const folder = process.argv[2];
const read = (name) => new Uint8Array(readFileSync(join(folder, name)));
const note = JSON.parse(readFileSync(join(folder, 'case.json'), 'utf8'));
const inputs = tensorsOf(note.inputs);
const { name, opset, exporter, within, untrained } = note;
const found = { name, opset, exporter, within, untrained };

/** Artifacts that ONNX Runtime made, or the model. */
function filesOf() {
  if (!existsSync(join(folder, 'checkpoint'))) return { model: read('model.onnx') };
  const [trainModel, evalModel, optimizerModel] = ['training', 'eval', 'optimizer'].map((one) =>
    read(`${one}_model.onnx`),
  );
  return { artifacts: { trainModel, evalModel, optimizerModel, checkpointState: read('checkpoint') } };
}

async function attempt(what, work) {
  try {
    return await work();
  } catch (error) {
    found[`${what}Error`] = `${error.code ?? error.name}: ${error.message}`;
  }
}

/** The trained model there, beside the session that it comes from. */
async function compareExport({ exported, predicted }) {
  const { outputs } = await runtime(exported, inputs);
  const numbers = Object.entries(outputs).filter(([one, { type }]) => type === 'float32' && one in predicted);
  if (!numbers.length) throw new Error(`no numbers among ${Object.keys(outputs)} and ${Object.keys(predicted)}`);
  found.export = Math.max(...numbers.map(([one, output]) => apart(output, predicted[one])));
}

await attempt('forward', async () => Object.assign(found, await forward(read('model.onnx'), note, fastest)));
const learned = untrained ? undefined : await attempt('train', () => train(filesOf(), note, fastest));
Object.assign(found, learned?.found);
if (learned) await attempt('export', () => compareExport(learned));
await attempt('peer', async () => {
  found.peerMs = (await runtime(read('model.onnx'), inputs, fastest)).ms;
});
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
