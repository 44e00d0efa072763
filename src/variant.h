/* Variants: implementations of one computation that shapes choose among, and the set that was used. Each is a part
 * (part.h): a build for known shapes needs no other. */
#pragma once
#include <stdint.h>

typedef enum Variant {
#define VARIANT(variant, name) VARIANT_##variant,
#include "variant.def"
#undef VARIANT
  VARIANT_COUNT
} Variant;

extern uint32_t variants_seen; /* bits of those that were taken since the program began */
const char *variant_name(int variant);

/* Any thread may call it. */
static inline void variant_see(Variant variant) {
#ifdef __wasm__ /* only the pool has atomics there, and who asks has one thread */
  variants_seen |= (uint32_t)1 << variant;
#else
  __atomic_fetch_or(&variants_seen, (uint32_t)1 << variant, __ATOMIC_RELAXED);
#endif
}
