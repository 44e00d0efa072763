// onnxruntime-web/training 1.19.2, the last release that trains, with the artifacts we generate.

import { artifactsOf } from './trainlet.js';

const dist = new URL('../node_modules/onnxruntime-web-training/dist/', import.meta.url);

export async function open(task) {
  const ort = await import(`${dist}ort.training.wasm.min.mjs`);
  ort.env.wasm.numThreads = 1; // its threads do not train: a session of two is as slow as one
  ort.env.wasm.wasmPaths = dist.href;
  return openIn(ort, task);
}

/** Feeds are bound by the order of their keys: the input, then the labels. */
export async function openIn(ort, task) {
  const feeds = Object.fromEntries(
    Object.entries(task.feeds).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
  );
  const session = await ort.TrainingSession.create(await artifactsOf(task), { executionProviders: ['wasm'] });
  const [lossName] = session.trainingOutputNames;
  return {
    async step() {
      const loss = (await session.runTrainStep(feeds))[lossName].data[0];
      await session.runOptimizerStep();
      await session.lazyResetGrad();
      return loss;
    },
  };
}
