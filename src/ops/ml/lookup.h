/* Lookup: which of many keys an element is, strings or numbers.
 *
 *   keys    b  a  c  a        in the attribute's order
 *   order   1  3  0  2        sorted; of equal keys the first one in the list is found
 */
#pragma once
#include "graph/strings.h"

typedef struct Lookup {
  DType type;
  size_t count;
  const void *keys;
  size_t *order;
} Lookup;

/* The keys stay where they are. NaN is a key like any other. */
Status lookup_make(Node *n, DType type, const void *keys, size_t count, Lookup *out);
/* Which key is element `at` of x, which is of their kind (strings, floats, ints); -1: none. */
int64_t lookup_find(const Lookup *l, const void *x, DType type, size_t at);
