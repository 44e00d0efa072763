// One model of the zoo: what Trainlet computes, learns and exports, beside what its framework noted; prints JSON.
//
//   node tests/models/check.js FOLDER

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apart, farthest, forward, tensorsOf, train } from './compare.js';
import { runtime } from './peer.js';

/** CPU time in ms, which other work on the machine prolongs less than the clock's. */
function spent() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The shortest of some calls, in ms. */
async function fastest(call, least = 3, mostMs = 500) {
  let best = Number.POSITIVE_INFINITY;
  const end = spent() + mostMs;
  for (let i = 0; i < 50 && (i < least || spent() < end); i++) {
    const start = spent();
    await call();
    best = Math.min(best, spent() - start);
  }
  return best;
}

const folder = process.argv[2];
const read = (name) => new Uint8Array(readFileSync(join(folder, name)));
const note = JSON.parse(readFileSync(join(folder, 'case.json'), 'utf8'));
const inputs = tensorsOf(note.inputs);
const { name, opset, exporter, within, untrained, unsteady } = note;
const found = { name, opset, exporter, within, untrained, unsteady };

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

const answered = await attempt('forward', () => forward(read('model.onnx'), note, fastest));
Object.assign(found, answered?.found);
const learned = untrained ? undefined : await attempt('train', () => train(filesOf(), note, fastest));
Object.assign(found, learned?.found);
if (learned) await attempt('export', () => compareExport(learned));
await attempt('peer', async () => {
  const { outputs, ms } = await runtime(read('model.onnx'), inputs, fastest);
  found.peerMs = ms;
  if (!answered) return;
  found.peer = farthest(outputs, answered.wanted);
  found.both = farthest(learned?.before?.outputs ?? answered.outputs, outputs);
});
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
