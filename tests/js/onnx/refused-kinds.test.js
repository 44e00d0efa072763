/**
 * Kinds of inputs and feeds that have no place: maps anywhere, strings, sequences and optionals in training; each
 * refused in one sentence that says so.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as ort from 'onnxruntime-web';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import {
  info,
  message,
  modelProto,
  node,
  opsetId,
  tensorTypeProto,
  typeProto,
  valueInfoProto,
  weight,
} from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';

const tensor = (/** @type {number} */ elements) =>
  message([
    1,
    valueInfoProto({
      name: elements,
      type: typeProto({ tensorType: [tensorTypeProto({ shape: 'N' }), tensorTypeProto({ elemType: 2 })] }),
    }),
  ]);
const [FLOAT, STRING] = [1, 8];
/** ONNX's TypeProto: the number of its field, around a tensor's. */
const KINDS = { map: 5, sequence: 4, optional: 9 };

/**
 * y = x · w, with x of the type and perhaps more inputs.
 * @param {Uint8Array} type
 * @param {[string, Uint8Array][]} more
 */
function model(type, ...more) {
  const inputs = [['x', type], ...more].map(
    ([name, t]) => /** @type {[number, Uint8Array]} */ ([11, message([1, name], [2, t])]),
  );
  const graph = message([1, node('MatMul', ['x', 'w'], 'y')], [2, 'g'], [5, weight('w', [2, 2], 2, 1)], ...inputs, [
    12,
    info('y', 1, ['N', 2]),
  ]);
  return modelProto({ graph, opsetImport: opsetId(17) });
}

/** @param {string} code @param {RegExp} words */
const is = (code, words) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof TrainletError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(error.message, /\n|undefined|\[object/);
  return true;
};

test('a model with such an input is refused by the name of the input and what it is', async () => {
  const wrapped = (/** @type {number} */ field, inner = tensor(FLOAT)) =>
    message([field, message(field === KINDS.map ? [1, 7] : [1, inner], [2, tensor(FLOAT)])]);
  const map = wrapped(KINDS.map);
  const byFloats = message([KINDS.map, message([1, FLOAT], [2, tensor(FLOAT)])]);
  const nowhere = [
    [model(tensor(14)), /input 'x' has elements of type unknown, which we lack/],
    [model(byFloats), /input 'x' is a map whose keys are neither int64 nor string; we feed graphs with tensors, /],
    [model(new Uint8Array()), /input 'x' is of no type; we .* sequences of tensors, optionals of these and maps/],
    [model(wrapped(KINDS.sequence, map)), /input 'x' is a sequence of maps; we feed single maps/],
    [model(wrapped(KINDS.sequence, wrapped(KINDS.optional))), /input 'x' is a sequence of what are no tensors/],
    [model(wrapped(KINDS.optional, map)), /input 'x' is an optional of what is neither a tensor nor a sequence/],
  ];
  const notInTraining = [
    [model(tensor(STRING)), /input 'x' has elements of type string; training feeds graphs with numbers alone/],
    [model(tensor(FLOAT), ['names', tensor(STRING)]), /input 'names' has elements of type string/],
    [model(wrapped(KINDS.sequence)), /input 'x' is a sequence; training feeds graphs with tensors alone/],
    [model(map), /input 'x' is a map; training feeds graphs with tensors alone/],
    [model(wrapped(KINDS.optional)), /input 'x' is an optional; training feeds graphs with tensors alone/],
  ];
  for (const [bytes, words] of /** @type {[Uint8Array, RegExp][]} */ (nowhere))
    await assert.rejects(InferenceSession.create(bytes, ALONE), is('unsupported-op', words));
  for (const [bytes, words] of /** @type {[Uint8Array, RegExp][]} */ ([...nowhere, ...notInTraining])) {
    await assert.rejects(generateArtifacts(bytes, { loss: 'mse', ...ALONE }), is('unsupported-op', words));
  }
});

const X = new Tensor('float32', [1, 2], [1, 2]);
/** @type {InferenceSession} */
let inference;
/** @type {TrainingSession} */
let training;
before(async () => {
  inference = await InferenceSession.create(model(tensor(FLOAT)), ALONE);
  training = await TrainingSession.create(
    await generateArtifacts(model(tensor(FLOAT)), { loss: 'mse', optimizer: 'sgd', ...ALONE }),
    ALONE,
  );
});
after(() => Promise.all([inference, training].map((session) => session.release())));

test('such a feed is refused by the name of the input and what it is, and the session goes on', async () => {
  const target = X;
  const feeds = [
    [{ x: new ort.Tensor('string', ['a', 'b'], [1, 2]) }, /input 'x' wants float32, string came/],
    [{ x: [X, X] }, /input 'x' must be a tensor, not an array: new Tensor\('\w+', elements, dims\)/],
    [{ x: [] }, /input 'x' must be a tensor, not an array/],
    [{ x: new Map([[1n, X]]) }, /input 'x' must be a tensor, an object with type, data and dims, not a Map/],
    [{ x: null }, /input 'x' .*is missing/],
    [{}, /input 'x' .*is missing/],
    [{ x: undefined }, /input 'x' must be a tensor/],
  ];
  for (const [wrong, words] of /** @type {[any, RegExp][]} */ (feeds)) {
    await assert.rejects(inference.run(wrong), is('invalid-feed', words));
    await assert.rejects(training.runTrainStep({ ...wrong, target }), is('invalid-feed', words));
    await assert.rejects(training.fit([{ ...wrong, target }]), is('invalid-feed', words));
  }
  assert.deepEqual((await inference.run({ x: X })).y.dims, [1, 2]);
  assert.ok(Number.isFinite((await training.step({ x: X, target })).loss));
});
