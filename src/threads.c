/* Threads without a pool: the caller does all chunks, in order. */
#include "threads.h"

void threads_run(size_t chunks, ThreadsTask *task, void *context) {
  for (size_t i = 0; i < chunks; i++) task(context, i, 0);
}

int threads_count(void) { return 1; }
