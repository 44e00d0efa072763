// The tasks: each has a folder with ours.js and theirs.js (or .html, or folders that Vite builds), of the same data,
// network and epochs.

/**
 * @typedef {object} Task
 * @property {string} title
 * @property {'js' | 'html' | 'vite'} kind
 * @property {number} wanted the least of what the program prints: an accuracy, or r2
 * @property {string[]} backends of TensorFlow.js that train it; its wasm backend, where it can
 * @property {boolean} [ml5] true: ml5 has a program, too
 * @property {string} [note]
 */

/** @type {Record<string, Task>} */
export const TASKS = {
  csv: { title: 'the price of a house from a CSV file', kind: 'js', wanted: 0.95, backends: ['cpu', 'wasm'] },
  gesture: {
    title: 'a gesture of 6 sensor channels, conv1d',
    kind: 'js',
    wanted: 0.95,
    backends: ['cpu'],
    note: 'its wasm backend has no gradient of convolutions',
  },
  sentiment: {
    title: 'sentiment of a review, embedding and GRU',
    kind: 'js',
    wanted: 0.95,
    backends: ['cpu'],
    note: 'its wasm backend has no gradient of embeddings',
  },
  pictures: {
    title: 'three classes of pictures in a Vite page: saved, reloaded, gone on, run by onnxruntime-web',
    kind: 'vite',
    wanted: 0.9,
    backends: ['default'],
    ml5: true,
    note:
      "it writes no ONNX, so the last five of Trainlet's lines have no counterpart; ml5 saves by downloads, cannot " +
      'go on with what it has loaded, and learns the same layers by SGD, 20 epochs in one visit',
  },
  cdn: {
    title: 'one `<script type="module">`, the library on another origin',
    kind: 'html',
    wanted: 0.9,
    backends: ['default'],
    note: 'the backend that it takes by itself in a headless Chromium',
  },
};
