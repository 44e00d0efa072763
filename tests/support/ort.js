/** onnxruntime-web, beside which our numbers are checked: with one thread, and silent but for errors. */

import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(import.meta.url);

/** @param {string} name of the package @param {string} [file] beside its main file */
function load(name, file) {
  const ort = require(file ? path.join(path.dirname(require.resolve(name)), file) : name);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  return ort;
}

/** 1.19.2. */
export const loadOrt = () => load('onnxruntime-web');
/** 1.19.2, the last release that trains. */
export const loadOrtTraining = () => load('onnxruntime-web', 'ort.training.wasm.min.js');
/** 1.30. */
export const loadNewestOrt = () => load('onnxruntime-web-1.30', 'ort.wasm.min.js');
