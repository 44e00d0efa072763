/** The command line as a process of its own. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../js/cli/index.js', import.meta.url));

/** @param {string[]} args @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
export const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
