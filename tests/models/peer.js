// onnxruntime-web 1.30, one thread: the outputs of a model, and how long it takes.

import * as ort from 'onnxruntime-web-1.30';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

/** Maps it cannot give: then the first output alone, the labels. */
async function runAll(session, feeds) {
  try {
    return [await session.run(feeds), session.outputNames];
  } catch {
    const names = session.outputNames.slice(0, 1);
    return [await session.run(feeds, names), names];
  }
}

/** `timed` is given a call and answers its ms. */
export async function runtime(model, inputs, timed) {
  const session = await ort.InferenceSession.create(model);
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]),
  );
  const [outputs, names] = await runAll(session, feeds);
  const ms = timed ? await timed(() => session.run(feeds, names)) : undefined;
  await session.release();
  return { outputs, ms };
}
