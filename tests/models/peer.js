// onnxruntime-web 1.30, one thread: the first output of a model, and how long it takes.

import * as ort from 'onnxruntime-web-1.30';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

/** `timed` is given a call and answers its ms. */
export async function runtime(model, inputs, timed) {
  const session = await ort.InferenceSession.create(model);
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
  );
  const output = (await session.run(feeds))[session.outputNames[0]].data;
  const ms = timed ? await timed(() => session.run(feeds)) : undefined;
  await session.release();
  return { output, ms };
}
