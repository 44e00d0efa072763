// Digits of MNIST, as they are and as a foreign hand writes them: slanted, with narrow letters and a broad pen.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mnistFolder } from '../../js/cli/arrays.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../js/index.js';
import { golden } from './clusters.js';

export const DIGITS = Array.from({ length: 10 }, (_, i) => i);
const FILES = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
};

/** @param {Float32Array} picture of 28 × 28 */
export function foreign(picture) {
  const [c, shear, narrow, angle] = [13.5, 0.5, 0.75, 0.35];
  const at = (x, y) => (x >= 0 && y >= 0 && x < 28 && y < 28 ? picture[y * 28 + x] : 0);
  const bent = Float32Array.from(picture, (_, i) => {
    const v = Math.floor(i / 28) - c;
    const u = ((i % 28) - c) / narrow + shear * v;
    const x = Math.cos(angle) * u + Math.sin(angle) * v + c;
    const y = -Math.sin(angle) * u + Math.cos(angle) * v + c;
    const [left, top] = [Math.floor(x), Math.floor(y)];
    const row = (r) => (left + 1 - x) * at(left, r) + (x - left) * at(left + 1, r);
    return (top + 1 - y) * row(top) + (y - top) * row(top + 1);
  });
  return bent.map((x, i) => Math.max(x, i % 28 ? bent[i - 1] : 0, i >= 28 ? bent[i - 28] : 0));
}

/** The first `each` pictures of each of the digits from picture `from` on; labels are the digits. */
export function pick(part, digits, each, { from = 0, hand = (picture) => picture } = {}) {
  const [pictures, labels] = FILES[part].map((file) => readFileSync(join(mnistFolder(), file)));
  const rows = [];
  for (let i = from; rows.length < each * digits.length; i++) {
    const digit = labels[8 + i];
    if (digits.includes(digit) && rows.filter((row) => labels[8 + row] === digit).length < each) rows.push(i);
  }
  const input = new Float32Array(rows.length * 784);
  rows.forEach((row, i) => {
    const at = 16 + row * 784;
    input.set(hand(Float32Array.from(pictures.subarray(at, at + 784), (x) => x / 255)), i * 784);
  });
  const inputs = { input: new Tensor('float32', input, [rows.length, 1, 28, 28]) };
  return { inputs, labels: rows.map((i) => labels[8 + i]) };
}

/** Arguments of fit and evaluate. */
export const asFed = ({ inputs, labels }, classes) => ({
  inputs,
  labels: {
    labels: new Tensor(
      'int64',
      BigInt64Array.from(labels, (label) => BigInt(classes.indexOf(label))),
    ),
  },
});
export const accuracyOf = async (session, data, classes) => (await session.evaluate(asFed(data, classes))).accuracy;

/** A small residual network that reads all ten digits. */
export async function readerOfDigits(engine) {
  const head = { classes: DIGITS.map(String) };
  const options = { ...engine, loss: 'cross-entropy', head, requiresGrad: ['*'] };
  const session = await TrainingSession.create(await generateArtifacts(golden('resnet_folded.onnx'), options), engine);
  const schedule = { type: 'one-cycle', lr: 0.005 };
  await session.fit(asFed(pick('train', DIGITS, 250), DIGITS), { epochs: 6, schedule, seed: 1 });
  return await session.exportModel();
}
