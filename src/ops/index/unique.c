/* Unique: the distinct elements of x, or its distinct slices along an axis; where each occurs first; which of them each
 * element of x is; and how often each occurs. Computed ahead, since the shapes depend on x. */
#include <string.h>

#include "graph/compose.h"
#include "kernels/number.h"
#include "kernels/select.h"
#include "graph/work.h"

enum { COMPARISON = 256, ELEMENT = 16 }; /* multiply-adds that take as long */

/* x as (outer, dim, inner): its slices along the middle. */
typedef struct Slices {
  const uint64_t *keys; /* of x's elements */
  size_t outer, dim, inner;
} Slices;

/* Keys are in the order of their elements: -0 is equal to 0, and NaN to itself and larger than all else. */
static uint64_t key_of(const Numbers *x, DType type) {
  const uint64_t sign = (uint64_t)1 << 63;
  if (type == DTYPE_UINT64) return (uint64_t)x->ints[0];
  if (!dtype_is_float(type)) return (uint64_t)x->ints[0] ^ sign;
  double number = x->floats[0] + 0.0;
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (number != number) return UINT64_MAX;
  return bits & sign ? ~bits : bits | sign;
}

static uint64_t *keys_of(const void *data, DType type, size_t count, Arena *arena) {
  uint64_t *keys = arena_alloc_array(arena, count, sizeof *keys);
  for (size_t i = 0; keys && i < count; i++) {
    Numbers x;
    numbers_load(&x, data, type, i, 1, 1);
    keys[i] = key_of(&x, type);
  }
  return keys;
}

/* Whether they are equal, or which comes first: -1, 0 or 1. */
static int compare(const Slices *s, size_t a, size_t b) {
  for (size_t i = 0; i < s->outer * s->inner; i++) {
    const uint64_t *at = s->keys + i / s->inner * s->dim * s->inner + i % s->inner;
    uint64_t p = at[a * s->inner], q = at[b * s->inner];
    if (p != q) return p < q ? -1 : 1;
  }
  return 0;
}

static inline bool is_behind(const Slices *s, bool alone, size_t a, size_t b) {
  return alone ? s->keys[a] > s->keys[b] : compare(s, a, b) > 0;
}

/* Merges runs of 1, 2, 4 … slices: equal ones stay in order. Gives the list, of the two, in which they end. */
static inline size_t *sort(const Slices *s, bool alone, size_t *order, size_t *other) {
  for (size_t i = 0; i < s->dim; i++) order[i] = i;
  for (size_t run = 1; run < s->dim; run *= 2) {
    for (size_t from = 0; from < s->dim; from += 2 * run) {
      size_t middle = from + run < s->dim ? from + run : s->dim, end = middle + run < s->dim ? middle + run : s->dim;
      for (size_t a = from, b = middle, to = from; to < end; to++)
        other[to] = a < middle && (b == end || !is_behind(s, alone, order[a], order[b])) ? order[a++] : order[b++];
    }
    size_t *swap = order;
    order = other;
    other = swap;
  }
  return order;
}

/* What the outputs are made of: slice i belongs to group group[i]; group k has count[k] slices, the first of which is
 * first[k]. */
typedef struct Groups {
  int64_t *group, *first, *count;
  size_t groups;
} Groups;

static bool groups_new(Groups *g, Arena *arena, size_t dim) {
  g->group = arena_alloc_array(arena, dim, sizeof *g->group);
  g->first = arena_alloc_array(arena, dim, sizeof *g->first);
  g->count = arena_alloc_array(arena, dim, sizeof *g->count);
  return g->group && g->first && g->count;
}

/* Groups in the order of their values, or of their first slices. */
static void find_groups(const Slices *s, const size_t *order, bool sorted, Groups *g) {
  int64_t *leader = g->count; /* of each slice the first that is equal to it; the counts come after */
  for (size_t i = 0, first = 0; i < s->dim; i++) {
    if (i == 0 || compare(s, order[i], order[first]) != 0) first = i;
    leader[order[i]] = (int64_t)order[first];
    if (sorted && first == i) g->first[g->groups] = (int64_t)order[i], g->group[order[i]] = (int64_t)g->groups++;
  }
  for (size_t i = 0; i < s->dim; i++) {
    if (!sorted && leader[i] == (int64_t)i) g->first[g->groups] = (int64_t)i, g->group[i] = (int64_t)g->groups++;
    g->group[i] = g->group[leader[i]];
  }
  for (size_t k = 0; k < g->groups; k++) g->count[k] = 0;
  for (size_t i = 0; i < s->dim; i++) g->count[g->group[i]]++;
}

/* The groups of x's slices; what only their order needs lies in `scratch`. */
static bool group_slices(Slices *s, const void *data, DType type, bool sorted, Groups *g, Arena *arena,
                         Arena *scratch) {
  size_t *order = arena_alloc_array(scratch, s->dim, sizeof *order);
  size_t *other = arena_alloc_array(scratch, s->dim, sizeof *other);
  s->keys = keys_of(data, type, s->outer * s->dim * s->inner, scratch);
  if (!order || !other || !s->keys || !groups_new(g, arena, s->dim)) return false;
  order = s->outer * s->inner == 1 ? sort(s, true, order, other) : sort(s, false, order, other);
  find_groups(s, order, sorted, g);
  return true;
}

static Status unique_compose(Compose *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0];
  Slices s = {.outer = 1, .inner = 1};
  const void *data;
  Groups found = {0};
  int axis = 0;
  bool flat = node_attr(n, "axis", ATTR_INT) == NULL;
  TRY(node_contents(n, 0, &data));
  if (!flat) TRY(node_axis(n, node_int(n, "axis", 0), x->shape.rank, &axis));
  if (flat) s.dim = shape_elements(&x->shape);
  else
    s.outer = shape_span(&x->shape, 0, axis), s.dim = (size_t)x->shape.dim[axis],
    s.inner = shape_span(&x->shape, axis + 1, x->shape.rank);
  TRY(work_compose(n, (double)s.dim * select_levels((double)s.dim) *
                          (COMPARISON + ELEMENT * (double)s.outer * (double)s.inner)));
  Arena scratch = {.brief = true};
  bool grouped = group_slices(&s, data, x->type, node_int(n, "sorted", 1) != 0, &found, g->arena, &scratch);
  arena_free(&scratch);
  if (!grouped) return STATUS_OUT_OF_MEMORY;
  const int64_t *lists[] = {found.first, found.group, found.count};
  for (int i = 1; i < n->out_count; i++) c->out[i] = emit_ints(g, lists[i - 1], (int)(i == 2 ? s.dim : found.groups));
  Value *from = flat ? emit(g, "Reshape", x, emit_ints(g, (int64_t[]){-1}, 1)) : x;
  return compose_done(
      c, emit_with(g, "Gather", ATTRS(attr_of_int("axis", axis)), from, emit_ints(g, found.first, (int)found.groups)));
}

OPERATOR(unique) = {
    .name = "Unique",
    .since = {11},
    .inputs = {1, 1},
    .outputs = {1, 4},
    .flags = OP_ANY_TYPE,
    .compose = unique_compose,
    .cases = CASES({"f32[6]=2,1,1,3,4,3", "", 0, 4, "constant"}, {"f32[6]=2,1,1,3,4,3", "sorted=0", 0, 4, "constant"},
                   {"i64[3,3]=1,0,0,1,0,0,2,3,4", "axis=0", 0, 4, "constant"},
                   {"u8[2,4,2]=1,1,0,1,2,1,0,1,1,1,0,1,2,1,0,1", "axis=1", 0, 4, "constant"}),
};
