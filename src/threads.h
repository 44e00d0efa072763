/* Threads: one pool for the process (or the wasm module's worker); fork-join over chunks that the problem fixes. */
#pragma once
#include <stddef.h>

/* Does one chunk. thread is 0 … threads_count() - 1 and picks that thread's scratch. */
typedef void ThreadsTask(void *context, size_t chunk, int thread);

/* Runs task for every chunk 0 … chunks - 1 and returns when all are done. The chunks must depend on the problem alone and not on
 * threads_count(), so that every thread count gives the same bits. A call from inside a task runs its chunks where it is. */
void threads_run(size_t chunks, ThreadsTask *task, void *context);

/* Threads that run tasks, the caller's among them; fixed before anything is planned. */
int threads_count(void);
