// Tensors of sounds in a page: an AudioBuffer of the browser's own, and a file that it decodes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openSite } from './site.js';

let site, page, context;
before(async () => {
  site = await openSite();
  ({ page, context } = await site.newPage());
});
after(async () => {
  await context?.close();
  await site?.close();
});

test('an AudioBuffer is mixed and resampled; a WAV file has its samples; no sound is a sentence', async () => {
  const found = await page.evaluate(async () => {
    const { Tensor } = await import('/js/index.js');
    const rate = 16000;
    const tone = Float32Array.from({ length: rate / 10 }, (_, i) => Math.sin((2 * Math.PI * 500 * i) / rate));
    const buffer = new AudioBuffer({ length: tone.length, numberOfChannels: 2, sampleRate: rate });
    buffer.copyToChannel(tone, 0);
    const head = new DataView(new ArrayBuffer(44));
    const text = (at, word) => [...word].forEach((letter, i) => head.setUint8(at + i, letter.charCodeAt(0)));
    text(0, 'RIFF');
    text(8, 'WAVEfmt ');
    text(36, 'data');
    const numbers = [
      [4, 36 + 4 * tone.length, 4],
      [16, 16, 4],
      [20, 3, 2],
      [22, 1, 2],
      [24, rate, 4],
      [28, 4 * rate, 4],
    ];
    for (const [at, value, bytes] of [...numbers, [32, 4, 2], [34, 32, 2], [40, 4 * tone.length, 4]])
      bytes === 4 ? head.setUint32(at, value, true) : head.setUint16(at, value, true);
    const wav = new Blob([head, tone], { type: 'audio/wav' });
    const plain = ({ dims, data }) => ({ dims, data: [...data] });
    return {
      tone: [...tone],
      mixed: plain(await Tensor.fromAudio(buffer)),
      half: plain(await Tensor.fromAudio(buffer, { sampleRate: 8000 })),
      file: plain(await Tensor.fromAudio(wav, { sampleRate: rate })),
      none: await Tensor.fromAudio(new Blob(['no sound'])).catch(({ code, message }) => [code, message]),
    };
  });
  assert.deepEqual(found.mixed.dims, [1, 1600]);
  assert.deepEqual(
    found.mixed.data,
    found.tone.map((value) => value / 2),
  );
  assert.deepEqual(found.half.dims, [1, 800]);
  found.half.data.slice(50, 750).forEach((value, i) => {
    assert.ok(Math.abs(value - found.tone[2 * (i + 50)] / 2) < 0.005, `${i}: ${value}`);
  });
  assert.deepEqual(found.file, { dims: [1, 1600], data: found.tone });
  assert.equal(found.none[0], 'source-unreadable');
  assert.match(found.none[1], /^the sound: its 8 bytes could not be decoded at 48000 samples a second: /);
});
