/* Lookup: keys sorted once; texts found by halving, numbers by their hashes. */
#include "ops/ml/lookup.h"

#include "kernels/number.h"
#include "kernels/select.h"

static const char *text_at(const void *x, size_t at) { return strings_text(((const char *const *)x)[at]); }
/* 2^64 / the golden ratio: odd, so that all products differ. */
static uint64_t hash_of(uint64_t key) { return key * 0x9e3779b97f4a7c15; }

static bool text_before(const void *context, size_t a, size_t b) {
  int order = strcmp(text_at(context, a), text_at(context, b));
  return order < 0 || (order == 0 && a < b);
}

static bool hash_before(const void *context, size_t a, size_t b) {
  const uint64_t *keys = context, x = hash_of(keys[a]), y = hash_of(keys[b]);
  return x < y || (x == y && a < b);
}

Status lookup_make_numbers(Arena *arena, const uint64_t *keys, size_t count, Lookup *out) {
  int bits = select_levels((double)count) + 1; /* so that a bucket seldom has two */
  size_t buckets = (size_t)1 << bits;
  *out = (Lookup){.count = count,
                  .shift = 64 - bits,
                  .order = ARENA_ARRAY(arena, size_t, count),
                  .hashes = ARENA_ARRAY(arena, uint64_t, count),
                  .begin = ARENA_ARRAY(arena, uint32_t, buckets + 1)};
  if (!out->order || !out->hashes || !out->begin) return STATUS_OUT_OF_MEMORY;
  select_best(out->order, count, count, hash_before, keys);
  for (size_t i = 0, bucket = 0; i <= count; i++) {
    if (i < count) out->hashes[i] = hash_of(keys[out->order[i]]);
    for (; bucket <= (i < count ? out->hashes[i] >> out->shift : buckets); bucket++) out->begin[bucket] = (uint32_t)i;
  }
  return STATUS_OK;
}

Status lookup_make(Node *n, DType type, const void *keys, size_t count, Lookup *out) {
  Arena *arena = n->graph->arena;
  if (type == DTYPE_STRING) {
    *out = (Lookup){.n = n, .order = ARENA_ARRAY(arena, size_t, count)};
    if (!out->order) return STATUS_OUT_OF_MEMORY;
    select_best(out->order, count, count, text_before, keys);
  } else {
    uint64_t *numbers = ARENA_ARRAY(arena, uint64_t, count);
    if (!numbers) return STATUS_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) numbers[i] = number_key(keys, type, i);
    TRY(lookup_make_numbers(arena, numbers, count, out));
  }
  out->type = type, out->count = count, out->keys = keys;
  return STATUS_OK;
}

static int64_t find_text(const Lookup *l, const char *text) {
  size_t from = 0, to = strings_may_read() ? l->count : 0, letters = 0;
  bool found = false;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    int order = strings_compare(text_at(l->keys, l->order[middle]), text, &letters);
    if (order < 0) from = middle + 1;
    else to = middle, found |= order == 0;
  }
  return (!l->n || strings_count(l->n, letters)) && found ? (int64_t)l->order[from] : -1;
}

int64_t lookup_number(const Lookup *l, uint64_t key) {
  uint64_t hash = hash_of(key);
  size_t from = l->begin[hash >> l->shift], to = l->begin[(hash >> l->shift) + 1];
  while (to - from > 1) {
    size_t middle = from + (to - from) / 2;
    if (l->hashes[middle - 1] < hash) from = middle;
    else to = middle;
  }
  return from < to && l->hashes[from] == hash ? (int64_t)l->order[from] : -1;
}

int64_t lookup_find(const Lookup *l, const void *x, DType type, size_t at) {
  return type == DTYPE_STRING ? find_text(l, text_at(x, at)) : lookup_number(l, number_key(x, type, at));
}
