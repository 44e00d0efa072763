/* Threads: each begins with chunks of its own and then helps the others; a thread that finds none spins briefly, then
 * sleeps. */
#include "threads.h"

#include <stdatomic.h>
#include <stdint.h>

#include "size.h"
#include "futex.h"
#include "trainlet.h"

enum {
  BROKEN = 1 << 30, /* in `unfinished`: a helper died and will never finish its chunk */
  RANGES_MAX =
      32, /* few enough that the bookkeeping costs next to nothing, many enough to balance threads of unequal speed */
  LINE_ITEMS =
      16, /* a cache line of floats: long ranges begin at a cache line, so that no two threads write to the same one */
};

/* The chunks of a region that a thread still has to do. The owner takes them from the front and others from the back,
 * so that in each region a thread gets the same part of a batch, which its cache still holds. */
typedef struct Hand {
  _Alignas(64) _Atomic(uint64_t) left; /* from << 32 | to */
  _Atomic(ThreadsTask *) task;
  _Atomic(void *) context;
} Hand;

static struct {
  atomic_int count; /* 0 until it is fixed */
  /* NULL where there is one thread, so that what only several need is not linked where nobody begins them. */
  void (*share)(uint32_t chunks, ThreadsTask *task, void *context);
  bool may_sleep;
  /* set during a region: a second region, nested or in another session's thread, does not get the pool */
  atomic_bool busy;
  Hand hands[THREADS_MAX];
  _Alignas(64) SleepWord unfinished; /* chunks not done yet: the caller sleeps on it */
  atomic_bool caller_sleeps, given_up;
  _Alignas(64) SleepWord calls; /* changes when sleeping helpers are called: they sleep on it */
  _Atomic(int) sleepers;
} pool;

static _Thread_local int this_thread;

/* ---- stopping: the thread that began a region asks, and tells helpers ---- */

static _Thread_local const ThreadsStop *watched;
static _Thread_local bool given_up, shares; /* shares: it is the caller of the region that the pool does */

void threads_watch(const ThreadsStop *stop) {
  watched = stop && stop->asked ? stop : NULL;
  given_up = false;
}

bool threads_stopped(void) {
  if (this_thread) return atomic_load(&pool.given_up);
  if (watched && !given_up) given_up = watched->asked(watched->context);
  if (given_up && shares) atomic_store(&pool.given_up, true);
  return given_up;
}

/* ---- chunks ---- */

/* Does one chunk of a hand; false when there is none. Once a chunk is taken, its region lasts until it is done, so that
 * whatever is read after that belongs to the region. */
static bool do_chunk(Hand *hand, bool own) {
  uint64_t left = atomic_load(&hand->left);
  uint32_t from, to;
  do {
    from = (uint32_t)(left >> 32), to = (uint32_t)left;
    if (from == to) return false;
  } while (!atomic_compare_exchange_weak(&hand->left, &left, own ? left + (1ull << 32) : left - 1));
  atomic_load (&hand->task)(atomic_load(&hand->context), own ? from : to - 1, this_thread);
  return true;
}

/* Takes all that is left of a hand, and gives its number. */
static uint32_t leave_chunks(Hand *hand) {
  uint64_t left = atomic_exchange(&hand->left, 0);
  return (uint32_t)left - (uint32_t)(left >> 32);
}

static void work(void) {
  uint32_t done = 0;
  for (int i = 0, count = threads_count(); i < count; i++) {
    Hand *hand = &pool.hands[(this_thread + i) % count];
    for (bool more = !given_up; more && do_chunk(hand, i == 0); more = !threads_stopped()) done++;
    if (given_up) done += leave_chunks(hand);
  }
  if (done && atomic_fetch_sub(&pool.unfinished, done) == done && atomic_load(&pool.caller_sleeps))
    sleep_end(&pool.unfinished);
}

static bool is_work(void) {
  uint64_t left = atomic_load(&pool.hands[this_thread].left);
  return left >> 32 != (uint32_t)left;
}

/* ---- helpers ---- */

static bool spin_for_work(void) {
  for (int i = 0; i < SLEEP_SPINS; i++) {
    if (is_work()) return true;
    sleep_pause();
  }
  return false;
}

void threads_help(int thread) {
  this_thread = thread;
  for (;;) {
    work();
    if (spin_for_work()) continue;
    atomic_fetch_add(&pool.sleepers, 1);
    uint32_t calls = atomic_load(&pool.calls);
    if (!is_work())
      sleep_while(&pool.calls,
                  calls); /* work that arrives after this check changes `calls`, because it sees a sleeper */
    atomic_fetch_sub(&pool.sleepers, 1);
  }
}

/* ---- the caller ---- */

static void call_helpers(void) {
  if (atomic_load(&pool.sleepers) == 0) return;
  atomic_fetch_add(&pool.calls, 1);
  sleep_end(&pool.calls);
}

/* Waits for the chunks that helpers still work on. */
static void join(void) {
  uint32_t unfinished;
  for (int i = 0; (unfinished = atomic_load(&pool.unfinished)) != 0; i++) {
    if (unfinished & BROKEN) __builtin_trap();
    sleep_pause();
    if (!pool.may_sleep || i < SLEEP_SPINS) continue;
    atomic_store(&pool.caller_sleeps, true);
    if (atomic_load(&pool.unfinished) == unfinished) sleep_while(&pool.unfinished, unfinished);
    atomic_store(&pool.caller_sleeps, false);
  }
}

/* Neighbouring chunks, as many to each thread; the caller's are the first. */
static void deal(uint32_t chunks, ThreadsTask *task, void *context) {
  uint64_t count = (uint64_t)threads_count(), from = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t to = (chunks * (i + 1) + count - 1) / count;
    atomic_store(&pool.hands[i].task, task);
    atomic_store(&pool.hands[i].context, context);
    atomic_store(&pool.hands[i].left, from << 32 | to);
    from = to;
  }
}

static void run_here(size_t chunks, ThreadsTask *task, void *context) {
  for (size_t i = 0; i < chunks; i++) {
    task(context, i, this_thread);
    if (chunks > 1 && threads_stopped()) return;
  }
}

static void share(uint32_t chunks, ThreadsTask *task, void *context) {
  atomic_store(&pool.given_up, false);
  atomic_store(&pool.unfinished, chunks);
  deal(chunks, task, context);
  call_helpers();
  shares = true;
  work();
  join();
  shares = false;
}

void threads_run(size_t chunks, ThreadsTask *task, void *context) {
  if (chunks <= 1 || !pool.share || chunks >= BROKEN || atomic_exchange(&pool.busy, true)) {
    run_here(chunks, task, context);
    return;
  }
  pool.share((uint32_t)chunks, task, context);
  atomic_store(&pool.busy, false);
}

/* ---- ranges ---- */

typedef struct Split {
  ThreadsRange *task;
  void *context;
  size_t items, step;
} Split;

static void run_range(void *context, size_t chunk, int thread) {
  const Split *s = context;
  size_t from = chunk * s->step, left = s->items - from;
  s->task(s->context, from, from + (left < s->step ? left : s->step));
}

void threads_split(size_t items, size_t grain, ThreadsRange *task, void *context) {
#ifdef TRAINLET_SMALL_RANGES /* for tests in which small cases are to be divided as large ones are */
  grain = 1;
#endif
  size_t ranges = items / (grain ? grain : 1);
  if (ranges > RANGES_MAX) ranges = RANGES_MAX;
  if (ranges <= 1) {
    task(context, 0, items);
    return;
  }
  size_t step = ceil_div(items, ranges);
  if (step >= 16 * LINE_ITEMS) step = ceil_div(step, LINE_ITEMS) * LINE_ITEMS;
  threads_run(ceil_div(items, step), run_range, &(Split){task, context, items, step});
}

/* ---- the pool ---- */

static bool fix_count(int count) {
  int free = 0;
  return atomic_compare_exchange_strong(&pool.count, &free, count < THREADS_MAX ? count : THREADS_MAX);
}

bool threads_begin(int count, bool may_sleep) {
  if (count < 1 || !fix_count(count)) return false;
  pool.may_sleep = may_sleep;
  if (count > 1) pool.share = share;
  return true;
}

int threads_count(void) {
  int count = atomic_load(&pool.count);
  if (count) return count;
  fix_count(1);
  return threads_count();
}

void threads_break(void) {
  atomic_fetch_or(&pool.unfinished, BROKEN);
  sleep_end(&pool.unfinished);
}

#if !defined(__wasm__)
static void *helper_main(void *thread) {
  threads_help((int)(intptr_t)thread);
  return NULL;
}

bool trainlet_threads_start(int count) {
  if (!threads_begin(count, true)) return false;
  for (int i = 1; i < pool.count; i++) {
    pthread_t helper;
    if (pthread_create(&helper, NULL, helper_main, (void *)(intptr_t)i) != 0)
      break; /* the running threads do its chunks */
    pthread_detach(helper);
  }
  return true;
}
#endif
