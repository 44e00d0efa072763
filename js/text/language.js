/** All that is there for language models, as one file to load. */

export { generate } from './generate.js';
export { packText } from './pack-text.js';
