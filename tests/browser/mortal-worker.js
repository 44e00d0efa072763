// The package's worker, which closes itself or throws when it is told to.
import '../../js/worker-browser.js';

addEventListener('message', ({ data }) => {
  if (data === 'close') close();
  if (data === 'throw') throw new Error('out of luck');
});
