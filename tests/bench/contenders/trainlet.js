// Ours, on the calling thread: what is measured is the engine, and a peer has no other worker either.

import * as here from '../../../js/index.js';

/** Package of the other checkout (`--beside`), relative to this file and to the root. */
const BESIDE = '../../../build/bench/beside/js/index.js';
export const BESIDE_FOLDER = 'build/bench/beside';

/** The artifacts of a task, for us and for whoever else reads them: what is not frozen trains, whatever reads it. */
export function artifactsOf({ graph, optimizer, trainable = ['*'] }, { generateArtifacts } = here) {
  return generateArtifacts(graph.onnx(), { loss: 'cross-entropy', optimizer, requiresGrad: trainable, worker: false });
}

export async function open(task, { threads, contender }) {
  const library = contender === 'trainlet-beside' ? await import(BESIDE) : here;
  const { InferenceSession, TrainingSession } = library;
  const options = { worker: false, threads: contender === 'trainlet-alone' ? 1 : threads };
  const session = task.forward
    ? await InferenceSession.create(task.graph.onnx(), options)
    : await TrainingSession.create(await artifactsOf(task, library), options);
  let outputs;
  const infer = async () => {
    outputs = (await session.run(task.feeds)).logits.data;
    return outputs[0];
  };
  return {
    step: task.forward ? infer : async () => (await session.step(task.feeds)).loss,
    outputs: () => outputs && Array.from(outputs),
    memory: async () => session.getMemoryPlan?.(),
  };
}
