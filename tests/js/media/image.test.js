/** Tensors of pictures: the numbers of Pillow and torchvision (tests/golden/scripts/make_images.py), and refusals. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Tensor } from '../../../js/index.js';

const golden = JSON.parse(readFileSync(new URL('../../golden/data/samples/images.json', import.meta.url), 'utf8'));

/** ImageData by the formula of make_images.py. */
function picture(width, height, alpha = 255) {
  const data = new Uint8ClampedArray(4 * width * height);
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < 3; c++) data[at++] = (x * 7 + y * 13 + c * 50 + x * y * (c + 1)) % 256;
      data[at++] = alpha;
    }
  return { data, width, height };
}
const dot = (...data) => ({ data: Uint8ClampedArray.from(data), width: 1, height: 1 });
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const refused = (work, message, code = 'invalid-argument') =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, message);
    return true;
  });

for (const { width, height, size, crop, channels, first, sha256: wanted } of golden.cases)
  test(`${width} × ${height} to ${size}, crop ${crop}, ${channels} channels: every byte of Pillow's`, async () => {
    const options = { size, crop, channels, layout: 'NHWC', dataType: 'uint8' };
    const { dims, data } = await Tensor.fromImage(picture(width, height), options);
    const [high, wide] = Array.isArray(size) ? size : [size, size];
    assert.deepEqual(dims, [1, high, wide, channels]);
    assert.deepEqual([...data.subarray(0, first.length)], first);
    assert.equal(sha256(data), wanted);
  });

test("normalized it has every bit of torchvision's", async () => {
  const { mean, std, normalized } = golden;
  const tensor = await Tensor.fromImage(picture(11, 8), { size: 5, mean, std });
  assert.ok(tensor instanceof Tensor);
  assert.deepEqual([tensor.type, tensor.dims], ['float32', [1, 3, 5, 5]]);
  assert.deepEqual([...tensor.data], normalized);
});

test('several pictures are one batch; two of several sizes need one', async () => {
  const [a, b] = [picture(8, 6), picture(6, 8)];
  const [both, first, second] = await Promise.all(
    [[a, b], a, b].map((source) => Tensor.fromImage(source, { size: 4 })),
  );
  assert.deepEqual(both.dims, [2, 3, 4, 4]);
  assert.deepEqual([...both.data], [...first.data, ...second.data]);
  await refused(Tensor.fromImage([a, b]), /^picture 1 has 6 × 8 pixels, and picture 0 8 × 6: give a size for all$/);
});

test('layouts and grey', async () => {
  const source = { data: Uint8Array.of(10, 20, 30, 255, 40, 50, 60, 255), width: 2, height: 1 };
  const of = async (options) => [...(await Tensor.fromImage(source, { dataType: 'uint8', ...options })).data];
  assert.deepEqual(await of({}), [10, 40, 20, 50, 30, 60]);
  assert.deepEqual(await of({ layout: 'NHWC' }), [10, 20, 30, 40, 50, 60]);
  assert.deepEqual(await of({ tensorLayout: 'NHWC', tensorFormat: 'BGR' }), [30, 20, 10, 60, 50, 40]);
  assert.deepEqual(await of({ channels: 1 }), [18, 48]);
});

test('what is transparent shows the background: white, or what is said', async () => {
  const of = async (source, options) => [...(await Tensor.fromImage(source, { dataType: 'uint8', ...options })).data];
  assert.deepEqual(await of(dot(9, 9, 9, 0)), [255, 255, 255]);
  assert.deepEqual(await of(dot(100, 0, 255, 51), { background: [0, 10, 20] }), [20, 8, 67]);
});

test('a wide picture keeps its proportions: what sticks out is cut off on both sides', async () => {
  const data = new Uint8ClampedArray(4 * 30 * 10).fill(255);
  // black and transparent in the middle
  for (let y = 0; y < 10; y++) data.fill(0, 4 * (y * 30 + 10), 4 * (y * 30 + 20));
  for (let i = 3; i < data.length; i += 4) data[i] = 255;
  const source = { data, width: 30, height: 10 };
  const middle = await Tensor.fromImage(source, { size: [10, 10] });
  assert.ok(middle.data.every((value) => value === 0));
  const wide = await Tensor.fromImage(source, { size: [10, 20], dataType: 'uint8', channels: 1, layout: 'NHWC' });
  assert.deepEqual(
    [...wide.data.subarray(0, 20)],
    [...Array(5).fill(255), ...Array(10).fill(0), ...Array(5).fill(255)],
  );
  const stretched = await Tensor.fromImage(source, { size: [1, 3], crop: false });
  assert.deepEqual(
    [...stretched.data.subarray(0, 3)].map((value) => value > 0.5),
    [true, false, true],
  );
});

test('what does not fit is one sentence each', async () => {
  const ok = picture(4, 4);
  const of = (source, options) => Tensor.fromImage(source, options);
  await refused(
    of(ok, { width: 4 }),
    /^Tensor\.fromImage: there is no option 'width'; it knows size, crop, channels, /,
  );
  await refused(of(ok, { size: 0 }), /^size: a side must be a whole number of at least 1, not 0$/);
  await refused(of(ok, { size: [4, 4, 3] }), /^size must be a number or \[height, width\], not 3 numbers$/);
  await refused(of(ok, { size: 150528 }), /^size: a side can have 16384 pixels at most, not 150528$/);
  await refused(of(ok, { crop: true }), /^crop must be 'center' or false, not true$/);
  await refused(of(ok, { channels: 4 }), /^channels must be 3, or 1 for grey, not 4$/);
  await refused(of(ok, { layout: 'CHW' }), /^layout must be 'NCHW' or 'NHWC', not 'CHW'$/);
  await refused(of(ok, { layout: 'NCHW', tensorLayout: 'NHWC' }), /they are two names of one option$/);
  await refused(of(ok, { tensorFormat: 'RGBA' }), /^tensorFormat must be 'RGB', 'BGR' or 'RBG', not 'RGBA'/);
  await refused(of(ok, { dataType: 'float16' }), /^dataType must be 'float32' or 'uint8', not 'float16'$/);
  await refused(
    of(ok, { mean: [0.5, 0.5] }),
    /^mean must be a number or an array of 3 numbers that are finite, not \[0\.5,0\.5\]$/,
  );
  await refused(of(ok, { std: 0 }), /^std must be a number or an array of 3 numbers other than 0, not 0$/);
  await refused(of(ok, { std: 1, norm: { mean: 1 } }), /^mean and std, .*, or norm, .*, but not both$/);
  await refused(of(ok, { dataType: 'uint8', mean: 0.5 }), /^mean, std and norm are for dataType 'float32'; /);
  await refused(
    of(ok, { background: [0, 0, 256] }),
    /^background must be .* 3 numbers from 0 to 255, not \[0,0,256\]$/,
  );
  await refused(of([]), /^Tensor\.fromImage: there is no picture in the array$/);
  await refused(of(null), /^the picture must be an ImageData .*, not null$/);
  await refused(of([ok, new Float32Array(4)]), /^picture 1 must be an ImageData .*, not a Float32Array$/);
  await refused(of({ ...ok, width: 5 }), /^the picture: 5 × 4 pixels of red, green, blue and alpha are not 64 bytes$/);
  await refused(
    of({ ...ok, data: [...ok.data] }),
    /^the picture: the data of its pixels must be a Uint8ClampedArray, not an array$/,
  );
  await refused(of({ ...ok, colorSpace: 'display-p3' }), /^the picture: its colours must be srgb, not display-p3$/);
  for (const file of [new Blob(['x']), 'photo.png', new URL('https://nowhere.invalid/photo.png')])
    await refused(
      of(file),
      /^the picture: only a browser decodes files of pictures; here give \{ data, /,
      'source-unreadable',
    );
});
