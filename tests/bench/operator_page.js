// The benchmark of operators in a page: opens the libraries, measures the rows it is told, and posts each as it comes.

import { measureGradient } from './gradient_measure.js';
import { figuresOf, librariesOf, measure, SIZES } from './operator_measure.js';
import { ROWS } from './operator_rows.js';

async function libraries() {
  const peer = async (path) => {
    const ort = await import(new URL(`node_modules/${path}`, import.meta.url).href);
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = 'error';
    return ort;
  };
  return librariesOf(await import('../../js/index.js'), await peer('onnxruntime-web/dist/ort.wasm.min.mjs'), {
    training: await peer('onnxruntime-web-training/dist/ort.training.wasm.min.mjs'),
  });
}

const tell = (path, body) => fetch(`/talk/${path}`, { method: 'POST', body: JSON.stringify(body) });

/** NaN and infinity are no JSON. */
const sendable = (figures) =>
  Object.fromEntries(
    Object.entries(figures).filter(([, value]) => typeof value !== 'number' || Number.isFinite(value)),
  );

/** @param {string[]} names @param {number} rounds @param {boolean} gradients of backward passes */
export async function measureInPage(names, rounds, gradients) {
  const of = gradients ? measureGradient : measure;
  try {
    const opened = await libraries();
    await of(opened, ROWS[names[0]], 'first cache', rounds); // until the JavaScript around is compiled, too
    for (const name of names)
      for (const place of Object.keys(SIZES))
        await tell('figures', sendable(await figuresOf(of, opened, ROWS[name], name, place, rounds)));
    await tell('end', {});
  } catch (error) {
    await tell('end', { error: `${error.message}\n${error.stack}` });
  }
}
