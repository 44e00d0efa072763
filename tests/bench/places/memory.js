// What a process holds in memory, as Linux counts it.

import { readFileSync } from 'node:fs';

/** NaN where there is no such process, or no Linux. */
export function residentBytes(pid) {
  try {
    return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
  } catch {
    return Number.NaN;
  }
}
