// What a process has used, as Linux counts it: memory it holds, and time on a processor.

import { readdirSync, readFileSync } from 'node:fs';

/** NaN where there is no such process, or no Linux. */
export function residentBytes(pid) {
  try {
    return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
  } catch {
    return Number.NaN;
  }
}

/** Time on a processor of all its threads: what is left of a step's time when others want the machine too. */
export function processorMs(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}
