// The page of a model of one's own in headless Chromium: an example, files that it cannot read, files in parts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
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
  /** The page's sentence for files that it refuses. */
  async refuses(...files) {
    const before = await this.text('#model-facts');
    await this.page.setInputFiles('#model-files', files);
    await this.page.waitForSelector('#model-words:not([hidden])');
    assert.equal(await this.text('#model-facts'), before, 'the model before is kept');
    return await this.text('#model-words');
  }
}

let server, browser;
before(async () => {
  server = await startServer({ port: 0 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test('a visit: models are described and tried, what is none is told with a way on', { timeout: 120_000 }, async () => {
  const v = await Trier.arrive(browser, new URL('try/', server.url).href, FIRST_LAYOUT);
  try {
    await v.page.click('#example-pictures');
    await v.tried('pictures.onnx');
    assert.match(
      await v.text('#model-facts'),
      /image: float32 \(N, 3, 96, 96\).*58 of 58 parameters would train, 236,624/s,
    );
    assert.match(
      await v.text('#plan'),
      /^A step of 32 examples moves 236,624 numbers and needs \d+ MB\. It takes [\d.]+ m?s/,
    );

    const torn = { name: 'torn.onnx', mimeType: '', buffer: readFileSync(golden('w1.onnx')).subarray(0, 3000) };
    assert.match(await v.refuses(torn), /^'torn\.onnx' cannot be read: /);
    assert.match(
      await v.refuses({ name: 'net.pt', mimeType: '', buffer: Buffer.from('PK\x03\x04') }),
      /torch\.onnx\.export/,
    );
    assert.match(await v.refuses(golden('external/one_file.onnx')), /keeps its weights in 'one_file\.onnx\.data'/);
    await v.page.setInputFiles('#model-files', golden('external/one_file.onnx.data'));
    await v.tried('one_file.onnx');
    assert.ok(await v.page.isHidden('#model-words'));
    await v.openToEveryone('try');
    assert.deepEqual(v.complaints, []);
  } finally {
    await v.leave();
  }
});
