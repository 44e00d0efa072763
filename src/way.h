/* Way: where shapes choose among several ways to compute the same, which of them were taken. Each is a part (part.h): a
 * build for known shapes needs no other. */
#pragma once
#include <stdint.h>

typedef enum Way {
#define WAY(way, name) WAY_##way,
#include "way.def"
#undef WAY
  WAY_COUNT
} Way;

extern uint32_t ways_seen; /* bits of those that were taken since the program began */
const char *way_name(int way);

/* By any thread. */
static inline void way_see(Way way) {
#ifdef __wasm__ /* only the pool has atomics there, and who asks has one thread */
  ways_seen |= (uint32_t)1 << way;
#else
  __atomic_fetch_or(&ways_seen, (uint32_t)1 << way, __ATOMIC_RELAXED);
#endif
}
