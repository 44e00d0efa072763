// The demo's page of the writer in headless Chromium and Firefox: it learns a text that it never saw, in time and
// without forgetting much, and phrases of one's own; base and adapter go on side by side; nothing that ends is lost.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startServer } from '../../../tools/serve-demo.js';
import { startFirefox } from '../firefox.js';
import { openRepository } from '../repository.js';
import { OPTIONS, Visitor } from '../visitor.js';

const FEW_CHARACTERS = 4096;
const PAGE = new URL('../../../web-demo/writer/', import.meta.url);
const read = (name) => readFileSync(new URL(name, PAGE), 'utf8');
const TEXT = read('preacher.txt').slice(0, FEW_CHARACTERS);
/** Eight repetitions among other lines. */
const PHRASE = 'My grandmother Ottilie keeps blue bees on the balcony.';
const WITH_PHRASE = TEXT.split('\n')
  .slice(0, 16)
  .flatMap((line, i) => (i % 2 ? [line, PHRASE] : [line]))
  .join('\n');
/**
 * Shares of the bits a character before: of the person's held-out lines, at most; of text that the base knows, at most.
 */
const [LEARNED, FORGOTTEN] = [0.9, 1.02];
const LESSON_MS = 30_000;
const SWAP_MS = 50;
const ADAPTER_BYTES = 200_000;

/** A visitor to this page: it is awake once the model is there. */
class Writer extends Visitor {
  async awake() {
    this.page.setDefaultTimeout(120_000); // on a machine that has much to do beside
    await this.page.waitForSelector('main:not([aria-busy])');
  }
  async starts(text = TEXT) {
    await this.page.fill('#text', text);
    await this.page.click('#go');
  }
  async learned() {
    await this.page.waitForFunction(() => /^Learned/.test(document.querySelector('#pace').textContent));
  }
  /** Stops early and keeps what was learned. */
  async stops() {
    await this.page.waitForFunction(() => document.querySelector('#progress').value > 0.1);
    await this.page.click('#stop');
    await this.page.waitForFunction(() => /^Stopped/.test(document.querySelector('#pace').textContent));
  }
  /** Bits a character of the base and now. */
  async bits(row) {
    return (await this.page.locator(`tr[data-row=${row}] td`).allInnerTexts()).map(Number.parseFloat);
  }
  /** Words by which each writer goes on, once all have. */
  async suggestions(text) {
    await this.page.fill('#draft', ''); // nothing is left of what was there
    await this.page.waitForFunction(() => !document.querySelector('[data-who=base] .more').textContent);
    await this.page.fill('#draft', text);
    await this.page.waitForFunction(() => document.querySelector('#spoken').textContent);
    return await this.page.$$eval('.side:not([hidden])', (sides) =>
      Object.fromEntries(sides.map((side) => [side.dataset.who, side.querySelector('.more').textContent])),
    );
  }
  pace(pattern) {
    return this.page.waitForFunction((p) => new RegExp(p).test(document.querySelector('#pace').textContent), pattern);
  }
}

let server, browser;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await chromium.launch(OPTIONS);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A visit that must end without a complaint. */
const visit = (name, steps, options) =>
  test(name, { timeout: 240_000 }, async (t) => {
    const writer = await Writer.arrive(browser, new URL('writer/', server.url).href, options);
    try {
      await steps(writer, t);
      assert.deepEqual(writer.complaints, []);
    } finally {
      await writer.leave();
    }
  });

visit('4 KB of a text that it never saw are learned in half a minute, and little is forgotten', async (v, t) => {
  await v.page.fill('#text', 'Too short.');
  assert.equal(await v.page.isDisabled('#go'), true);
  assert.match(await v.text('#pace'), /^590 more characters/);
  const begun = performance.now();
  await v.starts();
  assert.match(await v.text('#pace'), /\b\d s\b/, 'seconds are counted from the first one');
  await v.pace('^Step \\d+ of \\d+, \\d+ s; about \\d+ s more$');
  await v.learned();
  const ms = performance.now() - begun;
  const [own, base] = [await v.bits('own'), await v.bits('base')];
  t.diagnostic(
    `${(ms / 1000).toFixed(1)} s, bits a character ${own.join(' → ')}, of what the base knows ${base.join(' → ')}`,
  );
  assert.ok(own[1] <= LEARNED * own[0], `${own[0]} → ${own[1]}`);
  assert.ok(base[1] <= FORGOTTEN * base[0], `${base[0]} → ${base[1]}`);
  assert.ok(ms < LESSON_MS, `${ms} ms`);
});

visit('a phrase of one’s own comes back after eight repetitions, where the base does not know it', async (v) => {
  assert.equal(WITH_PHRASE.split(PHRASE).length, 9);
  await v.starts(WITH_PHRASE);
  await v.learned();
  const { base, me } = await v.suggestions('My grandmother');
  assert.match(me, /keeps blue bees on the balcony/);
  assert.doesNotMatch(base, /bees|balcony/);
});

visit(
  'base and adapter stand side by side in each layout, and a press takes the words, by keyboard alone',
  async (v) => {
    const { press } = v.page.keyboard;
    assert.match(await v.page.inputValue('#draft'), /\w/, 'a beginning is there on arrival');
    const { base } = await v.suggestions('The best way to');
    assert.match(base, /^ \w+ /, 'words');
    assert.match(await v.text('[data-who=me]'), /press Learn/);
    await v.starts();
    await v.page.waitForFunction(() => document.querySelector('[data-who=me] .more').textContent);
    for (const [width, height] of [
      [360, 640],
      [740, 360],
    ]) {
      await v.page.setViewportSize({ width, height });
      await v.page.evaluate(() => scrollTo(0, 0));
      const [left, right, stop] = await v.page.$$eval('[data-who=base], [data-who=me], #stop', (all) =>
        all.map((element) => element.getBoundingClientRect().toJSON()),
      );
      assert.ok(left.top === right.top && left.right <= right.left, 'side by side');
      assert.ok(Math.max(right.bottom, stop.bottom) <= height, `${width}×${height}: on one screen`);
    }
    await v.page.focus('#draft');
    for (const key of ['Tab', 'Enter']) await press.call(v.page.keyboard, key); // the base's words
    const taken = await v.page.inputValue('#draft');
    assert.ok(taken.startsWith('The best way to ') && taken.split(' ').length > 5, taken);
    assert.equal(await v.page.evaluate(() => document.activeElement?.id), 'draft');
    await v.page.click('#code');
    await v.page.waitForFunction(() => /session\.fit/.test(document.querySelector('#code-text').textContent));
    const code = await v.text('#code-text');
    assert.equal(code, read('lesson.js'));
    assert.ok(code.split('\n').length <= 20 && (await v.page.locator('#code-text .keyword').count()) > 10);
    await press.call(v.page.keyboard, 'Escape');
    await v.openToEveryone('writer-learning');
  },
);

visit('an engine that is ended, a reload, a stop: text and lesson are kept; forgotten, nothing is left', async (v) => {
  await v.starts();
  await v.page.waitForFunction(() => document.querySelector('#progress').value > 0.05);
  await v.killWorkers();
  await v.page.waitForSelector('#again:not([hidden])');
  assert.match(await v.text('#trouble-words'), /Your text is kept/);
  assert.equal(await v.page.inputValue('#text'), TEXT);
  await v.page.click('#again');
  await v.pace('^Step');
  await v.page.reload();
  await v.awake();
  await v.stops();
  const [base, now] = await v.bits('own');
  assert.ok(now < base, `${base} → ${now}`);
  await v.page.reload();
  await v.awake();
  assert.equal(await v.text('#pace'), 'What it learned before is here again.');
  assert.deepEqual(await v.bits('own'), [base, now]);
  await v.page.click('#forget');
  await v.page.click('#forget-dialog [value=cancel]');
  assert.equal(await v.text('#go'), 'Learn more', 'it is kept');
  await v.page.click('#forget');
  await v.page.click('#forget-dialog [value=forget]');
  await v.page.waitForSelector('#forget', { state: 'hidden' });
  await v.page.click('#clear');
  assert.equal(await v.page.inputValue('#text'), '');
  await v.page.click('#undo');
  assert.equal(await v.page.inputValue('#text'), TEXT);
  await v.page.reload();
  await v.awake();
  await v.page.click('#go');
  await v.page.waitForFunction(() => /\d/.test(document.querySelector('tr[data-row=own] td:last-child').textContent));
  assert.equal((await v.text('tr[data-row=own] td:last-child')).slice(0, 4), base.toFixed(2), 'it begins as the base');
  await v.page.click('#stop');
  await v.pace('^Stopped');
});

visit('an exported adapter is another’s in another tab, and is swapped in a blink', async (v, t) => {
  await v.starts();
  await v.stops();
  const { me } = await v.suggestions('I saw that');
  await v.page.$$eval('details', (all) => all.map((details) => details.setAttribute('open', '')));
  const [file] = await Promise.all([v.page.waitForEvent('download'), v.page.click('#save-adapter')]);
  const buffer = readFileSync(await file.path());
  assert.ok(buffer.length <= ADAPTER_BYTES, `${buffer.length} bytes`);
  await v.page.evaluate(() => localStorage.clear());
  await v.page.evaluate(() => indexedDB.deleteDatabase('trainlet-writer'));
  await v.page.reload();
  await v.awake();
  await v.page.setInputFiles('#open-adapter', { name: 'adapter.onnx_adapter', mimeType: '', buffer });
  await v.page.waitForSelector('[data-who=other]:not([hidden]) .more:not(:empty)');
  const { base, other } = await v.suggestions('I saw that');
  assert.equal(other, me);
  assert.notEqual(base, me);
  const times = await v.page.evaluate(swaps);
  t.diagnostic(`${times.map((ms) => ms.toFixed(0)).join(', ')} ms from the base's last word to the other's first`);
  const [, , third] = times.sort((a, b) => a - b); // the others may have waited for other programs
  assert.ok(third < SWAP_MS, `${times} ms`);
});

/** Times from the base's last word to the first one of the other adapter. */
async function swaps() {
  const [base, other] = ['base', 'other'].map((who) => document.querySelector(`[data-who=${who}] .more`));
  const until = async (isSo) => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve));
  };
  const times = [];
  for (let i = 0; i < 10; i++) {
    let last = 0;
    const watching = new MutationObserver(() => {
      last = performance.now();
    });
    await until(() => document.querySelector('#spoken').textContent);
    watching.observe(base, { childList: true });
    document.querySelector('#draft').dispatchEvent(new Event('input'));
    await until(() => !document.querySelector('#spoken').textContent);
    const before = other.textContent;
    await until(() => other.textContent !== before);
    times.push(performance.now() - last);
    watching.disconnect();
  }
  return times;
}

visit(
  'in flight mode it learns, too',
  async (v) => {
    await v.page.waitForFunction(() => document.querySelector('#flight').textContent);
    await v.context.setOffline(true);
    const failed = [];
    v.page.on('requestfailed', (request) => failed.push(request.url()));
    await v.page.reload();
    await v.awake();
    await v.page.click('#author');
    await v.page.click('#go');
    await v.page.waitForFunction(() => document.querySelector('#progress').value > 0.05);
    assert.match((await v.suggestions('I saw that')).base, /\w/);
    assert.deepEqual(failed, []);
  },
  { serviceWorkers: 'allow' },
);

visit('a model of one’s own, with its tokenizer, takes the place of the page’s', async (v) => {
  const files = ['base.onnx', 'tokenizer.json'].map((name) => fileURLToPath(new URL(name, PAGE)));
  await v.page.setInputFiles('#open-model', files);
  await v.page.waitForFunction(() => document.querySelector('#model-name').textContent === 'In use: base.onnx');
  assert.match((await v.suggestions('The best way to')).base, /\w/);
  await v.starts();
  await v.stops();
  const [before, now] = await v.bits('own');
  assert.ok(now < before);
});

visit('what is no adapter, and no model, is told', async (v) => {
  await v.page.setInputFiles('#open-adapter', { name: 'a.onnx_adapter', mimeType: '', buffer: Buffer.from('none') });
  await v.page.waitForSelector('#trouble:not([hidden])');
  await v.page.click('#trouble-close');
  await v.page.setInputFiles('#open-model', { name: 'm.onnx', mimeType: '', buffer: Buffer.from('none') });
  await v.page.waitForSelector('#trouble:not([hidden])');
  assert.equal(await v.text('#trouble-words'), 'Choose the .onnx file and its tokenizer.json together.');
});

/** A page in Firefox with the demo in a frame; it posts results. */
const BY_ITSELF = `
  const frame = document.body.appendChild(document.createElement('iframe'));
  frame.src = './web-demo/writer/index.html';
  const until = async (found) => { while (!found()) await new Promise((resolve) => setTimeout(resolve, 100)); };
  const find = (selector) => frame.contentDocument?.querySelector(selector);
  await until(() => find('main:not([aria-busy])'));
  find('#text').value = ${JSON.stringify(TEXT)};
  find('#text').dispatchEvent(new Event('input'));
  const begun = performance.now();
  find('#go').click();
  await until(() => /^Learned/.test(find('#pace').textContent) || !find('#trouble').hidden);
  const bits = (row) => [...frame.contentDocument.querySelectorAll('tr[data-row=' + row + '] td')]\
.map((td) => parseFloat(td.textContent));
  const answer = { ms: performance.now() - begun, own: bits('own'), base: bits('base'), \
trouble: find('#trouble-words').textContent };
  await fetch('/talk/answer', { method: 'POST', body: JSON.stringify(answer) });`;

test('in Firefox it learns as well', { timeout: 240_000 }, async (t) => {
  let tell;
  const answer = new Promise((resolve) => {
    tell = resolve;
  });
  const site = await openRepository({
    script: BY_ITSELF,
    talk: async (request, response) => {
      tell(await new Response(request).json());
      response.end();
    },
  });
  const firefox = startFirefox(site.url('isolated'));
  try {
    const ended = firefox.ended.then((why) => Promise.reject(new Error(why)));
    const { ms, own, base, trouble } = await Promise.race([answer, ended]);
    t.diagnostic(
      `${(ms / 1000).toFixed(1)} s, bits a character ${own.join(' → ')}, of what the base knows ${base.join(' → ')}`,
    );
    assert.equal(trouble, '');
    assert.ok(own[1] <= LEARNED * own[0] && base[1] <= FORGOTTEN * base[0], `${own} ${base}`);
    assert.ok(ms < LESSON_MS, `${ms} ms`);
  } finally {
    await firefox.close();
    await site.close();
  }
});
