// The page of a model of one's own in headless Chromium: examples, files that it cannot read, training on pictures and
// on a table.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { InferenceSession } from '../../js/index.js';
import { startServer } from '../../tools/serve-demo.js';
import { FIRST_LAYOUT, launch, Visitor } from './visitor.js';

const golden = (name) => fileURLToPath(new URL(`../golden/data/${name}`, import.meta.url));

/** A visitor to this page. */
class Trier extends Visitor {
  async awake() {
    this.page.setDefaultTimeout(60_000); // on a machine that has much to do beside
    await this.page.waitForSelector('main:not([aria-busy])');
  }
  /** Waits until a step of the model was tried. */
  async tried(file) {
    await this.page.waitForFunction(
      (name) =>
        !document.querySelector('#plan').hidden && document.querySelector('#model-facts').innerText.includes(name),
      file,
    );
  }
  /** Trains to the end; gives what the page says of it. */
  async trains() {
    await this.page.waitForFunction(() => document.querySelector('#model-status').hidden);
    await this.page.click('#go');
    await this.page.waitForSelector('#keep:not([hidden])');
    assert.ok(await this.page.isHidden('#train-words'));
    return await this.text('#train-status');
  }
  /** Runs the page's program beside the pictures of a folder; gives the loss that it prints. */
  async lossOfCode(folder) {
    const [code, address] = [await this.page.locator('#code').textContent(), new URL('same.js', this.url).href];
    const body = code.replace("'trainlet'", "'../js/index.js'").replace("'trainlet/models'", "'../models/index.js'");
    await this.page.route(address, (route) => route.fulfill({ contentType: 'text/javascript', body }));
    await this.page.route('**/try/two/**', (route) =>
      route.fulfill({ path: path.join(folder, new URL(route.request().url()).pathname.slice('/try/'.length)) }),
    );
    const printed = this.page.waitForEvent('console', (message) => /loss/.test(message.text()));
    await this.page.evaluate((file) => import(file), address);
    const { loss } = await (await printed).args()[0].jsonValue();
    return Number(loss.toPrecision(4));
  }
  /** The page's sentence for files that it refuses. */
  async refuses(...files) {
    const before = await this.text('#model-facts');
    const words = await this.said('#model-words', () => this.page.setInputFiles('#model-files', files));
    assert.equal(await this.text('#model-facts'), before, 'the model before is kept');
    return words;
  }
  /** The sentence that comes after an act, not one that stood there before. */
  async said(place, act) {
    await this.page.locator(place).evaluate((element) => {
      element.hidden = true;
    });
    await act();
    await this.page.waitForSelector(`${place}:not([hidden])`);
    return await this.text(place);
  }
}

/** In two/ a dozen blue and a dozen red pictures and a file that is none, in one/ pictures of one class alone. */
async function folderOfPictures() {
  const folder = mkdtempSync(path.join(tmpdir(), 'try-'));
  const write = async (place, count, r, b) => {
    mkdirSync(path.join(folder, place), { recursive: true });
    for (let i = 0; i < count; i++) {
      const background = { r: r + 5 * i, g: 8 * i, b: b - 5 * i };
      const file = path.join(folder, place, `${i}.png`);
      await sharp({ create: { width: 32, height: 32, channels: 3, background } })
        .png()
        .toFile(file);
    }
  };
  await write('two/blue', 12, 20, 250);
  await write('two/red', 12, 190, 80);
  await write('one/red', 3, 190, 80);
  writeFileSync(path.join(folder, 'two/red/words.png'), 'no picture');
  return folder;
}

let server, browser, pictures;
before(async () => {
  pictures = await folderOfPictures();
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(pictures, { recursive: true, force: true });
});

test('a visit: models, wrong files, a table and pictures, trained and exported', { timeout: 180_000 }, async (t) => {
  const v = await Trier.arrive(browser, new URL('try/', server.url).href, FIRST_LAYOUT);
  const { page } = v;
  try {
    await page.click('#example-pictures');
    await v.tried('pictures.onnx');
    const facts = await v.text('#model-facts');
    assert.match(facts, /image: float32 \(N, 3, 96, 96\).*58 of 58 parameters would train, 236,624/s);
    assert.match(
      await v.text('#plan'),
      /^A step of 32 examples moves 236,624 numbers and needs \d+ MB\. It takes [\d.]+ m?s/,
    );
    const torn = { name: 'torn.onnx', mimeType: '', buffer: readFileSync(golden('w1.onnx')).subarray(0, 3000) };
    assert.match(await v.refuses(torn), /^'torn\.onnx' cannot be read: /);
    const torch = { name: 'net.pt', mimeType: '', buffer: Buffer.from('PK\x03\x04') };
    assert.match(await v.refuses(torch), /torch\.onnx\.export/);
    assert.match(await v.refuses(golden('external/one_file.onnx')), /keeps its weights in 'one_file\.onnx\.data'/);

    const chosen = await v.said('#data-words', () => page.setInputFiles('#data-folder', path.join(pictures, 'one')));
    assert.match(chosen, /^3 pictures of one class alone, the folder 'red'/);
    await page.setInputFiles('#data-folder', path.join(pictures, 'two'));
    await page.waitForSelector('#train-card:not([hidden])');
    assert.match(await v.text('#data-shown'), /24 pictures of 2 classes, 'blue' and 'red'.*1 file cannot be read/s);
    t.diagnostic(await v.trains());
    assert.match(await v.text('.score'), /^4 of 4 examples that it did not learn read right, 100 %/);
    assert.equal(await v.lossOfCode(pictures), Number(/loss ([\d.e-]+)\.$/.exec(await v.text('.score'))?.[1]));
    const exported = await InferenceSession.create(await v.exported());
    assert.deepEqual(exported.classNames, ['blue', 'red']);
    await exported.release();

    await page.setInputFiles('#model-files', golden('external/one_file.onnx.data'));
    await v.tried('one_file.onnx');
    assert.match(await v.text('#data-words'), /^Pictures fill one input of four dims/);

    await page.click('#example-small');
    await v.tried('small.onnx');
    const empty = { name: 'empty.csv', mimeType: 'text/csv', buffer: Buffer.from('') };
    assert.match(await v.said('#data-words', () => page.setInputFiles('#data-files', empty)), /empty\.csv/);
    await page.click('#example-data');
    await page.waitForSelector('#train-card:not([hidden])');
    t.diagnostic(await v.trains());
    const right = Number(/^(\d+) of 30 /.exec(await v.text('.score'))?.[1]);
    assert.ok(right >= 24, await v.text('.score'));
    assert.equal(await page.locator('#results table').first().locator('tbody tr').count(), 3);
    assert.match(await page.getAttribute('#play', 'href'), /^\.\.\/play\/#code=/);
    assert.match(await v.text('#code'), /readTable\('flowers\.csv', \{ target: 'kind'/);
    for (const part of await page.locator('details').all()) await part.locator('summary').click();
    await v.openToEveryone('try');

    await page.fill('#epochs', '9999');
    await page.click('#go');
    const inEpoch2 = () => /^Epoch [2-9]/.test(document.querySelector('#train-status').textContent);
    await page.waitForFunction(inEpoch2);
    await page.click('#example-data'); // other data while it trains: it can train with these
    await v.tried('small.onnx');
    await page.waitForSelector('#go:enabled');
    await page.fill('#epochs', '9999');
    await page.click('#go');
    await page.waitForFunction(inEpoch2);
    for (const worker of page.workers()) await worker.evaluate(() => self.close()).catch(() => {}); // it is gone
    await page.waitForSelector('#train-words:not([hidden])');
    assert.match(await v.text('#train-words'), /worker died .* Model and data are kept: train again\.$/);
    await page.fill('#epochs', '2');
    await v.trains();
    assert.deepEqual(v.complaints, []);
  } finally {
    await v.leave();
  }
});
