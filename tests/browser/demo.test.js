// The demo's page of digits in headless Chromium: draw, teach, learn, forget, undo; closed and cut off from the network
// midway; silent on the console, and open to everyone.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { InferenceSession } from '../../js/index.js';
import { startServer } from '../../tools/serve-demo.js';
import { FIRST_LAYOUT, launch, SHAPES, Visitor } from './visitor.js';
import { loadOrt } from '../support/ort.js';

const ort = loadOrt();

let server, browser;
before(async () => {
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

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

visit('the page begins with a digit that it reads; others are read while they are drawn', async (v) => {
  await v.reads('2');
  assert.match(await v.text('#teach-status'), /Now yours/);
  assert.ok(await v.page.locator('#learn').isHidden(), 'no chart before the first lesson');
  await v.draw(SHAPES.seven);
  await v.reads('7');
  await v.page.click('#clear');
  await v.draw(SHAPES.one);
  await v.reads('1');

  await v.page.evaluate(() => {
    IDBObjectStore.prototype.put = IDBObjectStore.prototype.add = () => {
      throw new DOMException('the disk is full', 'QuotaExceededError');
    };
  });
  await v.page.click('#add');
  await v.page.waitForSelector('#trouble:not([hidden])');
  assert.match(await v.text('#trouble-words'), /full/);
  assert.ok(await v.page.isHidden('#pad-hint'), 'the drawing is on the pad still');
});

visit('without rehearsal digits are forgotten, which is refused; undo goes back', async (v, t) => {
  await v.teach('♥', SHAPES.heart, 4);
  await v.draw(SHAPES.heart);
  const asItCame = await v.shares();
  await v.page.uncheck('#rehearse');
  await v.learn();
  assert.match(await v.text('#verdict'), /^Refused: it would forget digits/);
  await v.showsShares(asItCame); // the old network is there still
  assert.equal(await v.page.locator('td.refused').count(), 3);
  assert.ok(await v.page.locator('#undo-lesson').isDisabled(), 'nothing was taken');

  await v.page.check('#rehearse');
  await v.learn();
  assert.match(await v.text('#verdict'), /^Learned/);
  const [was, rehearsed, unrehearsed] = await v.figures('digits');
  t.diagnostic(`unseen digits: ${was} %, ${rehearsed} % with rehearsal, ${unrehearsed} % without`);
  assert.ok(was >= 98 && rehearsed >= was - 1 && unrehearsed < was - 5, `${was}, ${rehearsed}, ${unrehearsed}`);
  await v.reads('♥');
  await v.page.click('#undo-lesson');
  await v.page.waitForFunction(() => /^Undone/.test(document.querySelector('#teach-status').textContent));
  await v.showsShares(asItCame);

  await v.page.click('#go');
  await v.waitForStep(20);
  await v.killWorkers();
  await v.page.click('#again');
  await v.learned();
  assert.match(await v.text('#verdict'), /^Learned/);
  assert.equal(await v.page.locator('#gallery button').count(), 4, 'what was drawn is kept');
  await v.page.click('#clear');
  await v.draw(SHAPES.heart);
  await v.reads('♥');
  await v.killWorkers();
  await v.draw(SHAPES.one);
  await v.page.click('#again');
  await v.reads('♥');
  assert.ok(await v.page.locator('#trouble').isHidden());
});

visit('a wrong teacher is seen at work, refused, and the old weights stay', async (v) => {
  await v.draw(SHAPES.seven);
  await v.reads('7');
  const old = hash(await v.exported());
  await v.page.click('#wrong');
  await v.page.waitForFunction(() => document.querySelector('#guess').textContent === '8', null, { timeout: 60_000 });
  await v.learned();
  await v.reads('7');
  assert.match(await v.text('#verdict'), /^Refused: it would forget digits, 98.* → /);
  assert.equal(hash(await v.exported()), old);
});

const CLASSES = [
  ['♥', SHAPES.heart],
  ['★', SHAPES.star],
  ['Zed', SHAPES.zed],
];

visit('three symbols of one’s own, and the exported file reads in onnxruntime-web what the page reads', async (v) => {
  for (const [name, shape] of CLASSES) await v.teach(name, shape, 4);
  await v.page.click('#go');
  await v.waitForStep(20);
  await v.page.click('#go');
  await v.page.waitForFunction(() => document.querySelector('#go').textContent === 'Go on');
  const [, stopped] = /^Stopped at step (\d+) of 200/.exec(await v.text('#pace')) ?? [];
  assert.ok(Number(stopped) >= 20, `stopped at step ${stopped}`);
  await v.learn();
  assert.equal(await v.text('#pace'), 'Learned for 200 steps.');
  for (const [name, shape] of CLASSES) {
    await v.page.click('#clear');
    await v.draw(shape, 0.05);
    await v.reads(name);
  }
  const pixels = await v.page.evaluate(() => {
    const { data } = document.querySelector('#seen').getContext('2d').getImageData(0, 0, 28, 28);
    return Array.from(data.filter((_, i) => i % 4 === 0));
  });
  const shown = await v.shares(),
    bytes = await v.exported();
  const named = await InferenceSession.create(bytes);
  assert.deepEqual(named.classNames, [...'0123456789', '♥', '★', 'Zed']);
  await named.release();
  const session = await ort.InferenceSession.create(bytes);
  const input = Float32Array.from(pixels, (grey) => grey / 255);
  const { scores } = await session.run({ input: new ort.Tensor('float32', input, [1, 1, 28, 28]) });
  const powers = Array.from(scores.data, Math.exp),
    sum = powers.reduce((a, b) => a + b);
  named.classNames.forEach((name, i) =>
    assert.ok(Math.abs(powers[i] / sum - shown[name]) < 1e-3, `${name}: ${powers[i] / sum} there, ${shown[name]} here`),
  );
});

visit('a tab closed while it learns goes on to the bit; a forgotten drawing leaves no trace', async (v) => {
  await v.teach('♥', SHAPES.heart, 4);
  await v.learn();
  const straight = hash(await v.exported());

  await v.page.click('#fresh');
  await Promise.all([v.page.waitForEvent('load'), v.page.click('#fresh-dialog button[value=fresh]')]);
  await v.awake();
  assert.equal(await v.page.locator('#gallery button').count(), 0);
  assert.equal(await v.page.locator('#labels input').count(), 11);
  await v.teach('♥', SHAPES.heart, 4);
  await v.page.click('#go');
  await v.waitForStep(60);
  await v.closeTab();
  await v.openTab();
  await v.learned();
  const from = Number(/went on at step (\d+)/.exec(await v.text('#teach-status'))?.[1]);
  assert.ok(from > 0 && from < 200, `it went on at step ${from}`);
  assert.equal(await v.page.locator('#gallery button').count(), 4);
  assert.equal(hash(await v.exported()), straight, 'as if it had not been closed');

  await v.choose('♥');
  await v.draw(SHAPES.star);
  await v.page.click('#add');
  await v.learn();
  assert.notEqual(hash(await v.exported()), straight);
  await v.page.locator('#gallery button').nth(4).click();
  await v.page.click('#forget');
  await v.page.click('#forget-dialog button[value=cancel]');
  assert.equal(await v.page.locator('#gallery button').count(), 5, 'it asks first');
  await v.page.click('#forget');
  await v.page.click('#forget-dialog button[value=forget]');
  await v.page.waitForFunction(() => /is deleted, and /.test(document.querySelector('#teach-status').textContent));
  await v.learned();
  assert.match(await v.text('#teach-status'), /is deleted, and the network learned again from how it came, without it/);
  assert.equal(hash(await v.exported()), straight, 'as if it had never been there');
  const kept = await v.page.evaluate(async () => {
    const { CheckpointStore, SampleStore } = await import(new URL('../js/index.js', location.href).href);
    const store = await CheckpointStore.open({ database: 'trainlet-digits' }),
      names = (await store.list()).map(({ name }) => name);
    return [
      names,
      (await store.versions('network')).length,
      (await (await SampleStore.open({ name: 'digits' })).list()).length,
    ];
  });
  assert.deepEqual(kept, [['network', 'notes'], 1, 4], 'no older network, no sample');
});

test('flight mode: all of it works without a server', { timeout: 180_000 }, async () => {
  const own = await startServer({ port: 0 });
  const asked = [];
  let lately = 0;
  const note = ({ request: { url } }) => {
    lately = performance.now();
    if (url !== '/sw.js') asked.push(url); // the browser itself looks for that
  };
  subscribe('http.server.request.start', note);
  const v = await Visitor.arrive(browser, own.url, { serviceWorkers: 'allow' });
  try {
    await v.page.waitForFunction(() => document.querySelector('#flight').textContent === 'Ready.', null, {
      timeout: 60_000,
    });
    const keepsPictures = async () => Boolean(await caches.match(new URL('/models/pictures.onnx', location.href)));
    assert.equal(await v.page.evaluate(keepsPictures), false, 'another page is kept once it is opened');
    await v.page.click('nav a[href="./pictures/"]');
    await v.page.waitForURL('**/pictures/');
    while (!(await v.page.evaluate(keepsPictures))) await v.page.waitForTimeout(200);
    while (performance.now() - lately < 1000) await v.page.waitForTimeout(200);
    await v.context.setOffline(true);
    const failed = [];
    asked.length = 0;
    v.page.on('requestfailed', (request) => failed.push(request.url()));
    await v.page.reload();
    assert.match(await v.page.title(), /pictures/);
    await v.page.click('nav a[href="../"]');
    await v.awake();
    await v.teach('♥', SHAPES.heart, 4);
    await v.learn();
    await v.draw(SHAPES.heart);
    await v.reads('♥');
    await v.page.click('#code');
    await v.page.waitForFunction(() => /session\.fit/.test(document.querySelector('#code-text').textContent));
    const code = await v.text('#code-text');
    assert.equal(code, readFileSync(new URL('../../web-demo/lesson.js', import.meta.url), 'utf8'));
    assert.ok(code.split('\n').length <= 20 && (await v.page.locator('#code-text .keyword').count()) > 10);
    const isLoaded = () => performance.getEntriesByType('resource').filter(({ name }) => /\/lesson\.js/.test(name));
    assert.ok((await v.page.evaluate(isLoaded)).length > 0, 'the page runs it');
    assert.deepEqual([failed, asked, v.complaints], [[], [], []], 'nothing was asked of the server, which was there');
    const devtools = await v.context.newCDPSession(v.page);
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
    assert.deepEqual(
      installabilityErrors.map(({ errorId }) => errorId),
      ['in-incognito'], // tests are incognito
    );
  } finally {
    unsubscribe('http.server.request.start', note);
    await v.leave();
    await own.close();
  }
});

visit(
  'on a phone the pad, the classes and the buttons are on one screen',
  async (v) => {
    for (const own of [1, 10]) {
      for (let i = 1; i < own; i++) await v.choose(String.fromCharCode(65 + i));
      assert.equal(await v.page.locator('#labels label').count(), 10 + own);
      await v.page.evaluate(() => scrollTo(0, 0));
      const boxes = await v.page.$$eval('#pad, #guess, #labels label, #slots, #teach', (all) =>
        all.map((one) => [one.id || one.title, one.getBoundingClientRect().toJSON()]),
      );
      for (const [name, { top, bottom, left, right, width }] of boxes) {
        assert.ok(top >= 0 && bottom <= 640 && left >= 0 && right <= 360, `${name} is at ${top} to ${bottom}`);
        assert.ok(width >= 24, `${name} is ${width} wide`);
      }
    }
    assert.ok(await v.page.locator('#more').isHidden(), 'ten are the most');
    await v.page.setViewportSize({ width: 740, height: 360 });
    await v.page.evaluate(() => scrollTo(0, 0));
    const [padBox, slots, teach] = await Promise.all(
      ['#pad', '#slots', '#teach'].map((part) => v.page.locator(part).boundingBox()),
    );
    assert.ok(padBox.height >= 200 && padBox.y + padBox.height <= 360, `the pad is ${padBox.height} high`);
    assert.ok(slots.x >= padBox.x + padBox.width && slots.y + slots.height <= 360, 'beside it the slots');
    assert.ok(teach.x >= padBox.x + padBox.width && teach.y + teach.height <= 360, 'and the button');
  },
  { viewport: { width: 360, height: 640 }, hasTouch: true },
);

visit('everything can be done from the keyboard', async (v) => {
  const { keyboard } = v.page;
  const press = async (keys) => {
    for (const key of keys.split(' ')) await keyboard.press(key);
  };
  await v.page.locator('nav a').last().focus();
  await press('Tab');
  await v.page.waitForSelector('#pad:focus');
  await press(`Space ${'ArrowDown '.repeat(24)}Space`);
  await v.reads('1');
  await press('Escape Space ArrowLeft Backspace');
  await v.reads('?');
  await press('Tab Tab Tab Tab Enter');
  await v.page.waitForSelector('#class-name:focus');
  await keyboard.type('L');
  await press('Enter');
  await v.page.waitForSelector('#pad:focus');
  const fills = (count) => v.page.waitForFunction((n) => document.querySelectorAll('#slots .full').length === n, count);
  for (let i = 1; i <= 5; i++) {
    await press(`Space ${'Shift+ArrowDown '.repeat(5)}${'Shift+ArrowRight '.repeat(3)}Enter`);
    if (i === 5) break;
    await fills(i);
    if (i !== 2) continue;
    await press('Tab Enter'); // takes the last drawing back onto the pad
    await fills(1);
    await v.page.waitForFunction(() => document.querySelector('#pad-hint').hidden);
    await press('Shift+Tab Enter');
    await fills(2);
  }
  await v.page.waitForFunction(() => /^Learned/.test(document.querySelector('#teach-status').textContent));
  assert.equal(await v.page.locator('#slots .full').count(), 5);
  await v.reads('L');
  await v.page.locator('#labels input:checked').focus();
  await press('Tab Tab');
  assert.equal(await v.page.evaluate(() => document.activeElement.id), 'another');
  await press('Enter');
  await v.page.waitForSelector('#pad:focus');
  await v.page.locator('#undo-lesson').focus();
  await press('Enter');
  await v.page.waitForFunction(() => /^Undone/.test(document.querySelector('#teach-status').textContent));
});

visit('a network that does not load is one sentence', async (v) => {
  await v.page.route('**/digits.compact', (route) => route.fulfill({ body: 'not a network' }));
  await v.page.reload();
  await v.awake();
  assert.match(await v.text('#trouble-words'), /^[A-Z].*compact.*\.$/);
  assert.ok(await v.page.locator('#go').isDisabled());
});

visit('a checkpoint that does not load is one sentence, and the way out', async (v) => {
  await v.page.evaluate(async () => {
    const { CheckpointStore } = await import(new URL('../js/index.js', location.href).href);
    await (await CheckpointStore.open({ database: 'trainlet-digits' })).save('network', new Uint8Array(100).fill(7));
  });
  await v.page.reload();
  await v.awake();
  assert.match(await v.text('#trouble-words'), /^[A-Z].*compact.*\.$/);
  await v.page.click('#trouble-fresh');
  await Promise.all([v.page.waitForEvent('load'), v.page.click('#fresh-dialog button[value=fresh]')]);
  await v.awake();
  assert.ok(await v.page.locator('#trouble').isHidden());
  await v.draw(SHAPES.one);
  await v.reads('1');
});

test('without scripts, or in an old browser, each page says so', async () => {
  for (const page of ['', 'pictures/', 'writer/']) {
    const url = new URL(page, server.url).href;
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(url);
    assert.match(await plain.locator('.notice').innerText(), /allow scripts/);
    await context.close();
    const old = await browser.newPage();
    await old.addInitScript(() => {
      WebAssembly.validate = () => false;
    });
    await old.goto(url);
    await old.waitForSelector('#trouble:not([hidden])');
    assert.match(await old.locator('#trouble-words').innerText(), /too old .* Safari 16\.4/);
    await old.close();
  }
});

visit(
  'no barrier for anyone, nothing cut off',
  async (v) => {
    await v.openToEveryone('demo-first');
    await v.teach('★', SHAPES.star, 4);
    await v.page.click('#go');
    await v.waitForStep(10);
    await v.learned();
    await v.page.waitForSelector('#gallery [aria-pressed=true]');
    await v.openToEveryone('demo-learned');
    for (const [opener, dialog] of [
      ['#more', '#class-dialog'],
      ['#code', '#code-dialog'],
    ]) {
      await v.page.click(opener);
      await v.openToEveryone(`demo-${dialog.slice(1)}`);
      await v.page.click(`${dialog} .close`);
    }
  },
  FIRST_LAYOUT,
);
