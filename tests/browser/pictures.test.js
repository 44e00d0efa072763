// The demo's page of pictures in headless Chromium: examples on arrival, files and the camera, train, read, test,
// forget, undo, reopen, export.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { InferenceSession } from '../../js/index.js';
import { startServer } from '../../tools/serve-demo.js';
import { EXAMPLES } from '../../web-demo/pictures/examples.js';
import { randomFrom, SIDE, viewOf } from '../../web-demo/pictures/views.js';
import { FIRST_LAYOUT, OPTIONS, Visitor } from './visitor.js';
import { loadOrt } from '../support/ort.js';

const ort = loadOrt();
const EACH = 20;
const CAMERA = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** A visitor to this page: it is awake once it has learned its examples, or what it kept. */
class Viewer extends Visitor {
  async awake() {
    this.page.setDefaultTimeout(120_000); // on a machine that has much to do beside
    await this.trained();
  }
  card(i) {
    return this.page.locator('.class').nth(i);
  }
  pictures() {
    return this.page.locator('.thumbs button').count();
  }
  async trains() {
    await this.page.click('#go');
    await this.trained();
  }
  async trained() {
    await this.page.waitForFunction(
      () =>
        /^Learned/.test(document.querySelector('#pace').textContent) && !document.querySelector('#lesson[aria-busy]'),
    );
  }
  async show(file) {
    await this.page.setInputFiles('#try', file);
  }
  async reads(name) {
    await this.page.waitForFunction((n) => document.querySelector('#answer').textContent === n, name);
  }
}

/** Number of pictures whose backbone outputs the page keeps. */
async function kept() {
  const { FeatureStore } = await import('/js/index.js');
  const store = await FeatureStore.open({ name: 'pictures' });
  return (await store.total()).examples;
}

let server, browser, glyphs;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await chromium.launch({ ...OPTIONS, args: [...OPTIONS.args, ...CAMERA] });
  const sprite = sharp(fileURLToPath(new URL('../../web-demo/pictures/examples.png', import.meta.url))).ensureAlpha();
  const pixels = await sprite.raw().toBuffer();
  const bytes = 4 * SIDE * SIDE;
  glyphs = EXAMPLES.map((_, i) => ({ kind: 'emoji', pixels: pixels.subarray(i * bytes, (i + 1) * bytes) }));
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A visit that must end without a complaint. */
const visit = (name, steps, options) =>
  test(name, { timeout: 180_000 }, async (t) => {
    const viewer = await Viewer.arrive(browser, new URL('pictures/', server.url).href, options);
    try {
      await steps(viewer, t);
      assert.deepEqual(viewer.complaints, []);
    } finally {
      await viewer.leave();
    }
  });

/** A PNG file of a view of an example. */
async function fileOf(which, seed) {
  const raw = { width: SIDE, height: SIDE, channels: 4 };
  const buffer = await sharp(viewOf(glyphs[which], randomFrom(seed), []), { raw })
    .png()
    .toBuffer();
  return { name: `${EXAMPLES[which]} ${seed}.png`, mimeType: 'image/png', buffer };
}

const filesOf = (which, count, from) =>
  Promise.all(Array.from({ length: count }, (_, i) => fileOf(which, 10_000 * (which + 1) + from + i)));

/** Names the classes, gives them files, and waits until all are there. */
async function teach(v, each) {
  while ((await v.page.locator('.class').count()) < EXAMPLES.length) await v.page.click('#add-class');
  for (const [i, name] of EXAMPLES.entries()) {
    await v.card(i).locator('input[type=text]').fill(name);
    await v.card(i).locator('input[type=text]').press('Enter');
    await v
      .card(i)
      .locator('input[type=file]')
      .setInputFiles(await filesOf(i, each, 0));
    await v.page.waitForFunction((n) => document.querySelectorAll('.thumbs button').length === n, each * (i + 1));
  }
}

visit('files of three classes are learned, others of them are read, and what is misread is told', async (v, t) => {
  assert.equal(await v.page.isDisabled('#go'), true);
  await teach(v, EACH);
  await v.trains();
  t.diagnostic(`${await v.text('#pace')} ${await v.text('#score')}`);
  const [all, before, right] = (await v.text('#score')).match(/\d+/g).map(Number);
  assert.equal(all, (EXAMPLES.length * EACH) / 5, 'every fifth is tested');
  assert.ok(right >= 0.75 * all, `${right} of ${all}`);
  const wereRight = (await v.page.locator('#proofs li').allInnerTexts()).filter((text) =>
    EXAMPLES.some((name) => text.includes(`before: ${name}\n${name} ✓`)),
  );
  assert.equal(await v.page.locator('#proofs .wrong').count(), all - right);
  assert.equal(await v.page.locator('#proofs .right').count(), right);
  assert.ok(before >= wereRight.length, `${before} right before it, ${wereRight.length} before and after`);
  await v.page.click('#findings summary');
  const table = await v.page.locator('#confusion tbody td').allInnerTexts();
  assert.equal(
    table.reduce((sum, cell) => sum + Number(cell), 0),
    all,
  );
  assert.equal(
    table.filter((_, i) => i % 4 === 0).reduce((sum, cell) => sum + Number(cell), 0),
    right,
  );
  let read = 0;
  for (let i = 0; i < 12; i++) {
    await v.page.evaluate(() => {
      document.querySelector('#answer').textContent = '';
    });
    await v.show(await fileOf(i % 3, 77_000 + i));
    await v.page.waitForFunction(() => document.querySelector('#answer').textContent);
    read += (await v.text('#answer')) === EXAMPLES[i % 3];
  }
  t.diagnostic(`${read} of 12 new files are read right`);
  assert.ok(read >= 9, `${read} of 12`);
});

visit('a label that is wrong is among the misread, and gone when it is forgotten', async (v) => {
  await teach(v, 9);
  await v
    .card(0)
    .locator('input[type=file]')
    .setInputFiles(await filesOf(1, 1, 500)); // the tenth, which is tested
  await v.page.waitForFunction(() => document.querySelectorAll('.thumbs button').length === 28);
  await v.trains();
  const misread = () =>
    v.page.$$eval(
      '#proofs li',
      (all) => all.filter(({ title, innerText }) => /cherries/.test(title) && /penguin ✗/.test(innerText)).length,
    );
  const learned = (count) =>
    v.page.waitForFunction((n) => document.querySelector('#pace').textContent.startsWith(`Learned ${n}`), count);
  assert.equal(await misread(), 1);
  await v.card(0).locator('.thumbs button').nth(9).click();
  await v.page.waitForFunction(() => document.querySelectorAll('#proofs .right, #proofs .wrong').length === 3);
  assert.equal(await misread(), 0);
  assert.equal(await v.pictures(), 27);
  await v.page.click('#undo');
  await v.page.waitForFunction(() => document.querySelectorAll('#proofs .right, #proofs .wrong').length === 4);
  assert.equal(await misread(), 1);
  await v.trained();
  await v.card(0).locator('.thumbs button').nth(9).click();
  await v.page.waitForFunction(() => document.querySelectorAll('#proofs .right, #proofs .wrong').length === 3);
  await learned(24);
  assert.equal(await v.pictures(), 27);
  assert.equal(await v.page.evaluate(kept), 24, 'features of those that are learned');
  await v.card(0).locator('.thumbs button').nth(0).click();
  await learned(23);
  assert.equal(await v.page.evaluate(kept), 24, 'one is gone, and one that was tested is learned');

  await v.trained();
  await v.killWorkers();
  await v.page.click('#example');
  await v.page.click('#again');
  await learned(23);
  await v.trained();
  assert.ok(await v.page.locator('#trouble').isHidden());
  await v.page.reload();
  await learned(23);
  assert.equal(await v.pictures(), 26, 'what was added is kept');

  await v.card(2).getByText('Remove').click();
  await v.page.waitForFunction(() => document.querySelectorAll('.class').length === 2);
  await v.page.click('#undo');
  await v.page.waitForFunction(() => document.querySelectorAll('.thumbs button').length === 26);
  assert.equal(await v.card(2).locator('input[type=text]').inputValue(), EXAMPLES[2]);
});

visit('examples are learned on arrival, nothing is none of these, and the file has the names', async (v) => {
  await v.reads(EXAMPLES[0]);
  assert.equal(await v.page.locator('#proofs .right').count(), 9);
  assert.match(await v.text('#score'), /^Of 9 .* read 0 right before the lesson, and 9 after it/);
  await v.page.locator('nav a').last().focus();
  const { keyboard } = v.page;
  for (const key of ['Tab', 'Tab']) await keyboard.press(key);
  assert.equal(await v.page.evaluate(() => document.activeElement.id), 'example');
  for (const name of [...EXAMPLES.slice(1), 'None of these']) {
    await keyboard.press('Enter');
    await v.reads(name);
  }
  assert.match(await v.text('#sure'), /below \d\d %/);
  await v.page.click('#code');
  await v.page.waitForSelector('#code-text .keyword');
  assert.equal(
    await v.text('#code-text'),
    readFileSync(new URL('../../web-demo/pictures/lesson.js', import.meta.url), 'utf8'),
  );
  await v.page.click('#code-dialog .close');
  const [download] = await Promise.all([v.page.waitForEvent('download'), v.page.click('#export')]);
  const bytes = readFileSync(await download.path());
  const session = await InferenceSession.create(new Uint8Array(bytes), { worker: false });
  assert.deepEqual(session.classNames, EXAMPLES);
  const image = new Float32Array(3 * SIDE * SIDE).map((_, i) => Math.sin(i));
  const ours = await session.run({ image: { type: 'float32', data: image, dims: [1, 3, SIDE, SIDE] } });
  const theirs = await (await ort.InferenceSession.create(bytes)).run({
    image: new ort.Tensor('float32', image, [1, 3, SIDE, SIDE]),
  });
  theirs.scores.data.forEach((score, i) => {
    assert.ok(Math.abs(score - ours.scores.data[i]) < 1e-3, `${score} in ONNX Runtime, ${ours.scores.data[i]} here`);
  });
  await session.release();
});

visit('the camera fills a class, and is read while it is on', async (v) => {
  assert.equal(await v.page.locator('#shown canvas').count(), 1);
  await v.page.click('#camera');
  await v.page.waitForSelector('.class [aria-label^="Take"]');
  assert.equal(await v.page.locator('#shown canvas').count(), 0, 'the old picture goes');
  assert.match(await v.page.locator('#video').evaluate((video) => getComputedStyle(video).transform), /^matrix\(-1/);
  for (let i = 1; i <= 3; i++) {
    await v.card(0).getByText('Take').press('Enter');
    await v.page.waitForFunction((n) => document.querySelectorAll('.thumbs button').length === n, i);
  }
  await v
    .card(1)
    .locator('input[type=file]')
    .setInputFiles(await filesOf(1, 3, 0));
  await v.page.waitForFunction(() => document.querySelectorAll('.thumbs button').length === 6);
  await v.trains();
  await v.reads('A');
  await v.page.click('#camera');
  assert.equal(await v.text('#camera'), 'Use the camera');
});

visit('what is not a picture, and a name that is there already, are told', async (v) => {
  await v.show({ name: 'words.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
  await v.page.waitForSelector('#trouble:not([hidden])');
  await v.page.click('#trouble-close');
  await v.card(0).locator('input[type=text]').fill('B');
  await v.card(0).locator('input[type=text]').press('Enter');
  await v.page.waitForSelector('#trouble:not([hidden])');
  assert.equal(await v.text('#trouble-words'), "There is a class 'B' already.");
  assert.equal(await v.card(0).locator('input[type=text]').inputValue(), 'A');
});

visit(
  'open to everyone, nothing sticks out',
  async (v) => {
    await v.openToEveryone('pictures-first');
    await teach(v, 5);
    await v.trains();
    await v.page.click('#findings summary');
    await v.openToEveryone('pictures-learned');
    await v.page.setViewportSize({ width: 740, height: 360 });
    const [scene, camera] = await Promise.all(['.scene', '#camera'].map((part) => v.page.locator(part).boundingBox()));
    assert.ok(scene.height >= 200 && camera.x >= scene.x + scene.width, 'the picture is beside what is pressed');
  },
  FIRST_LAYOUT,
);
