/**
 * Trains here, infers with onnxruntime-web: `exportModel` gives plain ONNX.
 *
 *     node examples/with/onnxruntime.mjs
 */

import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';
import { isMain } from '../main.mjs';

/** 400 points of the plane; the class is whether they are inside a ring. @param {() => number} random */
function makePoints(random) {
  const points = Array.from({ length: 400 }, () => [2 * random() - 1, 2 * random() - 1]);
  const classes = points.map(([x, y]) => Number(Math.hypot(x, y) < 0.6));
  return { inputs: tensor(points), labels: tensor(classes, 'int64') };
}

/**
 * @param {typeof import('onnxruntime-web-1.30')} ort
 * @returns the largest difference of scores, and the share of new points that onnxruntime-web tells right
 */
export async function trainAndInfer(ort, random = Math.random) {
  const network = await sequential([input([2], { name: 'point' }), dense(16, { activation: 'relu' }), dense(2)]);
  const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.02 } };
  const session = await TrainingSession.create(await generateArtifacts(network, options));
  await session.fit(makePoints(random), { epochs: 40, batchSize: 32 });

  const model = await session.exportModel();
  ort.env.wasm.numThreads = 1; // for Node; a page may have more
  const inference = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  const { inputs, labels } = makePoints(random);
  const feeds = { point: new ort.Tensor('float32', inputs.data, inputs.dims) };
  const [scores] = Object.values(await inference.run(feeds));

  const [ours] = Object.values(await session.predict(inputs));
  const differences = scores.data.map((score, i) => Math.abs(score - ours.data[i]));
  const isRight = Array.from(
    labels.data,
    (label, i) => scores.data[2 * i + Number(label)] > scores.data[2 * i + 1 - Number(label)],
  );
  await inference.release();
  await session.release();
  return { difference: Math.max(...differences), accuracy: isRight.filter(Boolean).length / isRight.length };
}

if (isMain(import.meta.url)) {
  const ort = await import('onnxruntime-web-1.30'); // npm's onnxruntime-web; the tests also need an older one
  const { difference, accuracy } = await trainAndInfer(ort);
  console.log(`accuracy in onnxruntime-web ${accuracy}; scores differ by at most ${difference.toExponential(1)}`);
}
