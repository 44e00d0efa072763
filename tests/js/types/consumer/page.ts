/** A user's page, with the types of the DOM. */

import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';

export async function page(photo: ImageData, canvas: HTMLCanvasElement, signal: AbortSignal) {
  const artifacts = await generateArtifacts(new Blob(['model']), { loss: 'mse' });
  const fetched = await TrainingSession.create({ ...artifacts, trainModel: await fetch('train.onnx') }, { signal });
  await generateArtifacts(new URL('model.onnx', location.href), { loss: 'mse' });
  // @ts-expect-error a number is no source
  await generateArtifacts(5, { loss: 'mse' });
  // @ts-expect-error a controller is no signal
  await fetched.release({ signal: new AbortController() });
  const link = URL.createObjectURL(new Blob([await fetched.exportModel(), artifacts.evalModel]));
  return [link, await Tensor.fromImage([photo, canvas]), await Tensor.fromAudio(new Blob([]))];
}
