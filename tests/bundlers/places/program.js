// Node, Bun or Deno.
import * as trainlet from 'trainlet';
import * as layers from 'trainlet/layers';
import { report, train } from './train.js';

console.log(await report(train(trainlet, { layers })));
