import * as trainlet from './node_modules/trainlet/dist/index.js';
import * as layers from './node_modules/trainlet/dist/layers.js';
import { report, train } from './train.js';

const augment = 'Worker' in globalThis; // Chromium starts no worker from a shared worker
globalThis.onconnect = async ({ ports: [port] }) =>
  port.postMessage(await report(train(trainlet, { layers, augment })));
