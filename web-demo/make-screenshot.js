// Takes README's picture of the demo, docs/demo.webp: three classes of pictures that the page has just learned.
//
//   node web-demo/make-screenshot.js

import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { findChromium } from '../tools/programs.mjs';
import { startServer } from '../tools/serve-demo.js';

const TO = fileURLToPath(new URL('../docs/demo.webp', import.meta.url));
const [WIDTH, HEIGHT] = [1200, 860];

/** The page learns its examples on arrival, and reads one. @param {import('playwright-core').Page} page */
async function useDemo(page) {
  await page.waitForFunction(() => /^Learned/.test(document.querySelector('#pace')?.textContent ?? ''));
  await page.waitForSelector('#shares li');
  await page.waitForTimeout(1000); // until nothing moves
}

const server = await startServer();
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
try {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT }, colorScheme: 'light' });
  page.setDefaultTimeout(120_000);
  await page.goto(new URL('pictures/', server.url).href);
  await useDemo(page);
  const { size } = await sharp(
    await page.screenshot({ clip: { x: 0, y: 0, width: WIDTH, height: HEIGHT }, fullPage: true }),
  )
    .resize(1000)
    .webp({ quality: 65, effort: 6 })
    .toFile(TO);
  console.log(`docs/demo.webp: ${size} bytes`);
} finally {
  await browser.close();
  await server.close();
}
