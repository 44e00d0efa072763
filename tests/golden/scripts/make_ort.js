// Records how onnxruntime-web 1.19.2, the last release that trains, trains the artifact sets of ort/: losses,
// parameters, eval loss.
//
//   node tests/golden/scripts/make_ort.js [SET …]      writes ort/SET/golden.json and params_{1,4,acc}.bin
//
// One batch: four steps (train, optimize, reset), then "acc": two train runs without a reset, one optimizer step, then
// the eval loss.
// A params file is the compact form of getContiguousParameters(true), float32: the first element of each run of
// `stride`, then the sum of each run, added up in double. So every parameter counts, in 1/48 of the bytes; a small set
// keeps every element.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import { batchTensor } from '../../support/recipe.js';

const ort = createRequire(import.meta.url)('../../../node_modules/onnxruntime-web/dist/ort.training.wasm.min.js');
ort.env.wasm.numThreads = 1;

const strideFor = (count) => (count > 10_000 ? 97 : 1);
const int = { type: 'int64', dims: [] };
const sets = {
  mnist_web: {
    extension: 'onnx',
    feeds: [
      { name: 'input', type: 'float32', dims: [8, 784], file: 'feed0.bin' },
      { name: 'labels', type: 'int64', dims: [8], file: 'feed1.bin' },
    ],
  },
  ort_testdata: {
    extension: 'onnx',
    feeds: [
      { name: 'input-0', type: 'float32', dims: [8, 784], file: 'feed0.bin' },
      { name: 'labels', type: 'int32', dims: [8], file: 'feed1.bin' },
    ],
  },
  ort_testdata_ortformat: {
    extension: 'ort',
    feeds: [
      {
        name: 'input',
        type: 'float32',
        dims: [8, 10],
        file: 'feed0.bin',
        spec: { type: 'float32', dims: [10], low: -1, high: 1, seed: 11 },
      },
      { name: 'labels', type: 'int64', dims: [8], file: 'feed1.bin', spec: { ...int, low: 0, high: 5, seed: 12 } },
    ],
  },
};

/** Version 1 and 2 have the same bytes but for the number: field 0 of the root table. */
function asVersion2(checkpoint) {
  const bytes = checkpoint.slice();
  const view = new DataView(bytes.buffer);
  const table = view.getUint32(0, true);
  const vtable = table - view.getInt32(table, true);
  view.setInt32(table + view.getUint16(vtable + 4, true), 2, true);
  return bytes;
}

function readFeed(folder, { type, dims, file, spec }) {
  const path = `${folder}${file}`;
  if (spec) {
    const { data } = batchTensor(spec, dims[0], 0);
    fs.writeFileSync(path, new Uint8Array(data.buffer));
  }
  const { buffer } = new Uint8Array(fs.readFileSync(path));
  const data =
    type === 'float32'
      ? new Float32Array(buffer)
      : type === 'int32'
        ? new Int32Array(buffer)
        : new BigInt64Array(buffer);
  return new ort.Tensor(type, data, dims);
}

function compact(all, stride) {
  const runs = Math.ceil(all.length / stride);
  const out = new Float32Array(2 * runs);
  for (let run = 0; run < runs; run++) {
    const elements = all.subarray(run * stride, (run + 1) * stride);
    out[run] = elements[0];
    out[runs + run] = elements.reduce((sum, x) => sum + x, 0);
  }
  return out;
}

async function record(name) {
  const { extension, feeds: specs } = sets[name];
  const folder = new URL(`../data/ort/${name}/`, import.meta.url).pathname;
  const read = (file) => new Uint8Array(fs.readFileSync(folder + file));
  const session = await ort.TrainingSession.create({
    checkpointState: asVersion2(read('checkpoint')),
    trainModel: read(`training_model.${extension}`),
    evalModel: read(`eval_model.${extension}`),
    optimizerModel: read(`optimizer_model.${extension}`),
  });
  const feeds = Object.fromEntries(specs.map((spec) => [spec.name, readFeed(folder, spec)]));
  const parameters = await session.getParametersSize(true);
  const stride = strideFor(parameters);
  const [lossName] = session.trainingOutputNames;
  const train = async () => (await session.runTrainStep(feeds))[lossName].data[0];
  const save = async (which) => {
    const { data } = await session.getContiguousParameters(true);
    fs.writeFileSync(`${folder}params_${which}.bin`, new Uint8Array(compact(data, stride).buffer));
  };
  const losses = [];
  for (let step = 1; step <= 4; step++) {
    losses.push(await train());
    await session.runOptimizerStep();
    await session.lazyResetGrad();
    if (step === 1 || step === 4) await save(step);
  }
  const accumulated = [await train(), await train()];
  await session.runOptimizerStep();
  await save('acc');
  const evalLoss = (await session.runEvalStep(feeds))[lossName].data[0];
  const golden = {
    extension,
    feeds: specs.map(({ spec, ...feed }) => feed),
    parameters,
    stride,
    losses,
    accumulated,
    evalLoss,
  };
  fs.writeFileSync(`${folder}golden.json`, `${JSON.stringify(golden, null, 2)}\n`);
  console.log(name, losses, accumulated, evalLoss);
}

const wanted = process.argv.slice(2);
for (const name of wanted.length ? wanted : Object.keys(sets)) await record(name);
