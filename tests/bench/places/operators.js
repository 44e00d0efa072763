// Runs the benchmark of operators in this process, or in a page of a browser, which posts its figures.

import { execFileSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { chromium } from 'playwright-core';
import { findChromium, findFirefox } from '../../../tools/programs.mjs';
import { startFirefox } from '../../browser/firefox.js';
import { openRepository } from '../../browser/repository.js';
import { openTorch } from '../contenders/torch_gradients.js';
import { measureGradient } from '../gradient_measure.js';
import { figuresOf, librariesOf, measure, SIZES } from '../operator_measure.js';
import { ROWS } from '../operator_rows.js';

/** Each function is compiled as it will stay, when it is first called: what is slow at first is no row's fault. */
export const COMPILED_AT_ONCE = ['--no-liftoff', '--wasm-lazy-compilation', '--no-wasm-dynamic-tiering'];

/** Ms that this process has had of the processor: others on the machine do not count. */
export function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function librariesHere() {
  COMPILED_AT_ONCE.forEach((flag) => {
    setFlagsFromString(flag);
  });
  if (Number(process.versions.node.split('.')[0]) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd');
  const peer = async (path) => {
    const module = await import(new URL(`../node_modules/${path}`, import.meta.url).href);
    const ort = module.default ?? module;
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = 'error';
    return ort;
  };
  return librariesOf(await import('../../../js/index.js'), await peer('onnxruntime-web/dist/ort.wasm.min.mjs'), {
    training: await peer('onnxruntime-web-training/dist/ort.training.wasm.min.js'),
    clock: processorMs,
  });
}

async function* measuredHere(names, rounds, gradients) {
  const torch = gradients ? openTorch() : undefined;
  const opened = { ...(await librariesHere()), torch };
  const of = gradients ? measureGradient : measure;
  try {
    await of(opened, ROWS[names[0]], 'first cache', rounds); // until the JavaScript around is compiled, too
    for (const name of names)
      for (const place of Object.keys(SIZES)) yield await figuresOf(of, opened, ROWS[name], name, place, rounds);
  } finally {
    torch?.close();
  }
}

/** The page's posts, in order, until its end. */
function posts() {
  const waiting = [];
  let wake = () => {};
  const hear = (path, body) => {
    waiting.push([path, body]);
    wake();
  };
  async function* figures() {
    for (;;) {
      while (!waiting.length)
        await new Promise((resolve) => {
          wake = resolve;
        });
      const [path, body] = waiting.shift();
      if (path === '/talk/end' && body.error) throw new Error(body.error);
      if (path === '/talk/end') return;
      yield { ...body, ratio: body.ratio ?? Number.NaN };
    }
  }
  return { hear, figures };
}

const BROWSERS = {
  chromium: async (url) => {
    const browser = await chromium.launch({
      executablePath: findChromium(),
      args: ['--no-sandbox', '--disable-gpu', `--js-flags=${COMPILED_AT_ONCE.join(' ')}`],
    });
    await (await browser.newPage()).goto(url);
    return { ended: new Promise(() => {}), close: () => browser.close() };
  },
  firefox: async (url) => startFirefox(url),
};
const VERSIONS = {
  chromium: async () => {
    const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
    const version = `Chromium ${browser.version()}`;
    await browser.close();
    return version;
  },
  firefox: async () => execFileSync(findFirefox(), ['--version'], { encoding: 'utf8' }).trim().replace('Mozilla ', ''),
};

async function* measuredInPage(browser, names, rounds, gradients) {
  const { hear, figures } = posts();
  const site = await openRepository({
    script: `import { measureInPage } from './tests/bench/operator_page.js';
      await measureInPage(${JSON.stringify(names)}, ${rounds}, ${gradients});`,
    talk: async (request, response) => {
      hear(request.url, await new Response(request).json());
      response.end();
    },
  });
  const opened = await BROWSERS[browser](site.url('isolated'));
  opened.ended.then((error) => hear('/talk/end', { error }));
  try {
    yield* figures();
  } finally {
    await opened.close();
    await site.close();
  }
}

/**
 * A place by name: what it is called, by what it counts time, and its figures, of forward or of backward passes, as
 * they come. @param {string} [page] @param {boolean} [gradients]
 */
export async function openOperators(page, gradients = false) {
  const measured = (names, rounds) =>
    page ? measuredInPage(page, names, rounds, gradients) : measuredHere(names, rounds, gradients);
  if (!page) return { name: `Node ${process.versions.node}`, clock: 'processor time', measured };
  if (!BROWSERS[page]) throw new RangeError(`The page '${page}' is none of ${Object.keys(BROWSERS).join(', ')}.`);
  return { name: await VERSIONS[page](), clock: 'time', measured };
}
