// Runs blocks of code in a worker of their own, which a stop ends with all that it has started.

import { MODULES, moduleOf } from './imports.js';

const SITE = new URL('../', import.meta.url);
/** The worker's first module is a blob, so this page's policy holds for the visitor's code: no other origin. */
const FIRST = `import ${JSON.stringify(new URL('inside.js', import.meta.url).href)};`;
const SHAPE =
  /Failed to resolve module specifier|bare specifier|specifier .* was a bare|Error resolving module specifier/;
const IMPORTS = "imports stand at the top of the code, and name 'trainlet', 'trainlet/layers' or 'trainlet/models'";

/**
 * @param {string[]} blocks each may use what those before it declare
 * @param {(event: any) => void} hear told what inside.js posts, and at the end `ended`, `failed` or `stopped`
 * @param {File[]} [files] the global `files` of the code
 * @returns {{ stop: () => void }} `stop` is the end of the worker, finished or not
 */
export function run(blocks, hear, files = []) {
  /** @type {Worker | undefined} */
  let worker;
  let done = false;
  const end = (event) => {
    done = true;
    hear(event);
  };
  const stop = () => {
    worker?.terminate();
    worker = undefined;
    if (!done) end({ type: 'stopped' });
  };
  try {
    const { code, place } = moduleOf(blocks, SITE);
    const first = URL.createObjectURL(new Blob([FIRST], { type: 'text/javascript' }));
    const fail = async ({ text, line, code: errorCode }) => {
      const at = line ?? (/^SyntaxError/.test(text) ? await syntaxLine(code) : undefined);
      const hint = SHAPE.test(text) ? ` (${IMPORTS})` : '';
      if (!done) worker?.terminate(); // nobody waits for what it has started
      end({ type: 'failed', text: named(text) + hint, code: errorCode, ...(at && place(at)) });
    };
    worker = new Worker(first, { type: 'module' });
    worker.onerror = (event) => {
      event.preventDefault();
      if (!done) end({ type: 'failed', text: event.message || 'the worker did not start: is the network there?' });
    };
    worker.onmessage = ({ data }) => {
      for (const event of data) {
        if (event.type === 'ready') {
          URL.revokeObjectURL(first);
          worker?.postMessage({ code, base: SITE.href, files });
        } else if (event.type === 'failed') fail(event);
        else if (event.type === 'ended') end(event);
        else if (event.type === 'draw')
          hear({ ...event, answer: (strokes) => worker?.postMessage({ answer: event.id, strokes }) });
        else hear(event);
      }
    };
  } catch (error) {
    end({ type: 'failed', text: String(error.message) });
  }
  return { stop };
}

/** The text with the names of modules for their addresses. @param {string} text */
const named = (text) =>
  Object.entries(MODULES).reduce((words, [name, file]) => words.replaceAll(new URL(file, SITE).href, name), text);

/**
 * The line of a syntax error, which Chromium tells only of a page's own modules. The code cannot run here: the module
 * that it imports first is nowhere.
 * @param {string} code
 * @returns {Promise<number | undefined>}
 */
function syntaxLine(code) {
  const address = URL.createObjectURL(new Blob([`import 'blob:nowhere';${code}`], { type: 'text/javascript' }));
  const script = document.createElement('script');
  const over = new AbortController();
  return new Promise((resolve) => {
    const hear = (event) => {
      if (event.filename !== address) return;
      event.preventDefault();
      resolve(event.lineno);
    };
    const done = () => resolve(undefined);
    addEventListener('error', hear, { signal: over.signal });
    Object.assign(script, { type: 'module', src: address, onerror: done, onload: done });
    document.head.append(script);
  }).finally(() => {
    over.abort();
    script.remove();
    URL.revokeObjectURL(address);
  });
}
