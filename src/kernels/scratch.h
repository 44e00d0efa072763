/* Scratch: one block, divided by the same code twice: first from a NULL base to find the size, then for real. */
#pragma once
#include "arena.h"

typedef struct Scratch {
  char *base;
  size_t used; /* bytes */
  bool overflow;
} Scratch;

/* count × each items, 64-byte aligned; NULL while the size is being found. */
void *scratch_take(Scratch *s, size_t count, size_t each, size_t item_bytes);
