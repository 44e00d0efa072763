// Ours, on the calling thread: what is measured is the engine, and a peer has no other worker either.

import { generateArtifacts, InferenceSession, TrainingSession } from '../../../js/index.js';

/** The artifacts of a task, for us and for whoever else reads them. */
export function artifactsOf({ graph, optimizer, trainable }) {
  return generateArtifacts(graph.onnx(), {
    loss: 'cross-entropy',
    optimizer,
    ...(trainable && { requiresGrad: trainable }),
    worker: false,
  });
}

export async function open(task, { threads, contender }) {
  const options = { worker: false, threads: contender === 'trainlet-alone' ? 1 : threads };
  const session = task.forward
    ? await InferenceSession.create(task.graph.onnx(), options)
    : await TrainingSession.create(await artifactsOf(task), options);
  return {
    step: task.forward
      ? async () => (await session.run(task.feeds)).logits.data[0]
      : async () => (await session.step(task.feeds)).loss,
    memory: async () => session.getMemoryPlan?.(),
  };
}
