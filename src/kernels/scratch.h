/* Scratch: one block, divided by the same code twice: first from a NULL base to find the size, then for real. */
#pragma once
#include "arena.h"

typedef struct Scratch {
  char *base;
  size_t used; /* bytes */
  bool overflow;
} Scratch;

/* count × each items, 64-byte aligned; NULL while the size is being found. */
static inline void *scratch_take(Scratch *s, size_t count, size_t each, size_t item_bytes) {
  size_t bytes, at = s->used;
  if (!size_multiply(count, each, &bytes) || !size_multiply(bytes, item_bytes, &bytes) || bytes > SIZE_MAX - 63 ||
      !size_add(at, (bytes + 63) & ~(size_t)63, &s->used))
    s->overflow = true;
  return s->base ? s->base + at : NULL;
}
