/* StringConcat: the strings of two tensors joined, with NumPy broadcasting. */
#include "graph/expansion.h"
#include "graph/strings.h"

/* The index of the operand's element that broadcasts to place `i` of y. */
static size_t place_in(const Shape *operand, const Shape *y, size_t i) {
  size_t at = 0, step = 1;
  for (int d = 1; d <= y->rank; d++) {
    size_t along = i % (size_t)y->dim[y->rank - d];
    i /= (size_t)y->dim[y->rank - d];
    if (d > operand->rank) continue;
    size_t dim = (size_t)operand->dim[operand->rank - d];
    if (dim > 1) at += along * step;
    step *= dim;
  }
  return at;
}

static Status string_concat_expand(Expansion *c) {
  Node *n = c->node;
  const Shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
  Arena *arena = c->graph->arena;
  Shape shape;
  size_t count, unused;
  const char *const *x = strings_of(n, 0, &unused), *const *y = x ? strings_of(n, 1, &unused) : NULL;
  if (!x || !y) return c->graph->error->status;
  TRY(node_broadcast(n, a, b, &shape));
  if (!shape_count(&shape, &count)) return node_invalid(n, "its output is too large");
  const char **all = ARENA_ARRAY(arena, const char *, count + 1);
  for (size_t i = 0; all && i < count; i++) {
    const char *begin = strings_text(x[place_in(a, &shape, i)]), *end = strings_text(y[place_in(b, &shape, i)]);
    TRY(strings_work(n, strings_cost(begin) + strings_cost(end)));
    size_t letters = strlen(begin), more = strlen(end) + 1;
    char *joined = arena_alloc(arena, letters + more <= INT32_MAX ? letters + more : SIZE_MAX);
    if (!joined) return STATUS_OUT_OF_MEMORY;
    memcpy(joined, begin, letters);
    memcpy(joined + letters, end, more);
    all[i] = joined;
  }
  return all ? expand_done(c, strings_constant(c, DTYPE_STRING, &shape, all)) : STATUS_OUT_OF_MEMORY;
}

OPERATOR(string_concat) = {
    .name = "StringConcat",
    .since = {20},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = string_concat_expand,
};
