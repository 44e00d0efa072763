// Contenders in Node: a process each.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { processorMs, residentBytes } from './process.js';

const program = fileURLToPath(new URL('../contender.js', import.meta.url));
const relaxed = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];

export async function openNode({ threads }) {
  return {
    name: `Node ${process.versions.node}`,
    start: async (contender, row) => {
      const child = fork(program, { execArgv: relaxed, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
      let complaints = '';
      child.stderr.on('data', (text) => {
        complaints = `${complaints}${text}`.slice(-2000);
      });
      const ask = (message) =>
        new Promise((resolve, reject) => {
          const died = (code) =>
            reject(new Error(`the process ended with ${code}: ${complaints.trim().split('\n').at(-1)}`));
          child.once('exit', died);
          child.once('message', (data) => {
            child.off('exit', died);
            if (data.error) reject(Object.assign(new Error(data.error), { stack: data.stack }));
            else resolve(data);
          });
          child.send(message);
        });
      const blank = residentBytes(child.pid);
      return {
        open: async () => {
          const opened = await ask({ open: { contender, row, threads } });
          return { ...opened, residentBytes: residentBytes(child.pid) - blank };
        },
        processorMs: async () => processorMs(child.pid),
        measure: (steps) => ask({ measure: steps }),
        close: async () => {
          child.kill();
        },
      };
    },
    close: async () => {},
  };
}
