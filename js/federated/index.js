/** A SuperNode of Flower in a page, a worker or Node: trains with others, without giving away its data. */

export { epsilonOf } from './epsilon.js';
export { parametersFile } from './parameters-file.js';
export { SuperNode } from './super-node.js';
