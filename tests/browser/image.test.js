// Tensors of what only a browser has: files, canvases, bitmaps, images and videos; in the page and in its worker.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { startFirefox } from './firefox.js';
import { openRepository } from './repository.js';
import { openSite } from './site.js';

let site, page, context, elsewhere;
before(async () => {
  site = await openSite();
  ({ page, context } = await site.newPage());
  elsewhere = createServer((_, response) => response.setHeader('content-type', 'image/svg+xml').end(SVG));
  await new Promise((resolve) => {
    elsewhere.listen(0, '127.0.0.1', resolve);
  });
  await page.evaluate(async () => {
    Object.assign(globalThis, await import('/js/index.js'));
    globalThis.bytes = async (source, options) => [
      ...(await globalThis.Tensor.fromImage(source, { dataType: 'uint8', layout: 'NHWC', ...options })).data,
    ];
    globalThis.failure = (source, options) =>
      globalThis.Tensor.fromImage(source, options).then(
        () => 'none',
        ({ name, code, message }) => [name, code, message],
      );
    /** Two pixels: red, and blue that is half seen. */
    globalThis.canvas = () => {
      const made = Object.assign(document.createElement('canvas'), { width: 2, height: 1 });
      made
        .getContext('2d')
        .putImageData(new ImageData(Uint8ClampedArray.of(255, 0, 0, 255, 0, 0, 255, 51), 2, 1), 0, 0);
      return made;
    };
  });
});
after(async () => {
  await context?.close();
  await site?.close();
  elsewhere?.close();
});

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="1"><rect width="2" height="1" fill="red"/></svg>';
const RED_AND_BLUE = [255, 0, 0, 204, 204, 255];

test('a canvas, a bitmap, an image, a PNG file and its URL have the same pixels, over white', async () => {
  const found = await page.evaluate(async () => {
    const { bytes, canvas } = globalThis;
    const drawn = canvas();
    const blob = await new Promise((resolve) => drawn.toBlob(resolve));
    const image = new Image();
    image.src = URL.createObjectURL(blob);
    const offscreen = new OffscreenCanvas(2, 1);
    offscreen.getContext('2d').drawImage(drawn, 0, 0);
    const sources = [
      drawn,
      await createImageBitmap(drawn),
      image,
      blob,
      new File([blob], 'two.png'),
      image.src,
      offscreen,
    ];
    return await Promise.all(sources.map((source) => bytes(source)));
  });
  for (const pixels of found) assert.deepEqual(pixels, RED_AND_BLUE);
});

test("a photograph is turned as its camera's Exif says", async () => {
  const found = await page.evaluate(async () => {
    const wide = Object.assign(document.createElement('canvas'), { width: 32, height: 16 });
    const context = wide.getContext('2d');
    context.fillStyle = 'red';
    context.fillRect(0, 0, 16, 16);
    context.fillStyle = 'blue';
    context.fillRect(16, 0, 16, 16);
    const jpeg = new Uint8Array(
      await (await new Promise((resolve) => wide.toBlob(resolve, 'image/jpeg', 1))).arrayBuffer(),
    );
    // turned: orientation 6
    const tiff = [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0];
    const exif = [0xff, 0xe1, 0, 8 + tiff.length, 0x45, 0x78, 0x69, 0x66, 0, 0, ...tiff];
    const turned = new Blob([jpeg.subarray(0, 2), Uint8Array.from(exif), jpeg.subarray(2)], { type: 'image/jpeg' });
    const { dims, data } = await globalThis.Tensor.fromImage(turned, { layout: 'NHWC', dataType: 'uint8' });
    return { dims, first: [...data.subarray(0, 3)], last: [...data.subarray(-3)] };
  });
  assert.deepEqual(found.dims, [1, 32, 16, 3]);
  assert.ok(found.first[0] > 200 && found.first[2] < 50, `red comes first: ${found.first}`);
  assert.ok(found.last[2] > 200 && found.last[0] < 50, `blue comes last: ${found.last}`);
});

test("ONNX Runtime's own Tensor.fromImage gives the same numbers for its options", async () => {
  const pairs = await page.evaluate(async () => {
    const ort = await import('/ort/ort.min.mjs');
    const data = Uint8ClampedArray.from({ length: 4 * 24 }, (_, i) => (i % 4 === 3 ? 255 : (i * 37) % 256));
    const picture = new ImageData(data, 6, 4);
    const all = [
      {},
      { tensorFormat: 'BGR', tensorLayout: 'NCHW' },
      { norm: { mean: [127.5, 100, 50], bias: [-127.5, 3, 0] } },
      { norm: { mean: 2, bias: 1 }, tensorFormat: 'BGR' },
    ];
    const plain = ({ type, dims, data: numbers }) => ({ type, dims, numbers: [...numbers] });
    return await Promise.all(
      all.map(async (options) => [
        plain(await globalThis.Tensor.fromImage(picture, options)),
        plain(await ort.Tensor.fromImage(picture, options)),
      ]),
    );
  });
  for (const [came, wanted] of pairs) assert.deepEqual(came, wanted);
});

test('a worker of the page makes tensors of bitmaps and files too', async () => {
  const found = await page.evaluate(async () => {
    const code = `import { Tensor } from '${location.origin}/js/index.js';
      onmessage = async ({ data }) => postMessage(await Promise.all(data.map(async (source) =>
        [...(await Tensor.fromImage(source, { dataType: 'uint8', layout: 'NHWC' })).data])));`;
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })), { type: 'module' });
    const drawn = globalThis.canvas();
    const answer = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    worker.postMessage([await createImageBitmap(drawn), await new Promise((resolve) => drawn.toBlob(resolve))]);
    return await answer.finally(() => worker.terminate());
  });
  for (const pixels of found) assert.deepEqual(pixels, RED_AND_BLUE);
});

test('a frame of a video, and the sentence where there is none yet', async () => {
  const { none, pixel } = await page.evaluate(async () => {
    const video = document.createElement('video');
    const none = await globalThis.failure(video);
    const drawn = globalThis.canvas();
    video.muted = true;
    video.srcObject = drawn.captureStream();
    await video.play();
    return { none, pixel: await globalThis.bytes(video) };
  });
  assert.deepEqual(none, [
    'TrainletError',
    'source-unreadable',
    "the picture: the video has no frame yet: wait for its event 'loadeddata'",
  ]);
  assert.equal(pixel.length, 6);
  assert.ok(pixel[0] > 100, `the first pixel is reddish: ${pixel}`);
});

test('what cannot be read is a sentence', async () => {
  const foreign = `http://127.0.0.1:${elsewhere.address().port}/red.svg`;
  const { tainted, text, closed, broken, empty } = await page.evaluate(async (src) => {
    const { failure } = globalThis;
    const image = new Image();
    image.src = src;
    const bitmap = await createImageBitmap(globalThis.canvas());
    bitmap.close();
    return {
      tainted: await failure(image),
      text: await failure(new Blob(['no picture'], { type: 'image/png' })),
      closed: await failure(bitmap),
      broken: await failure(Object.assign(new Image(), { src: '/js/nothing.png' })),
      empty: await failure(new Image()),
    };
  }, foreign);
  const said = (wanted, [name, code, message]) => {
    assert.deepEqual([name, code], ['TrainletError', 'source-unreadable']);
    assert.match(message, wanted);
  };
  said(/^the picture: it is from another site, which must allow its pixels to be read \(crossOrigin = /, tainted);
  said(/^the picture: the 10 bytes of type image\/png are no picture that this browser knows: /, text);
  said(/^the picture: it has no pixels: it is empty, or was closed or transferred$/, closed);
  said(/^the picture: the image http:.*nothing\.png could not be loaded$/, broken);
  said(/^the picture: the image without a src could not be loaded$/, empty);
});

/** The pictures of make_images.py by their formula, resized: the hashes of their bytes. */
const hashes = `
  import { Tensor } from './js/index.js';
  const { cases } = await (await fetch('./tests/golden/data/samples/images.json')).json();
  const told = [];
  for (const { width, height, size, crop, channels } of cases) {
    const data = new Uint8ClampedArray(4 * width * height);
    for (let y = 0, at = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        for (let c = 0; c < 3; c++) data[at++] = (x * 7 + y * 13 + c * 50 + x * y * (c + 1)) % 256;
        data[at++] = 255;
      }
    const made = await Tensor.fromImage(new ImageData(data, width, height), \
{ size, crop, channels, layout: 'NHWC', dataType: 'uint8' });
    const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', made.data));
    told.push([...sum].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
  }
  await fetch('/talk/', { method: 'POST', body: JSON.stringify(told) });`;

test("Firefox gives every byte of Pillow's too", { timeout: 120_000 }, async () => {
  let hear = (_told) => {};
  const heard = new Promise((resolve) => {
    hear = resolve;
  });
  const repository = await openRepository({
    script: hashes,
    talk: async (request, response) => {
      hear(await new Response(request).json());
      response.end();
    },
  });
  const firefox = startFirefox(repository.url('plain'));
  try {
    const told = await Promise.race([heard, firefox.ended]);
    const { cases } = JSON.parse(readFileSync(new URL('../golden/data/samples/images.json', import.meta.url), 'utf8'));
    assert.deepEqual(
      told,
      cases.map(({ sha256 }) => sha256),
    );
  } finally {
    await firefox.close();
    await repository.close();
  }
});
