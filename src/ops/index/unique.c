/* Unique: the distinct elements of x, or its distinct slices along an axis; where each occurs first; which of them each
 * element of x is; and how often each occurs. Computed ahead, since the shapes depend on x. */
#include <string.h>

#include "graph/expansion.h"
#include "graph/work.h"
#include "kernels/number.h"

enum { ELEMENT = 64 }; /* multiply-adds that take as long as sorting by an element */

/* x as (outer, dim, inner): its slices along the middle. */
typedef struct Slices {
  const void *data;
  DType type;
  size_t outer, dim, inner;
} Slices;

static inline uint64_t key_of(const Slices *s, size_t slice, size_t element) {
  return number_key(s->data, s->type, (element / s->inner * s->dim + slice) * s->inner + element % s->inner);
}

static bool are_equal(const Slices *s, size_t a, size_t b) {
  for (size_t i = 0; i < s->outer * s->inner; i++)
    if (key_of(s, a, i) != key_of(s, b, i)) return false;
  return true;
}

/* A slice, and the element of it that is sorted by. */
typedef struct Place {
  uint64_t key;
  size_t slice;
} Place;

/* Sorts by one byte of the keys; equal keys stay in order. */
static void sort_byte(const Place *from, Place *to, size_t count, int shift) {
  size_t begin[257] = {0};
  for (size_t i = 0; i < count; i++) begin[(from[i].key >> shift & 255) + 1]++;
  for (int b = 0; b < 255; b++) begin[b + 1] += begin[b];
  for (size_t i = 0; i < count; i++) to[begin[from[i].key >> shift & 255]++] = from[i];
}

/* A radix sort by the last element, …, by the first, each from its lowest byte to its highest, skipping bytes that do
 * not differ. Returns the list, of the two, that has the result; its keys are those of the first element. */
static Place *sort(const Slices *s, Place *places, Place *other) {
  for (size_t i = 0; i < s->dim; i++) places[i] = (Place){0, i};
  for (size_t element = s->outer * s->inner; element-- > 0;) {
    uint64_t varies = 0;
    for (size_t i = 0; i < s->dim; i++) {
      places[i].key = key_of(s, places[i].slice, element);
      varies |= places[i].key ^ places[0].key;
    }
    for (int shift = 0; shift < 64; shift += 8) {
      if (!(varies >> shift & 255)) continue;
      sort_byte(places, other, s->dim, shift);
      Place *swap = places;
      places = other;
      other = swap;
    }
  }
  return places;
}

/* The groups that the outputs are made of: slice i belongs to group group[i]; group k has count[k] slices, the first of
 * which is first[k]. */
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
static void find_groups(const Slices *s, const Place *order, bool sorted, Groups *g) {
  bool alone = s->outer * s->inner == 1;
  int64_t *leader = g->count; /* each slice's first equal one; the counts come after */
  for (size_t i = 0, first = 0; i < s->dim; i++) {
    size_t slice = order[i].slice;
    if (i == 0 || order[i].key != order[first].key || (!alone && !are_equal(s, slice, order[first].slice))) first = i;
    leader[slice] = (int64_t)order[first].slice;
    if (sorted && first == i) g->first[g->groups] = (int64_t)slice, g->group[slice] = (int64_t)g->groups++;
  }
  for (size_t i = 0; i < s->dim; i++) {
    if (!sorted && leader[i] == (int64_t)i) g->first[g->groups] = (int64_t)i, g->group[i] = (int64_t)g->groups++;
    g->group[i] = g->group[leader[i]];
  }
  for (size_t k = 0; k < g->groups; k++) g->count[k] = 0;
  for (size_t i = 0; i < s->dim; i++) g->count[g->group[i]]++;
}

/* The slices in the order of their values. A second list is there only while they are sorted. */
static Place *sorted_places(const Slices *s, Arena *scratch) {
  Arena temporary = {.temporary = true};
  Place *places = arena_alloc_array(scratch, s->dim, sizeof *places);
  Place *other = arena_alloc_array(&temporary, s->dim, sizeof *other);
  if (places && other && sort(s, places, other) == other) memcpy(places, other, s->dim * sizeof *places);
  arena_free(&temporary);
  return other ? places : NULL;
}

/* The groups of x's slices; what only their order needs lies in `scratch`. */
static bool group_slices(const Slices *s, bool sorted, Groups *g, Arena *arena, Arena *scratch) {
  Place *places = sorted_places(s, scratch);
  if (!places || !groups_new(g, arena, s->dim)) return false;
  find_groups(s, places, sorted, g);
  return true;
}

static Status unique_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0];
  Slices s = {.type = x->type, .outer = 1, .inner = 1};
  Groups found = {0};
  int axis = 0;
  bool flat = node_attr(n, "axis", ATTR_INT) == NULL;
  if (expand_is_early(c)) return expand_deferred(c);
  TRY(node_contents(n, 0, &s.data));
  if (!flat) TRY(node_axis(n, node_int(n, "axis", 0), x->shape.rank, &axis));
  if (flat) s.dim = shape_elements(&x->shape);
  else
    s.outer = shape_span(&x->shape, 0, axis), s.dim = (size_t)x->shape.dim[axis],
    s.inner = shape_span(&x->shape, axis + 1, x->shape.rank);
  TRY(work_expand(n, ELEMENT * (double)s.dim * (1 + (double)s.outer * (double)s.inner)));
  Arena scratch = {.temporary = true};
  bool grouped = group_slices(&s, node_int(n, "sorted", 1) != 0, &found, g->arena, &scratch);
  arena_free(&scratch);
  if (!grouped) return STATUS_OUT_OF_MEMORY;
  const int64_t *lists[] = {found.first, found.group, found.count};
  for (int i = 1; i < n->out_count; i++) c->out[i] = emit_ints(g, lists[i - 1], (int)(i == 2 ? s.dim : found.groups));
  Value *from = flat ? emit(g, "Reshape", x, emit_ints(g, (int64_t[]){-1}, 1)) : x;
  return expand_done(
      c, emit_with(g, "Gather", ATTRS(attr_of_int("axis", axis)), from, emit_ints(g, found.first, (int)found.groups)));
}

static Status unique_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Shape y = SHAPE(0), groups = SHAPE(0), group = SHAPE(0);
  int axis = 0;
  size_t count;
  TRY(node_deferred_dim(n, &groups.dim[0]));
  if (node_attr(n, "axis", ATTR_INT)) {
    TRY(node_axis(n, node_int(n, "axis", 0), x->rank, &axis));
    y = *x;
    group.dim[0] = x->dim[axis];
  } else group.dim[0] = shape_count(x, &count) ? (Dim)count : graph_fresh_dim(n->graph);
  y.dim[axis] = groups.dim[0];
  TRY(node_output(n, 0, n->in[0]->type, &y));
  TRY(node_output(n, 1, DTYPE_INT64, &groups));
  TRY(node_output(n, 2, DTYPE_INT64, &group));
  return node_output(n, 3, DTYPE_INT64, &groups);
}

OPERATOR(unique) = {
    .name = "Unique",
    .since = {11},
    .inputs = {1, 1},
    .outputs = {1, 4},
    .flags = OP_ANY_TYPE,
    .infer = unique_infer,
    .expand = unique_expand,
    .cases = CASES({"f32[6]=2,1,1,3,4,3", "", 0, 4, "constant"}, {"f32[6]=2,1,1,3,4,3", "sorted=0", 0, 4, "constant"},
                   {"i64[3,3]=1,0,0,1,0,0,2,3,4", "axis=0", 0, 4, "constant"},
                   {"u8[2,4,2]=1,1,0,1,2,1,0,1,1,1,0,1,2,1,0,1", "axis=1", 0, 4, "constant"}),
};
