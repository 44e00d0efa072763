/* Sleeping on a word in memory until another thread changes it: pthreads natively, memory.atomic.wait in wasm. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic(uint32_t) SleepWord;

/* sleep_while: returns once the word is no longer `value` and sleep_end was called; may return earlier.
 * sleep_end: wakes all that sleep on the word; it was changed before.
 * sleep_pause: waits some cycles before the next look at a word. SLEEP_SPINS of them are the serial work
 * between two parallel operators of a step: some ten µs. */
#if defined(__wasm_atomics__)
enum { SLEEP_SPINS = 20000 };

static inline void sleep_while(SleepWord *word, uint32_t value) {
  __builtin_wasm_memory_atomic_wait32((int *)word, (int)value, -1);
}
static inline void sleep_end(SleepWord *word) { __builtin_wasm_memory_atomic_notify((int *)word, UINT32_MAX); }
static inline void sleep_pause(void) {}

#elif defined(__wasm__) /* without shared memory there is nobody to wait for */
enum { SLEEP_SPINS = 0 };

static inline void sleep_while(SleepWord *word, uint32_t value) {}
static inline void sleep_end(SleepWord *word) {}
static inline void sleep_pause(void) {}

#else
#include <pthread.h>

enum { SLEEP_SPINS = 2000 };

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_over = PTHREAD_COND_INITIALIZER;

static inline void sleep_while(SleepWord *word, uint32_t value) {
  pthread_mutex_lock(&sleep_lock);
  while (atomic_load(word) == value) pthread_cond_wait(&sleep_over, &sleep_lock);
  pthread_mutex_unlock(&sleep_lock);
}
static inline void sleep_end(SleepWord *word) {
  pthread_mutex_lock(&sleep_lock); /* not between a sleeper's look and its wait */
  pthread_mutex_unlock(&sleep_lock);
  pthread_cond_broadcast(&sleep_over);
}
static inline void sleep_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
#endif
