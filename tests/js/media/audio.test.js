/**
 * Tensors of sounds: torchaudio's numbers (tests/golden/scripts/make_audio.py), those of ONNX's operators, and what is
 * refused.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { loadOrtTraining } from '../../support/ort.js';
import { assertNear } from '../../support/near.js';

const ort = loadOrtTraining();

const golden = JSON.parse(readFileSync(new URL('../../golden/data/samples/audio.json', import.meta.url), 'utf8'));

/** The formula of make_audio.py. @param {number} count @param {number} rate */
const sound = (count, rate) =>
  Float32Array.from({ length: count }, (_, i) => {
    const turn = (2 * Math.PI * i) / rate;
    const tones = 0.4 * Math.sin(440 * turn) + 0.3 * Math.sin(1234.5 * turn) + 0.2 * Math.cos(3000 * turn);
    return tones + 0.1 * (((i * i) % 17) / 8 - 1);
  });
const buffer = (sampleRate, ...channels) => ({
  sampleRate,
  numberOfChannels: channels.length,
  getChannelData: (c) => Float32Array.from(channels[c]),
});
/** Relative to the largest: small ones are differences of large ones. */
const near = (came, wanted, share) => assertNear(came, wanted, { absolute: share * Math.max(...wanted.map(Math.abs)) });
const refused = (work, message, code = 'invalid-argument') =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, message);
    return true;
  });

for (const { count, from, to, samples } of golden.resampled)
  test(`${count} samples from ${from} to ${to} a second: torchaudio's`, async () => {
    const { dims, data } = await Tensor.fromAudio(sound(count, from), { sourceRate: from, sampleRate: to });
    assert.deepEqual(dims, [1, samples.length]);
    near(data, samples, 2e-6);
  });

for (const { count, rate, mel, dims, values } of golden.mel)
  test(`mel ${JSON.stringify(mel)}: torchaudio's`, async () => {
    const tensor = await Tensor.fromAudio(sound(count, rate), { sampleRate: rate, mel });
    assert.ok(tensor instanceof Tensor);
    assert.deepEqual(tensor.dims, [1, ...dims]);
    near(tensor.data, values, 2e-5);
  });

/** signal (1, N, 1) ─ STFT ─ power ─ MatMul with MelWeightMatrix ─ Transpose ─▶ y (1, mels, frames) */
function onnxModel(count, { nFft, hopLength, nMels, fMin, fMax }, rate) {
  const hann = Float32Array.from({ length: nFft }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / nFft));
  const constants = {
    step: { type: 'int64', dims: [], data: BigInt64Array.of(BigInt(hopLength)) },
    window: { type: 'float32', dims: [nFft], data: hann },
    frame: { type: 'int64', dims: [], data: BigInt64Array.of(BigInt(nFft)) },
    mels: { type: 'int64', dims: [], data: BigInt64Array.of(BigInt(nMels)) },
    rate: { type: 'int64', dims: [], data: BigInt64Array.of(BigInt(rate)) },
    low: { type: 'float32', dims: [], data: Float32Array.of(fMin) },
    high: { type: 'float32', dims: [], data: Float32Array.of(fMax) },
  };
  const graph = graphProto({
    node: [
      node('STFT', ['x', 'step', 'window', 'frame'], 'spectrum', attribute('onesided', 1)),
      node('ReduceSumSquare', ['spectrum'], 'power', attribute('axes', [3]), attribute('keepdims', 0)),
      node('MelWeightMatrix', ['mels', 'frame', 'rate', 'low', 'high'], 'weights'),
      node('MatMul', ['power', 'weights'], 'product'),
      node('Transpose', ['product'], 'y', attribute('perm', [0, 2, 1])),
    ],
    name: 'mel',
    initializer: Object.entries(constants).map(([name, value]) => tensor(name, value)),
    input: info('x', 1, [1, count, 1]),
    output: info('y', 1, [1, nMels, 1 + Math.floor((count - nFft) / hopLength)]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

for (const [nFft, nMels, fMin, fMax] of [
  [256, 10, 0, 8000],
  [400, 24, 60, 7600],
  [100, 40, 20, 4000],
])
  test(`mel of ${nFft} and ${nMels} with melScale onnx: STFT, MelWeightMatrix here and in ONNX Runtime`, async () => {
    const [count, rate, mel] = [1000, 16000, { nFft, hopLength: 90, nMels, fMin, fMax }];
    const data = sound(count, rate);
    const came = await Tensor.fromAudio(data, { sampleRate: rate, mel: { ...mel, melScale: 'onnx', center: false } });
    const model = onnxModel(count, mel, rate);
    const ours = await InferenceSession.create(model, { worker: false });
    const theirs = await ort.InferenceSession.create(model);
    const runs = [
      await ours.run({ x: new Tensor('float32', data, [1, count, 1]) }),
      await theirs.run({ x: new ort.Tensor('float32', data, [1, count, 1]) }),
    ];
    await ours.release();
    for (const { y } of runs) {
      assert.deepEqual([...y.dims], [...came.dims]);
      near(came.data, [...y.data], 1e-5);
    }
  });

test('channels become their mean, what is short gets silence, what is long is cut', async () => {
  const stereo = buffer(8000, [1, 0, 0.5], [0, 0, 0.5]);
  assert.deepEqual([...(await Tensor.fromAudio(stereo)).data], [0.5, 0, 0.5]);
  const both = await Tensor.fromAudio([stereo, Float32Array.of(1, 2, 3, 4, 5)], { sampleRate: 8000, length: 4 });
  assert.deepEqual(
    [both.dims, [...both.data]],
    [
      [2, 4],
      [0.5, 0, 0.5, 0, 1, 2, 3, 4],
    ],
  );
});

test('frames follow each other, or overlap by a hop; the rest is dropped', async () => {
  const source = Float32Array.of(1, 2, 3, 4, 5);
  const apart = await Tensor.fromAudio(source, { frames: { length: 2 } });
  assert.deepEqual(
    [apart.dims, [...apart.data]],
    [
      [1, 2, 2],
      [1, 2, 3, 4],
    ],
  );
  const overlapping = await Tensor.fromAudio(source, { frames: { length: 3, hop: 1 } });
  assert.deepEqual(
    [overlapping.dims, [...overlapping.data]],
    [
      [1, 3, 3],
      [1, 2, 3, 2, 3, 4, 3, 4, 5],
    ],
  );
});

test('a tone that the lower rate cannot hold is gone, one that it can hold stays as loud', async () => {
  const tone = (hz) => Float32Array.from({ length: 4410 }, (_, i) => Math.sin((2 * Math.PI * hz * i) / 44101));
  const loudness = async (hz) => {
    const { data } = await Tensor.fromAudio(tone(hz), { sourceRate: 44101, sampleRate: 16000 });
    return Math.max(...data.subarray(100, 1500).map(Math.abs));
  };
  assert.ok((await loudness(12000)) < 0.01);
  assert.ok(Math.abs((await loudness(1000)) - 1) < 0.01);
});

test('log is of the value plus 1e-6: silence is finite', async () => {
  const options = { sampleRate: 8000, mel: { nFft: 64, nMels: 4 } };
  const [plain, log, silent] = await Promise.all([
    Tensor.fromAudio(sound(200, 8000), options),
    Tensor.fromAudio(sound(200, 8000), { ...options, mel: { ...options.mel, log: true } }),
    Tensor.fromAudio(new Float32Array(200), { ...options, mel: { ...options.mel, log: true } }),
  ]);
  near(
    log.data,
    [...plain.data].map((value) => Math.log(value + 1e-6)),
    1e-6,
  );
  assert.ok(silent.data.every((value) => value === Math.fround(Math.log(1e-6))));
});

test('what does not fit is one sentence each', async () => {
  const ok = sound(500, 8000);
  const of = (source, options) => Tensor.fromAudio(source, options);
  const mel = (given) => of(ok, { sampleRate: 8000, mel: given });
  await refused(
    of(ok, { rate: 1 }),
    /^Tensor\.fromAudio: there is no option 'rate'; it knows sampleRate, sourceRate, /,
  );
  await refused(of(ok, { sampleRate: 44.1 }), /^sampleRate must be a whole number of at least 1, not 44\.1$/);
  await refused(of(ok, { sampleRate: 1e6 }), /^sampleRate can be 768000 samples a second at most, not 1000000$/);
  await refused(of(ok, { length: 0 }), /^length must be a whole number of at least 1, not 0$/);
  await refused(of(ok, { frames: 256 }), /^frames: wanted an object, not 256$/);
  await refused(of(ok, { frames: { length: 501 } }), /^the sound has 500 samples, fewer than one frame of 501$/);
  await refused(of(ok, { frames: { length: 2 }, mel: {} }), /give one of both$/);
  await refused(of(ok, { mel: {} }), /^mel needs a sampleRate: a Float32Array does not tell how high its pitches are$/);
  await refused(
    of(buffer(8000, [1]), { sourceRate: 8000 }),
    /^sourceRate is for a Float32Array; other sounds have a rate /,
  );
  await refused(of([]), /^Tensor\.fromAudio: there is no sound in the array$/);
  await refused(of(new Float32Array()), /^the sound has no samples$/);
  await refused(of([ok, [1, 2]]), /^sound 1 must be an AudioBuffer, a Float32Array or a Blob, not an array$/);
  await refused(of([ok, ok.subarray(1)]), /^sound 1 becomes \[499\], and sound 0 \[500\]: give a length for all$/);
  await refused(of(new Blob(['x'])), /^the sound: only a page decodes files of sound; /, 'source-unreadable');
  await refused(mel({ nfft: 4 }), /^mel: there is no option 'nfft'; it knows nFft, /);
  await refused(mel({ nMels: 0 }), /^mel: nMels must be a whole number of at least 1, not 0$/);
  await refused(mel({ nFft: 2 ** 21 }), /^mel: nFft can be 1048576 at most, not 2097152$/);
  await refused(mel({ winLength: 500 }), /^mel: winLength 500 is longer than nFft 400$/);
  await refused(mel({ fMax: 5000 }), /^mel: fMin 0 and fMax 5000 must rise from 0 to half the sampleRate, 4000$/);
  await refused(mel({ power: 3 }), /^mel: power must be 1 or 2, not 3$/);
  await refused(mel({ melScale: 'mel' }), /^mel: melScale must be htk, slaney, onnx, not 'mel'$/);
  await refused(mel({ norm: 'area' }), /^mel: norm must be null or 'slaney', not 'area'$/);
  await refused(mel({ norm: 'slaney', melScale: 'onnx' }), /^mel: norm is for the melScale htk or slaney; /);
  await refused(mel({ log: 'yes' }), /^mel: log must be true or false, not 'yes'$/);
  await refused(
    mel({ nFft: 1024 }),
    /^the sound has 500 samples; mel with center needs more than 512, half a window: /,
  );
  await refused(mel({ nFft: 512, center: false }), /^the sound has 500 samples, fewer than one window of 512$/);
});
