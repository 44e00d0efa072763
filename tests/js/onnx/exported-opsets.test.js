/**
 * Exported models are valid for the opset that they name: what an operator is made of exists there in that form. All of
 * ONNX's node cases, at every opset, are judged by `npm run onnx-exports`.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ort from 'onnxruntime-web-1.30';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { onnxFile } from '../../support/onnx-file.js';
import { nodesOf } from '../../support/onnx-names.js';
import { HERE } from '../../support/engines.js';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const floats = (...data) => ({ type: 'float32', dims: [data.length], data: Float32Array.from(data) });
const ints = (dims, ...data) => ({ type: 'int64', dims, data: BigInt64Array.from(data, BigInt) });

/** An operator of (x · w, others), x of the dims; from which opset on the export may be. */
const CASES = {
  InstanceNormalization: { opset: 13, dims: [2, 3, 4], others: { s: floats(1, 2, 3), b: floats(0, 1, 2) }, from: 17 },
  GroupNormalization: {
    opset: 18,
    dims: [2, 4, 3],
    others: { s: floats(1, 2), b: floats(0, 1) },
    attributes: { num_groups: 2 },
  },
  STFT: { opset: 20, dims: [1, 20, 1], others: { step: ints([], 4), window: floats(1, 2, 3, 4) } },
  LpPool: {
    opset: 18,
    dims: [1, 1, 5, 5],
    attributes: { kernel_shape: [2, 2], dilations: [2, 2] },
    from: 19,
  },
  Hardmax: { opset: 11, dims: [3, 4], attributes: { axis: 0 }, from: 13 },
};

function modelOf(op, { opset, dims, others = {}, attributes = {} }) {
  return onnxFile({
    name: op,
    opset,
    nodes: [
      { op: 'Mul', inputs: ['x', 'w'], outputs: ['scaled'], attributes: {} },
      { op, inputs: ['scaled', ...Object.keys(others)], outputs: ['y'], attributes },
    ],
    weights: [['w', floats(2)], ...Object.entries(others)],
    inputs: [{ name: 'x', type: 'float32', dims }],
    outputs: [{ name: 'y', type: 'float32', dims: dims.map((_, i) => `d${i}`) }],
  });
}

/** Nodes that the opset does not have: operators by the first that has them, attributes by the first and the last. */
const SINCE = { LayerNormalization: 17, Trilu: 14, GridSample: 16, GroupNormalization: 18, DFT: 17, STFT: 17 };
const ATTRIBUTES = { 'DFT.axis': [17, 19], 'AveragePool.dilations': [19], 'ReduceMean.axes': [1, 17] };

function assertValid(bytes) {
  const { opset, nodes } = nodesOf(bytes);
  for (const { op, domain, attributes } of nodes) {
    if (domain) continue;
    assert.ok(opset >= (SINCE[op] ?? 0), `${op} in opset ${opset}`);
    for (const name of attributes) {
      const [first = 0, last = Infinity] = ATTRIBUTES[`${op}.${name}`] ?? [];
      assert.ok(opset >= first && opset <= last, `${op}'s ${name} in opset ${opset}`);
    }
  }
  return opset;
}

for (const [op, one] of Object.entries(CASES))
  test(`what ${op} of opset ${one.opset} is made of is valid in the export, and computes the same`, async () => {
    const options = { loss: 'mse', lossInputs: ['scaled'], requiresGrad: ['w'], optimizer: 'sgd', batch: 'fixed' };
    const artifacts = await generateArtifacts(modelOf(op, one), { ...options, ...HERE });
    assertValid(artifacts.trainModel);
    const training = await TrainingSession.create(artifacts, HERE);
    const bytes = await training.exportModel();
    await training.release();
    assert.equal(assertValid(bytes), one.from ?? one.opset);
    const count = one.dims.reduce((a, b) => a * b);
    const x = new Tensor(
      'float32',
      Float32Array.from({ length: count }, (_, i) => ((i * 7) % 11) / 11 - 0.4),
      one.dims,
    );
    const [ours, theirs] = [await InferenceSession.create(bytes, HERE), await ort.InferenceSession.create(bytes)];
    const { y } = await ours.run({ x });
    const { y: wanted } = await theirs.run({ x: new ort.Tensor('float32', x.data, x.dims) });
    assert.deepEqual(y.dims, [...wanted.dims]);
    wanted.data.forEach((value, i) => {
      assert.ok(Math.abs(y.data[i] - value) < 1e-4, `element ${i} is ${y.data[i]}, onnxruntime gives ${value}`);
    });
    await Promise.all([ours.release(), theirs.release()]);
  });
