// One contender in a Web Worker of its own: opens a training session, then trains as many steps as it is told and says how long they took.
//
//   page ─▶ { open: task }      ─▶ { createMs, firstStepMs, loss, … }
//        ─▶ { measure: steps }  ─▶ { ms, loss }           ms of one step, mean of the steps

import { artifactOptions, batchFeeds } from '../golden/recipe.js';
import { mlpModel } from './mlp_model.js';

const GOLDEN = '/tests/golden/';
const bytesOf = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());

/** Ours, in this very worker: what is measured is the engine, and a peer has no other worker either. */
async function openTrainlet({ recipe, model }) {
  const { generateArtifacts, TrainingSession } = await import('/js/index.js');
  const bytes = model === 'mlp' ? mlpModel() : await bytesOf(GOLDEN + model);
  const started = performance.now();
  const artifacts = await generateArtifacts(bytes, { ...artifactOptions(recipe), worker: false });
  const session = await TrainingSession.create(artifacts, { worker: false });
  return {
    createMs: performance.now() - started,
    step: async (feeds) => (await session.step(feeds)).loss,
    memory: async () => session.getMemoryPlan(),
    tensor: (tensor) => tensor,
  };
}

/** The artifacts are of ONNX Runtime 1.17, checkpoint version 1; 1.19 reads the same bytes if the first field of the root table says 2. */
function asVersion2(checkpoint) {
  const view = new DataView(checkpoint.buffer);
  const table = view.getUint32(0, true);
  const vtable = table - view.getInt32(table, true);
  view.setInt32(table + view.getUint16(vtable + 4, true), 2, true);
  return checkpoint;
}

/** onnxruntime-web 1.19.2 with ONNX Runtime's own artifacts. */
async function openOrt({ ort: { base, artifacts } }) {
  const ort = await import(`${base}ort.training.wasm.min.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL(base, location.href).href;
  const load = async (name) => bytesOf(`${GOLDEN}${artifacts}/${name}`);
  const parts = {
    checkpointState: asVersion2(await load('checkpoint')), trainModel: await load('training_model.onnx'),
    evalModel: await load('eval_model.onnx'), optimizerModel: await load('optimizer_model.onnx'),
  };
  const started = performance.now();
  const session = await ort.TrainingSession.create(parts, { executionProviders: ['wasm'] });
  const lossName = session.trainingOutputNames[0];
  return {
    createMs: performance.now() - started,
    step: async (feeds) => {
      const outputs = await session.runTrainStep(feeds);
      const loss = outputs[lossName].data[0];
      await session.runOptimizerStep();
      await session.lazyResetGrad();
      return loss;
    },
    memory: async () => undefined,
    tensor: ({ type, data, dims }) => new ort.Tensor(type, data, dims),
  };
}

let session;
let feeds;

async function open(task) {
  session = await (task.ort ? openOrt(task) : openTrainlet(task));
  feeds = Object.fromEntries(Object.entries(batchFeeds(task.recipe, 0)).map(([name, t]) => [name, session.tensor(t)]));
  const started = performance.now();
  const loss = await session.step(feeds);
  return { createMs: session.createMs, firstStepMs: performance.now() - started, loss, memory: await session.memory() };
}

async function measure(steps) {
  let loss;
  const started = performance.now();
  for (let i = 0; i < steps; i++) loss = await session.step(feeds);
  return { ms: (performance.now() - started) / steps, loss };
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage(data.open ? await open(data.open) : await measure(data.measure));
  } catch (error) {
    self.postMessage({ error: String(error?.stack ?? error) });
  }
};
