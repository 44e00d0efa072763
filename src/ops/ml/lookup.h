/* Lookup: which of many keys an element is, strings or numbers.
 *
 *   keys    b  a  c  a        in the attribute's order
 *   order   1  3  0  2        sorted; of equal keys the first one in the list is found
 *
 * Numbers are sorted by a hash, which no two of them share. A bucket is those of the same upper bits: begin says where
 * each begins. Most have one key or none; however the keys were chosen, halving finds them in the fullest.
 */
#pragma once
#include "graph/strings.h"

typedef struct Lookup {
  const Node *n; /* whose run strings are looked up in; NULL: not in a run, they count as no work */
  DType type;
  size_t count;
  const void *keys;
  size_t *order;
  uint64_t *hashes; /* sorted; of numbers, as the rest */
  uint32_t *begin;
  int shift; /* a hash without the lower bits is its bucket */
} Lookup;

/* The keys stay where they are. NaN is a key like any other. */
Status lookup_make(Node *n, DType type, const void *keys, size_t count, Lookup *out);
/* Makes a lookup of 64-bit keys for lookup_number. */
Status lookup_make_numbers(Arena *arena, const uint64_t *keys, size_t count, Lookup *out);
/* The index of the key that equals element `at` of x, which has the keys' kind (strings, floats, ints); -1: none. */
int64_t lookup_find(const Lookup *l, const void *x, DType type, size_t at);
int64_t lookup_number(const Lookup *l, uint64_t key);
