/* Lookup: keys sorted once, elements found by halving. */
#include "ops/ml/lookup.h"

#include "kernels/select.h"

/* A string, or a number in the widest type of its kind. */
typedef struct Key {
  const char *text;
  double x;
  int64_t i;
} Key;

static Key key_at(const void *x, DType type, size_t at) {
  switch (type) {
    case DTYPE_STRING: return (Key){.text = strings_text(((const char *const *)x)[at])};
    case DTYPE_FLOAT32: return (Key){.x = (double)((const float *)x)[at]};
    case DTYPE_FLOAT64: return (Key){.x = ((const double *)x)[at]};
    case DTYPE_INT32: return (Key){.i = ((const int32_t *)x)[at]};
    case DTYPE_INT16: return (Key){.i = ((const int16_t *)x)[at]};
    default: return (Key){.i = ((const int64_t *)x)[at]};
  }
}

/* Below 0: a comes before b. NaN comes after all numbers. */
static int compare(const Key *a, const Key *b) {
  if (a->text) return strcmp(a->text, b->text);
  if (a->x != a->x || b->x != b->x) return (a->x != a->x) - (b->x != b->x);
  return a->x != b->x ? (a->x > b->x ? 1 : -1) : (a->i > b->i) - (a->i < b->i);
}

static bool before(const void *context, size_t a, size_t b) {
  const Lookup *l = context;
  Key ka = key_at(l->keys, l->type, a), kb = key_at(l->keys, l->type, b);
  int order = compare(&ka, &kb);
  return order < 0 || (order == 0 && a < b);
}

Status lookup_make(Node *n, DType type, const void *keys, size_t count, Lookup *out) {
  *out = (Lookup){type, count, keys, ARENA_ARRAY(n->graph->arena, size_t, count)};
  if (!out->order) return STATUS_OUT_OF_MEMORY;
  select_best(out->order, count, count, before, out);
  return STATUS_OK;
}

int64_t lookup_find(const Lookup *l, const void *x, DType type, size_t at) {
  Key wanted = key_at(x, type, at);
  size_t from = 0, to = l->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    Key key = key_at(l->keys, l->type, l->order[middle]);
    if (compare(&key, &wanted) < 0) from = middle + 1;
    else to = middle;
  }
  if (from == l->count) return -1;
  Key found = key_at(l->keys, l->type, l->order[from]);
  return compare(&found, &wanted) ? -1 : (int64_t)l->order[from];
}
