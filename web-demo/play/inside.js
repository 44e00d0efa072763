// Runs in the worker: gives the visitor's code its few functions, and tells the page all that it prints, plots, shows
// and offers. Messages are gathered, so a loop that prints does not drown the page.

import { print, printAll } from './print.js';

const EVERY_MS = 40;
const LINES_MOST = 1000,
  POINTS_MOST = 50_000;
const LEVELS = ['log', 'info', 'debug', 'warn', 'error', 'table'];
/** @type {object[]} */
let waiting = [];
let timer,
  lastMs = 0;
const counts = { print: 0, plot: 0 };

function flush() {
  clearTimeout(timer);
  timer = undefined;
  lastMs = performance.now();
  if (waiting.length) postMessage(waiting);
  waiting = [];
}

/** @param {object} event */
function tell(event) {
  waiting.push(event);
  if (performance.now() - lastMs > EVERY_MS)
    flush(); // in a loop that never waits too
  else timer ??= setTimeout(flush, EVERY_MS);
}

/** @param {string} level @param {string} text */
function say(level, text) {
  if (counts.print++ < LINES_MOST) tell({ type: 'print', level, text });
  else if (counts.print === LINES_MOST + 1)
    tell({ type: 'print', level: 'warn', text: `more than ${LINES_MOST} lines; the others are left out` });
}

for (const level of LEVELS) {
  const original = console[level].bind(console);
  console[level] = (...values) => {
    say(level, printAll(values));
    original(...values);
  };
}

/** Lines of one chart: the numbers that one call names. @param {Record<string, number>} values */
function plot(values) {
  const bad = Object.entries(values ?? {}).find(([, value]) => typeof value !== 'number');
  if (typeof values !== 'object' || !values || bad)
    throw new TypeError(
      `plot({ loss }) wants numbers by their names, ${bad ? `${bad[0]} is ${print(bad[1])}` : print(values)} came`,
    );
  if (counts.plot++ < POINTS_MOST) tell({ type: 'plot', values: { ...values } });
}

/**
 * A picture: RGBA as of a canvas, or shades of grey from 0 to 1.
 * @param {{ width: number, height: number, data: ArrayLike<number> }} picture
 * @param {string} [caption]
 */
function show({ width, height, data }, caption = '') {
  const grey = data.length === width * height;
  const pixels = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < pixels.length; i++)
    pixels[i] = !grey ? data[i] : i % 4 === 3 ? 255 : 255 * data[Math.floor(i / 4)];
  if (counts.print++ < LINES_MOST) tell({ type: 'show', width, height, pixels, caption });
}

/** Offers a file. @param {string} name @param {BlobPart} content */
function download(name, content) {
  tell({ type: 'download', name: String(name), blob: new Blob([content]) });
}

/** @type {Map<number, (strokes: number[][][]) => void>} */
const asked = new Map();

/**
 * Asks the visitor to draw; a stroke is a list of [x, y, milliseconds], x and y from 0 to 1.
 * @param {string} name @param {number} count strokes
 * @param {(i: number) => number[][]} [example] makes one for who cannot draw
 * @returns {Promise<number[][][]>}
 */
function draw(name, count = 1, example = undefined) {
  const id = asked.size;
  const examples = example && Array.from({ length: count }, (_, i) => example(i));
  tell({ type: 'draw', id, name: String(name), count, examples });
  return new Promise((resolve) => {
    asked.set(id, resolve);
  });
}
addEventListener('message', ({ data }) => asked.get(data.answer)?.(data.strokes));

/** The place in the visitor's code that an error comes from. @param {any} error @param {string} address */
function lineOf(error, address) {
  const stack = String(error?.stack ?? '');
  const at = stack.indexOf(`${address}:`);
  if (at >= 0) return Number.parseInt(stack.slice(at + address.length + 1), 10);
  return error?.fileName === address ? error.lineNumber : undefined;
}

/** @param {any} error @param {number} [line] */
function fail(error, line) {
  const text = error instanceof Error ? print(error) : `thrown: ${print(error)}`;
  tell({ type: 'failed', text, code: typeof error?.code === 'string' ? error.code : undefined, line });
  flush();
}

addEventListener(
  'message',
  async ({ data: { code, base, files } }) => {
    const address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
    const startBlock = (block) => tell({ type: 'block', block });
    Object.assign(globalThis, { plot, show, draw, download, files, base, startBlock });
    addEventListener('error', (event) => {
      event.preventDefault();
      fail(event.error ?? event.message, event.filename === address ? event.lineno : lineOf(event.error, address));
    });
    addEventListener('unhandledrejection', (event) => {
      event.preventDefault();
      fail(event.reason, lineOf(event.reason, address));
    });
    const since = performance.now();
    try {
      await import(address);
      tell({ type: 'ended', ms: performance.now() - since });
      flush();
    } catch (error) {
      fail(error, lineOf(error, address));
    }
  },
  { once: true },
);
postMessage([{ type: 'ready' }]);
