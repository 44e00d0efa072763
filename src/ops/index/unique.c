/* Unique: the distinct elements of x, or its distinct slices along an axis; where each occurs first; which of them each
 * element of x is; and how often each occurs. Computed ahead, since the shapes depend on x. */
#include "graph/compose.h"
#include "kernels/number.h"
#include "kernels/select.h"
#include "graph/work.h"

enum { COMPARISON = 256, ELEMENT = 16 }; /* multiply-adds that take as long */

/* x as (outer, dim, inner): its slices along the middle. */
typedef struct Slices {
  const void *data;
  DType type;
  size_t outer, dim, inner;
} Slices;

/* -1, 0 or 1; NaN is equal to itself and larger than all else. */
static int compare_elements(const Slices *s, size_t a, size_t b) {
  Numbers x, y;
  numbers_load(&x, s->data, s->type, a, 1, 1);
  numbers_load(&y, s->data, s->type, b, 1, 1);
  if (dtype_is_float(s->type)) {
    double p = x.floats[0], q = y.floats[0];
    if (p != p || q != q) return (p != p) - (q != q);
    return (p > q) - (p < q);
  }
  if (s->type == DTYPE_UINT64)
    return ((uint64_t)x.ints[0] > (uint64_t)y.ints[0]) - ((uint64_t)x.ints[0] < (uint64_t)y.ints[0]);
  return (x.ints[0] > y.ints[0]) - (x.ints[0] < y.ints[0]);
}

static int compare(const Slices *s, size_t a, size_t b) {
  int order = 0;
  for (size_t i = 0; i < s->outer * s->inner && !order; i++) {
    size_t at = i / s->inner * s->dim * s->inner + i % s->inner;
    order = compare_elements(s, at + a * s->inner, at + b * s->inner);
  }
  return order;
}

static bool before(const void *context, size_t a, size_t b) {
  int order = compare(context, a, b);
  return order ? order < 0 : a < b;
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

static Status unique_compose(Compose *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0];
  Slices s = {.type = x->type, .outer = 1, .inner = 1};
  Groups found = {0};
  int axis = 0;
  bool flat = node_attr(n, "axis", ATTR_INT) == NULL;
  TRY(node_contents(n, 0, &s.data));
  if (!flat) TRY(node_axis(n, node_int(n, "axis", 0), x->shape.rank, &axis));
  if (flat) s.dim = shape_elements(&x->shape);
  else
    s.outer = shape_span(&x->shape, 0, axis), s.dim = (size_t)x->shape.dim[axis],
    s.inner = shape_span(&x->shape, axis + 1, x->shape.rank);
  TRY(work_compose(n, (double)s.dim * select_levels((double)s.dim) *
                          (COMPARISON + ELEMENT * (double)s.outer * (double)s.inner)));
  size_t *order = arena_alloc_array(g->arena, s.dim, sizeof *order);
  if (!order || !groups_new(&found, g->arena, s.dim)) return STATUS_OUT_OF_MEMORY;
  select_best(order, s.dim, s.dim, before, &s);
  find_groups(&s, order, node_int(n, "sorted", 1) != 0, &found);
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
