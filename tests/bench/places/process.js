// A process's resources, as Linux counts them: memory it holds, and time on a processor.

import { readdirSync, readFileSync } from 'node:fs';

/** NaN where there is no such process, or no Linux. */
export function residentBytes(pid) {
  try {
    return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
  } catch {
    return Number.NaN;
  }
}

/** Time on a processor of the thread that computes, the first or the one of this name: a step's time without what other
 * programs, or
 *  other threads of the process, take from it. */
export function processorMs(pid, name) {
  try {
    const threads = name
      ? readdirSync(`/proc/${pid}/task`).filter(
          (id) => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim() === name,
        )
      : [pid];
    return (
      threads.reduce(
        (sum, id) => sum + Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
        0,
      ) / 1e6
    );
  } catch {
    return Number.NaN;
  }
}
