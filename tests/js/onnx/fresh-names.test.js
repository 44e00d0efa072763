/**
 * The names that the engine makes up never meet the file's: models whose values have just these names, in subgraphs and
 * functions too, come out as before.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, message, node, onnxFile, tensor } from '../../support/onnx-file.js';
import { packedCases } from '../../onnx/packed.js';
import { casesIn, runCases } from '../../onnx/cases.js';
import { namesOf, outerNamesOf, renamed, withGraphFields } from '../../support/onnx-names.js';
import { HERE } from '../../support/engines.js';

const ENGINE = { ...HERE, reproducible: true };
const golden = (name) => new Uint8Array(readFileSync(new URL(`../../golden/data/${name}`, import.meta.url)));

/** Names that only the artifacts have. */
function madeNames(model, { trainModel, evalModel }) {
  const own = new Set(namesOf(model));
  return [...new Set([...namesOf(trainModel), ...namesOf(evalModel)])].filter((name) => !own.has(name));
}

/**
 * Other names for the model's values: the last get those that are made first, so that they are met before they exist.
 */
function renaming(model, made, kept = []) {
  const names = namesOf(model)
    .filter((name) => !kept.includes(name))
    .reverse();
  const fresh = [...new Set(made)].filter((name) => !names.includes(name));
  const map = new Map(names.map((name, i) => [name, fresh[i] ?? name]));
  return (name) => map.get(name) ?? name;
}

// ---- training ----

/** Some numbers for an input; 2 for a free dim. */
function filled({ type, dims }) {
  const shape = dims.map((dim) => (typeof dim === 'number' && dim >= 0 ? dim : 2));
  const numbers = Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => ((k * 7) % 11) / 11);
  const ints = type === 'int64' ? numbers.map((x) => BigInt(x > 0.5)) : numbers.map((x) => Number(x > 0.5));
  return new Tensor(type, type === 'float32' ? numbers : ints, shape);
}
const feedsOf = (inputs) => Object.fromEntries(inputs.map((input) => [input.name, filled(input)]));

/** Losses of three steps, of an evaluation, and the outputs of the exported model. */
async function inside(session) {
  const feeds = feedsOf(session.trainingInputs);
  const losses = [];
  for (let i = 0; i < 3; i++) losses.push((await session.step(feeds)).loss);
  losses.push(Object.values(await session.runEvalStep(feeds))[0].data[0]);
  const exported = await InferenceSession.create(await session.exportModel(), ENGINE);
  const outputs = await exported.run(Object.fromEntries(exported.inputNames.map((name) => [name, feeds[name]])));
  await exported.release();
  return [losses, Object.values(outputs).map(({ data }) => [...data])];
}

/** The gradients of what is given by the outputs themselves, towards inputs and parameters. */
async function outside(session) {
  const { outputs, backward } = await session.forward(feedsOf(session.trainingInputs));
  const towards = await backward(outputs, { inputs: session.outside.inputs });
  await session.runOptimizerStep();
  const { data } = await session.getContiguousParameters(false);
  return [[...data], Object.values(towards).map((gradient) => [...gradient.data])];
}

async function trained(artifacts) {
  const session = await TrainingSession.create(artifacts, ENGINE);
  const found = await (session.outside ? outside : inside)(session);
  await session.release();
  return found;
}

const OPTIONS = { loss: 'mse', optimizer: 'adamw', ...ENGINE };
const GOLDEN = {
  cnn_bn: { loss: 'cross-entropy' },
  conv1d: {},
  decoder: {},
  encoder: {},
  functions: {},
  lora_linear: { lora: { r: 2, dropout: 0.5 } },
  mlp_small: { loss: 'outside' },
  recurrent: {},
  regression: { loss: 'outside' },
  scanned: {},
  scripted: {},
  tokens: {},
  transformer: {},
  unet: {},
  w1: { loss: 'cross-entropy', optimizer: 'sgd' },
  w2: { head: { classes: ['a', 'b', 'c'], hidden: 4 }, loss: 'cross-entropy' },
  'cases/const-name-groupnorm-log1p-dynamo-raw-train/model': { loss: 'cross-entropy' },
  'cases/export-stft-op20-dynamo-eval/model': {},
};

/** Names of what trains: those of initializers tell it, so that others have to be said. */
async function trainedNames(artifacts) {
  const session = await TrainingSession.create(artifacts, ENGINE);
  const names = session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  await session.release();
  return names;
}

for (const [name, options] of Object.entries(GOLDEN))
  test(`${name} trains alike under names that training makes up`, async () => {
    const model = golden(`${name}.onnx`);
    const artifacts = await generateArtifacts(model, { ...OPTIONS, ...options });
    const wanted = await trained(artifacts);
    let [other, made, requiresGrad] = [model, madeNames(model, artifacts), await trainedNames(artifacts)];
    assert.ok(made.length > 10, `${made.length} names are made up`);
    /* matrices of LoRA and a head have names of their own, and so do copies of what an exporter has merged */
    const keeps = !requiresGrad.every((parameter) => namesOf(model).includes(parameter));
    for (let round = 0; round < 2; round++) {
      const rename = renaming(other, made, keeps ? outerNamesOf(other) : []);
      other = renamed(other, rename);
      requiresGrad = requiresGrad.map(rename);
      const again = await generateArtifacts(other, { ...OPTIONS, ...options, ...(keeps ? {} : { requiresGrad }) });
      assert.deepEqual(await trained(again), wanted, `round ${round}`);
      made = madeNames(other, again);
    }
  });

// ---- every operator ----

/** The case's model beside a weight that trains. */
const beside = (model) =>
  withGraphFields(
    model,
    graphProto({
      initializer: tensor('a weight', { type: 'float32', dims: [1], data: Float32Array.of(1) }),
      node: node('Mul', ['a number', 'a weight'], ['a product']),
      input: info('a number', 1, [1]),
    }),
  );

/** Operators of other domains may be all that a case has. */
const importsOnnx = (model) => !/ai\.onnx\.(ml|preview\.training)/.test(Buffer.from(model).toString('latin1'));

/** Names that the engine makes up wherever it has to, though not in a training model. */
const USUAL = ['const', 'v', ...Array.from({ length: 8 }, (_, i) => [`const_${i + 1}`, `v_${i + 1}`]).flat()];

/** Constants behind the case's nodes, as exporters leave them: they get the first names. */
const late = message(
  ...Array.from({ length: 8 }, (_, i) => [1, node('Constant', [], [`late ${i}`], attribute('value_int', i))]),
);

/** The case, its values under names that its artifacts (there are none of some) or others have made up. */
async function renamedCase(one) {
  const options = { ...OPTIONS, lossInputs: ['a product'], requiresGrad: ['a weight'] };
  const plain = one.read('model.onnx');
  const model = importsOnnx(plain) ? withGraphFields(plain, late) : plain;
  const artifacts = await generateArtifacts(beside(model), options).catch(() => undefined);
  const made = artifacts ? madeNames(beside(model), artifacts) : [];
  const other = renamed(model, renaming(model, [...made, ...USUAL]));
  if (artifacts) await generateArtifacts(beside(other), options);
  return { ...one, read: (file) => (file === 'model.onnx' ? other : one.read(file)) };
}

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
const SETS = {
  "Debian's": [casesIn('/usr/share/libonnx-testdata/data'), read('../../onnx/left-out-debian.json')],
  'the newer': [packedCases(), read('../../onnx/left-out.json')],
};

for (const [whose, [cases, leftOut]] of Object.entries(SETS))
  test(`${whose} backend cases of ONNX pass under names that the engine makes up`, async (t) => {
    const others = [];
    const wrong = [];
    for (const one of cases)
      await renamedCase(one).then(
        (other) => others.push(other),
        (error) => wrong.push(`${one.name}: ${error.message}`),
      );
    const found = await runCases(others, leftOut);
    t.diagnostic(`${found.passed} of ${cases.length} cases pass`);
    assert.deepEqual([...wrong, ...found.wrong], []);
  });

test("an .ort file's gate of HardSwish has a name of its own", async () => {
  const model = onnxFile({
    name: 'gated',
    nodes: [
      { op: 'MatMul', inputs: ['x', 'w'], outputs: ['y/gate'], attributes: {} },
      { op: 'HardSwish', inputs: ['y/gate'], outputs: ['y'], attributes: {} },
    ],
    weights: [['w', { type: 'float32', dims: [2, 2], data: Float32Array.of(1, -2, 3, 4) }]],
    inputs: [{ name: 'x', type: 'float32', dims: ['N', 2] }],
    outputs: [{ name: 'y', type: 'float32', dims: ['N', 2] }],
  });
  const session = await TrainingSession.create(await generateArtifacts(model, OPTIONS), ENGINE);
  const x = new Tensor('float32', [1, 2, 0.5, -0.25], [2, 2]);
  const outputs = [];
  for (const format of ['onnx', 'ort']) {
    const exported = await InferenceSession.create(await session.exportModel({ format }), ENGINE);
    outputs.push([...(await exported.run({ x })).y.data]);
    await exported.release();
  }
  assert.deepEqual(outputs[1], outputs[0]);
  await session.release();
});
