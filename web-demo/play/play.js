// The playground's page: chooses an example or takes the code of the link, runs it, stops it, and keeps it in the link.

import { makeEditor } from './editor.js';
import { codeOf, hashOf } from './link.js';
import { Output } from './output.js';
import { PRESETS } from './presets.js';

const KEEP_AFTER_MS = 400;
const $ = (id) => /** @type {any} */ (document.getElementById(id));
const output = new Output($('output'));
const editor = makeEditor($('editor'), { label: 'Code', onChange: changed, onRun: start });
let keeping;
/** The hash that this page has set itself. */
let ownHash = '';
/** Counts what was chosen: of two in a row the last one counts, in whichever order they arrive. */
let chosen = 0;

function start() {
  editor.mark();
  $('stop').disabled = false;
  output.start([editor.text], {
    files: [...$('files').files],
    ended: ({ type, line }) => {
      $('stop').disabled = type !== 'ended'; // sessions may go on
      if (type === 'failed') editor.mark(line);
    },
  });
}

/** The code is kept in the link as it is typed. */
function changed() {
  clearTimeout(keeping);
  keeping = setTimeout(keep, KEEP_AFTER_MS);
}

async function keep() {
  clearTimeout(keeping);
  ownHash = await hashOf(editor.text);
  history.replaceState(null, '', ownHash);
}

/** Puts code into the editor; it runs when it is told to. @param {string} code */
function put(code) {
  output.stop();
  output.clear();
  editor.text = code;
  clearTimeout(keeping);
}

/** @param {string} name */
async function codeOfPreset(name) {
  const response = await fetch(new URL(`presets/${name}.js`, import.meta.url)).catch(() => undefined);
  if (!response?.ok) throw new Error('The example could not be loaded. Is the network there?');
  return await response.text();
}

/** @param {string} name */
async function putPreset(name) {
  const mine = ++chosen;
  const code = await codeOfPreset(name).catch((error) => (mine === chosen ? Promise.reject(error) : ''));
  if (mine !== chosen) return;
  put(code);
  $('preset').value = name;
  $('note').textContent = PRESETS[name].says;
}

/** Follows the address: the code of somebody's link, an example's name, or nothing, which is the first example. */
async function follow() {
  const mine = ++chosen;
  const code = await codeOf(location.hash);
  if (mine !== chosen) return;
  if (code === undefined) {
    const name = location.hash.slice(1);
    return await putPreset(Object.hasOwn(PRESETS, name) ? name : Object.keys(PRESETS)[0]);
  }
  put(code);
  $('preset').value = '';
  $('note').textContent = 'This code came with the link. Read it, then press Run.';
}

const told = (doing) => doing.catch((error) => ($('note').textContent = error.message));

$('preset').append(new Option('your own', '', false, false));
for (const [name, { title }] of Object.entries(PRESETS)) $('preset').append(new Option(title, name));
$('preset').options[0].disabled = true;
$('preset').onchange = ({ target }) => {
  history.replaceState(null, '', `#${target.value}`);
  told(putPreset(target.value));
};
$('run').onclick = start;
$('stop').onclick = () => {
  output.stop();
  $('stop').disabled = true;
};
$('link').onclick = async () => {
  await keep();
  await navigator.clipboard.writeText(location.href).then(
    () => ($('note').textContent = 'The link with this code is in the clipboard.'),
    () => ($('note').textContent = 'The link with this code is in the address bar.'),
  );
};
$('files').onchange = ({ target }) => {
  const names = [...target.files].map(({ name }) => name);
  $('note').textContent = names.length ? `files: ${names.join(', ')}` : '';
};
addEventListener('hashchange', () => location.hash !== ownHash && told(follow()));
await told(follow());
