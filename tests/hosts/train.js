// The training that is tried everywhere: a network from trainlet/layers learns a table, and an ONNX file trains.

/**
 * @param {typeof import('trainlet')} trainlet
 * @param {{ layers?: typeof import('trainlet/layers'), augment?: boolean }} [parts] those that there are
 */
export async function train(trainlet, { layers, augment = true } = {}) {
  const text = await trainModel(trainlet, augment);
  return layers ? `${text}; ${await trainTable(trainlet, layers)}` : text;
}

/** @param {typeof import('trainlet')} trainlet @param {boolean} augment */
async function trainModel({ generateArtifacts, Tensor, TrainingSession }, augment) {
  const artifacts = await generateArtifacts('model.onnx', {
    loss: 'cross-entropy',
    optimizer: { type: 'sgd', lr: 0.1 },
  });
  const values = Float32Array.from({ length: 160 }, (_, i) => Math.sin(i));
  const inputs = { input: new Tensor('float32', values, [8, 20]) };
  const labels = { labels: new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]) };
  const session = await TrainingSession.create(artifacts);
  return `loss ${await fall(session, { inputs, labels }, augment ? { augment: [{ type: 'scale', by: 0.01 }] } : {})}`;
}

/** @param {typeof import('trainlet')} trainlet @param {typeof import('trainlet/layers')} layers */
async function trainTable({ generateArtifacts, readTable, TrainingSession }, { dense, input, sequential }) {
  const rows = Array.from({ length: 64 }, (_, i) => `${i % 8},${i % 5},${2 * (i % 8) - (i % 5)}`);
  const csv = new TextEncoder().encode(['a,b,y', ...rows, ''].join('\n'));
  const { inputs, labels } = await readTable(csv, { target: 'y' });
  const network = await sequential([input([2]), dense(8, { activation: 'relu' }), dense(1)], { seed: 7 });
  const artifacts = await generateArtifacts(network, { loss: 'mse', optimizer: { type: 'adam', lr: 0.05 } });
  return `table ${await fall(await TrainingSession.create(artifacts), { inputs, labels })}`;
}

/** @param {any} session @param {object} data @param {object} [options] */
async function fall(session, data, options = {}) {
  const { loss: first } = await session.evaluate(data);
  await session.fit(data, { batchSize: 8, epochs: 20, ...options });
  const { loss: last } = await session.evaluate(data);
  await session.release();
  if (!(last < 0.9 * first)) throw new Error(`the loss did not fall: ${first}, then ${last}`);
  return `${first.toFixed(4)} → ${last.toFixed(4)}`;
}

/** @param {Promise<string>} training */
export const report = (training) => training.catch(({ code, message }) => `${code}: ${message}`);

/** Tells it to whoever looks at the page. @param {Promise<string>} training */
export async function show(training) {
  document.body.dataset.report = await report(training);
}
