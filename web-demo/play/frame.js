// The frame below a tutorial's block: its page gives it the code of the block and of those above, and is told when it
// runs and how high it is.

import { Output } from './output.js';

const $ = (id) => /** @type {any} */ (document.getElementById(id));
const output = new Output($('output'));
const page = window.parent;
/** @type {string[]} */
let blocks = [];
const tell = (message) => page.postMessage(message, location.origin);

addEventListener('message', ({ data, origin, source }) => {
  if (origin !== location.origin || source !== page) return; // another site's page has no say
  if (data.blocks) {
    blocks = data.blocks;
    $('opener').hidden = !/\bfiles\b/.test(blocks.join());
    $('run').disabled = false;
  }
  if (data.stop) stop();
});

function stop() {
  output.stop();
  $('stop').disabled = true;
}

$('run').onclick = () => {
  tell({ runs: true }); // other frames stop
  $('stop').disabled = false;
  output.start(blocks, { files: [...$('files').files], ended: ({ type }) => ($('stop').disabled = type !== 'ended') });
};
$('stop').onclick = stop;
new ResizeObserver(() => tell({ height: document.body.offsetHeight })).observe(document.body);
tell({ ready: true });
