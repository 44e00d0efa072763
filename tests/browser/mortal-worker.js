// The package's worker, which closes itself, throws or hears nothing for 15 s when it is told to.
import '../../js/engine/worker-browser.js';

addEventListener('message', ({ data }) => {
  if (data === 'close') close();
  if (data === 'throw') throw new Error('out of luck');
  if (data === 'busy') for (const end = Date.now() + 15_000; Date.now() < end; );
});
