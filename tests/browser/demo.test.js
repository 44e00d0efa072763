// The demo in headless Chromium: draw, teach, train, reload, resume, export; smooth, silent on the console, and open to
// everyone.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../js/cli/serve-demo.js';
import { launch, SHAPES, Visitor } from './visitor.js';

const ort = createRequire(import.meta.url)('onnxruntime-web');
const SHOTS = new URL('../../build/screenshots/', import.meta.url);
const STALL_MS = 100;

let server, browser;
before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A visit that must end without a complaint. */
const visit = (name, steps, options) =>
  test(name, { timeout: 180_000 }, async (t) => {
    const visitor = await Visitor.arrive(browser, server.url, options);
    try {
      await steps(visitor, t);
      assert.deepEqual(visitor.complaints, []);
    } finally {
      await visitor.leave();
    }
  });

visit('a digit is read while it is drawn', async (v) => {
  await v.draw(SHAPES.seven);
  await v.reads('7');
  await v.page.click('#clear');
  await v.draw(SHAPES.one);
  await v.reads('1');
});

visit('a new symbol is learned, the page stays smooth, and the digits are not forgotten', async (v, t) => {
  await v.teachSymbol('★', SHAPES.star, 6);
  await v.stalls();
  await v.page.selectOption('#length', '300');
  await v.page.click('#go');
  await v.waitForStep(5);
  await v.draw(SHAPES.star, 0.1);
  await v.reads('★');
  assert.equal(await v.text('#go'), 'Stop', 'it was read during the training');
  await v.trained();
  const { gap, task } = await v.stalls();
  const own = [await v.percent('#own-before'), await v.percent('#own-now')];
  const heldOut = [await v.percent('#held-out-before'), await v.percent('#held-out-now')];
  t.diagnostic(`own strokes ${own.join(' → ')} %, unseen MNIST ${heldOut.join(' → ')} %`);
  t.diagnostic(
    `longest frame gap ${gap.toFixed(0)} ms, longest task ${task ? `${task.toFixed(0)} ms` : 'below 50 ms'}`,
  );
  assert.ok(own[1] > own[0] && own[1] >= 80, `own strokes: ${own.join(' → ')} %`);
  assert.ok(heldOut[0] >= 98 && heldOut[1] >= heldOut[0] - 2, `unseen MNIST: ${heldOut.join(' → ')} %`);
  assert.ok(task < STALL_MS, `a task of the main thread took ${task} ms`);
  assert.ok(gap < 2 * STALL_MS, `a frame came ${gap} ms after the one before`);
});

visit('stopped and reloaded, it goes on where it was', async (v) => {
  await v.teachSymbol('★', SHAPES.star, 5);
  await v.page.selectOption('#length', '300');
  await v.page.click('#go');
  await v.waitForStep(60);
  await v.page.click('#go');
  await v.page.waitForFunction(() => document.querySelector('#go').textContent === 'Continue');
  const step = await v.step(),
    own = await v.percent('#own-now'),
    heldOut = await v.percent('#held-out-now');
  await v.page.reload();
  await v.awake();
  assert.equal(await v.step(), step);
  assert.equal(await v.percent('#own-now'), own);
  assert.equal(await v.percent('#held-out-now'), heldOut);
  assert.equal(await v.page.locator('#gallery button').count(), 5);
  await v.page.click('#go');
  await v.waitForStep(step + 1);
  await v.trained();
  assert.equal(await v.step(), 300);
});

visit('the exported file reads in onnxruntime-web what the page reads', async (v) => {
  await v.teachSymbol('★', SHAPES.star, 5);
  await v.train(150);
  await v.draw(SHAPES.star, 0.05);
  await v.reads('★');
  const download = v.page.waitForEvent('download');
  await v.page.click('#export');
  const file = await download;
  assert.match(file.suggestedFilename(), /\.onnx$/);
  const seen = await v.page.evaluate(() =>
    Array.from(
      document
        .querySelector('#seen')
        .getContext('2d')
        .getImageData(0, 0, 28, 28)
        .data.filter((_, i) => i % 4 === 0),
    ),
  );
  const shown = await v.page.$$eval('#bars li', (bars) => bars.map((bar) => Number(bar.dataset.probability)));
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(readFileSync(await file.path()));
  const { logits } = await session.run({
    input: new ort.Tensor(
      'float32',
      Float32Array.from(seen, (grey) => grey / 255),
      [1, 1, 28, 28],
    ),
  });
  const powers = Array.from(logits.data.subarray(0, shown.length), Math.exp),
    sum = powers.reduce((a, b) => a + b);
  powers.forEach((power, i) =>
    assert.ok(Math.abs(power / sum - shown[i]) < 1e-3, `class ${i}: ${power / sum} there, ${shown[i]} here`),
  );
});

visit(
  'everything can be done from the keyboard',
  async (v) => {
    const { keyboard } = v.page;
    const press = async (keys) => {
      for (const key of keys.split(' ')) await keyboard.press(key);
    };
    await press('Tab');
    await v.page.waitForSelector('#pad:focus');
    await press(`Space ${'ArrowDown '.repeat(24)}Space`);
    await v.reads('1');
    await press('Escape Space ArrowLeft Backspace');
    await v.reads('?');
    await press('Tab Tab Tab Space ArrowRight Tab Tab');
    await v.page.waitForSelector('#symbol:focus');
    await keyboard.type('L');
    await press('Enter');
    await v.page.waitForSelector('#pad:focus');
    for (let i = 0; i < 2; i++)
      await press(`Space ${'Shift+ArrowDown '.repeat(5)}${'Shift+ArrowRight '.repeat(3)}Enter`);
    assert.equal(await v.page.locator('#gallery button').count(), 2);
    await v.page.locator('#length').focus();
    await press('ArrowUp Shift+Tab Enter');
    await v.trained();
    assert.equal(await v.step(), 150);
  },
  { viewport: { width: 360, height: 740 } },
);

visit('start fresh forgets, after asking', async (v) => {
  await v.teachSymbol('★', SHAPES.star, 1);
  await v.page.click('#fresh');
  await v.page.click('dialog button[value=cancel]');
  assert.equal(await v.page.locator('#gallery button').count(), 1);
  await v.page.click('#fresh');
  await Promise.all([v.page.waitForEvent('load'), v.page.click('dialog button[value=fresh]')]);
  await v.awake();
  assert.equal(await v.page.locator('#gallery button').count(), 0);
  assert.equal(await v.page.locator('#labels input').count(), 10);
});

visit('a network that does not load is one sentence', async (v) => {
  await v.page.route('**/digits.onnx', (route) => route.fulfill({ body: 'not a network' }));
  await v.page.reload();
  await v.awake();
  assert.match(await v.text('#trouble-words'), /^[A-Z].*model.*\.$/);
  assert.ok(await v.page.locator('#go').isDisabled());
});

visit('a checkpoint that does not load is one sentence, and the way out', async (v) => {
  await v.page.evaluate(async () => {
    const { CheckpointStore } = await import(new URL('../js/index.js', location.href).href);
    await (await CheckpointStore.open({ database: 'trainlet-demo' })).save('digits', new Uint8Array(100).fill(7));
  });
  await v.page.reload();
  await v.awake();
  assert.match(await v.text('#trouble-words'), /^[A-Z].*checkpoint.*\.$/);
  await v.page.click('#trouble-fresh');
  await Promise.all([v.page.waitForEvent('load'), v.page.click('dialog button[value=fresh]')]);
  await v.awake();
  assert.ok(await v.page.locator('#trouble').isHidden());
  await v.draw(SHAPES.one);
  await v.reads('1');
});

for (const [width, height, colorScheme] of [
  [1280, 900, 'light'],
  [1280, 900, 'dark'],
  [900, 900, 'light'],
  [360, 740, 'light'],
  [360, 740, 'dark'],
])
  visit(
    `no barrier for anyone, nothing cut off: ${width} px, ${colorScheme}`,
    async (v) => {
      assert.deepEqual(await v.barriers(), []);
      await v.teachSymbol('★', SHAPES.star, 5);
      await v.page.waitForSelector('.misread');
      assert.deepEqual(await v.barriers(), []);
      await v.train(150);
      await v.draw(SHAPES.star);
      await v.reads('★');
      assert.deepEqual(await v.barriers(), []);
      assert.ok(
        await v.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'the page scrolls sideways',
      );
      await v.page.screenshot({
        path: fileURLToPath(new URL(`demo-${width}-${colorScheme}.png`, SHOTS)),
        fullPage: true,
      });
    },
    { viewport: { width, height }, colorScheme, reducedMotion: 'reduce' },
  );
