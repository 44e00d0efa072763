// One file, because a service worker has no import().
import * as trainlet from './node_modules/trainlet/dist/trainlet.min.js';
import { report, train } from './train.js';

addEventListener('message', (event) => {
  const answer = async () => event.source.postMessage(await report(train(trainlet, { augment: false })));
  event.waitUntil(answer());
});
