import * as trainlet from './node_modules/trainlet/dist/index.js';
import * as layers from './node_modules/trainlet/dist/layers.js';
import { report, train } from './train.js';

document.title = await report(train(trainlet, { layers }));
