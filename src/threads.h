/* Threads: one pool for the process (or the wasm memory); fork-join over chunks that only the problem determines.
 *
 *   threads_run(6, …)    caller   0 ── 1 ── 5 ┐
 *                        helper 1 2 ───── 3 ──┤ joined
 *                        helper 2 4 ──────────┘
 *
 * Each thread begins with neighbours, which its cache may hold from the region before; a thread that has none left
 * takes the last of another's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { THREADS_MAX = 16 };

/* Does one chunk. `thread` is 0 … threads_count() - 1 and selects the scratch memory of that thread. */
typedef void ThreadsTask(void *context, size_t chunk, int thread);

/* Runs task for every chunk 0 … chunks - 1 and returns when all are done. The chunks may depend only on the problem and
 * not on threads_count(), so that every number of threads gives the same bits. A call from within a task runs its
 * chunks in the calling thread. */
void threads_run(size_t chunks, ThreadsTask *task, void *context);

/* Asks if a thread should give up its computation. */
typedef struct ThreadsStop {
  bool (*asked)(void *context); /* NULL: never */
  void *context;
} ThreadsStop;

/* From here on, regions of the calling thread ask after each chunk and skip the remaining chunks once they are told to
 * stop, so that what these would have written is missing. NULL: they do not ask. */
void threads_watch(const ThreadsStop *stop);
/* Asks; once it is true, it is until the next threads_watch. A long chunk may ask as well, and end before its end. */
bool threads_stopped(void);

/* Does items from … to - 1, which no other call does. */
typedef void ThreadsRange(void *context, size_t from, size_t to);

/* Runs task over all of 0 … items - 1 in ranges of at least `grain` items (the last may be shorter); long ones begin at
 * multiples of 16. Few items are a single range, done by the caller: choose a grain that takes about ten µs. The ranges
 * depend only on items and grain. */
void threads_split(size_t items, size_t grain, ThreadsRange *task, void *context);

/* The grain of items that are `numbers` numbers each, a number taking about a nanosecond. */
static inline size_t threads_grain(size_t numbers) {
  return numbers < 16 * 1024 ? 16 * 1024 / (numbers ? numbers : 1) : 1;
}

/* The number of threads that run tasks, including the caller's; 1 without a pool. After the first call the number is
 * fixed, because memory is planned by it. */
int threads_count(void);

/* Makes the pool one of `count` threads, without starting any; false when the count is fixed already. `may_sleep`: the
 * calling thread may wait for a helper by sleeping, as a page's main thread may not. */
bool threads_begin(int count, bool may_sleep);

/* The endless loop of helper `thread` (1 … count - 1): it takes chunks, and sleeps while there are none. */
void threads_help(int thread);

/* A helper died, perhaps in the middle of a chunk: the engine traps instead of waiting for it. */
void threads_break(void);
