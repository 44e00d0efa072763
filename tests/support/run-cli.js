/** The command line as a process of its own. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../js/cli/index.js', import.meta.url));

/** @param {string[]} args @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
export const run = (...args) => runIn('.', ...args);

/** In another folder. @param {string} cwd @param {string[]} args @returns {ReturnType<typeof run>} */
export const runIn = (cwd, ...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], { cwd }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
