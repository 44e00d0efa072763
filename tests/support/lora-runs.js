// The runs of tests/golden/scripts/make_lora.py as Trainlet does them: the same models, options and batch.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { HERE, root } from './engines.js';

const FOLDER = join(root, 'tests/golden/data/lora');
const BASE = { embedding: 'gpt2' };
const CLASSIFIES = ['bert', 'pictures'];
const [VOCABULARY, BATCH, LENGTH] = [40, 3, 9];

const golden = JSON.parse(readFileSync(join(root, 'tests/golden/data/lora.json'), 'utf8'));
export const { runs } = golden;
/** Prefix that the exporter puts before modules' names, for the exported model holds the one of PEFT. */
export const prefixOf = (name) => (name === 'pictures' ? '' : 'model.');

/** PEFT's files, before (`first`) and after (`last`) its steps. */
export const folderOf = (name, which) =>
  Object.fromEntries(
    ['adapter_model.safetensors', 'adapter_config.json'].map((file) => [
      file,
      readFileSync(join(FOLDER, name, which, file)),
    ]),
  );
export const configOf = (files) => JSON.parse(new TextDecoder().decode(files['adapter_config.json']));

const tensor = (data, dims) => new Tensor('int64', BigInt64Array.from(data, BigInt), dims);

export function batchOf(name) {
  if (name === 'pictures') {
    const x = Float32Array.from({ length: BATCH * 144 }, (_, k) => ((k * k * 7 + 3 * k) % 101) / 50 - 1);
    return { inputs: { x: new Tensor('float32', x, [BATCH, 1, 12, 12]) }, labels: tensor([0, 1, 2], [BATCH]) };
  }
  const ids = Array.from({ length: BATCH * LENGTH }, (_, k) => {
    const [i, t] = [Math.floor(k / LENGTH), k % LENGTH];
    return (7 * i * i + 3 * t * t + 5 * i * t + 11) % VOCABULARY;
  });
  const next = ids.map((id) => (3 * id + 1) % VOCABULARY);
  return {
    inputs: { input_ids: tensor(ids, [BATCH, LENGTH]) },
    labels: name === 'bert' ? tensor([0, 1, 2], [BATCH]) : tensor(next, [BATCH, LENGTH]),
  };
}

/** A session with adapters as the options say. */
export async function sessionOf(name, lora, more) {
  const artifacts = await generateArtifacts(readFileSync(join(FOLDER, `${BASE[name] ?? name}.onnx`)), {
    ...HERE,
    loss: { type: 'cross-entropy', axis: CLASSIFIES.includes(name) ? 1 : -1 },
    optimizer: { type: 'adamw', lr: golden.lr, weightDecay: golden.weight_decay },
    lora,
    ...more,
  });
  return await TrainingSession.create(artifacts, HERE);
}
