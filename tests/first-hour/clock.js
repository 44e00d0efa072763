// Preloaded by node --import: at the end of a program, writes its seconds and those of the processor into a file.

import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  const seconds = { wall: performance.now() / 1000, processor: (user + system) / 1e6 };
  writeFileSync(/** @type {string} */ (process.env.CLOCK), JSON.stringify(seconds));
});
