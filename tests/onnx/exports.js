/**
 * Every node case of onnx, exported at each opset that has its operator, judged by onnx.checker and onnxruntime:
 * npm run onnx-exports. The models go to build/, the figures to exports.json; its environment is npm run models'.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { Failure, root, runMain, say } from '../../tools/programs.mjs';
import { python, run, setUp } from '../models/environment.js';
import { HERE } from '../support/engines.js';

const OPTIONS = { loss: 'mse', requiresGrad: ['a weight'], optimizer: 'sgd', batch: 'fixed', ...HERE };
const folder = join(root, 'build/onnx-exports');

function tensorOf({ type, dims, data }) {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  const { constructor: ArrayType } = type === 'float16' ? new Uint16Array() : new Tensor(type, [], [0]).data;
  return new Tensor(type, new ArrayType(bytes.buffer), dims);
}

/** Calls `work` with options whose constants are the fewest that will do, or why it fails. */
async function withConstants(inputs, work) {
  const tensors = inputs.map((input) => [input.name, tensorOf(input)]);
  const ints = tensors.filter(([, { type }], i) => i && !type.startsWith('float'));
  let first;
  for (const constants of [[], ints, tensors.slice(1), tensors])
    try {
      return {
        model: Buffer.from(await work({ ...OPTIONS, constants: Object.fromEntries(constants) })).toString('base64'),
      };
    } catch (error) {
      first ??= error;
    }
  return { error: first.message };
}

async function exported(model, outputs, options) {
  const artifacts = await generateArtifacts(model, { ...options, lossInputs: ['a product'] });
  const session = await TrainingSession.create(artifacts, HERE);
  const bytes = await session.exportModel({ outputs });
  await session.release();
  return bytes;
}

async function exportAll() {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    const { inputs, outputs, models, learns } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const made = { models: {}, learns: {} };
    const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64'));
    for (const [opset, model] of Object.entries(models))
      made.models[opset] = await withConstants(inputs, (options) => exported(bytes(model), outputs, options));
    for (const [opset, model] of Object.entries(learns))
      made.learns[opset] = await withConstants(inputs, async (options) => {
        const { trainModel } = await generateArtifacts(bytes(model), { ...options, lossInputs: [outputs[0]] });
        return trainModel;
      });
    writeFileSync(join(folder, file.replace('.json', '.out')), JSON.stringify(made));
  }
}

function script(command) {
  const done = run(python, ['-B', '-W', 'ignore', join(root, 'tests/onnx/exports.py'), command, folder]);
  if (done.status !== 0) throw new Failure(`exports.py ${command} failed:\n${done.stderr.slice(-2000)}`);
  return done.stdout.trim();
}

/** The same sentence, whatever the case. */
const kindOf = ({ kind, sentence }) => `${kind}: ${sentence.replace(/'[^']*'/g, '…')}`;

runMain(async () => {
  setUp();
  rmSync(folder, { recursive: true, force: true });
  const made = script('make');
  say(made);
  await exportAll();
  const { found, lines } = JSON.parse(script('check'));
  const kinds = {};
  for (const line of lines) kinds[kindOf(line)] = [...(kinds[kindOf(line)] ?? []), `${line.case}@${line.opset}`];
  const faults = Object.fromEntries(
    Object.entries(kinds).map(([kind, cases]) => [kind, `${cases.length}, the first ${cases[0]}`]),
  );
  writeFileSync(join(root, 'tests/onnx/exports.json'), `${JSON.stringify({ made, found, faults }, null, 2)}\n`);
  say(JSON.stringify({ found, faults }, null, 2));
  const wrong = ['invalid', 'different', 'not run', 'invalid training model'].filter((kind) => found[kind]);
  if (wrong.length) throw new Failure(`there are such exports: ${wrong.join(', ')}`);
});
