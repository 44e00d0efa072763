/** Tells the program that node was started with from an imported module, which trains only when it is asked. */

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @param {string} url import.meta.url */
export const isMain = (url) => Boolean(process.argv[1]) && realpathSync(process.argv[1]) === fileURLToPath(url);
