/* NonZero: where x is not 0: a column of indices for each place. Computed ahead, since its shape follows from them. */
#include <string.h>

#include "graph/expansion.h"

/* -0 is 0. */
static bool is_set(const void *data, size_t i, DType type, size_t item) {
  static const char zeros[8];
  if (type == DTYPE_FLOAT32) return ((const float *)data)[i] != 0;
  if (type == DTYPE_FLOAT64) return ((const double *)data)[i] != 0;
  return memcmp((const char *)data + i * item, zeros, item) != 0;
}

static Status non_zero_expand(Expansion *c) {
  const Shape *x = expand_shape(c, 0);
  const void *data;
  size_t count, item = dtype_bytes(c->node->in[0]->type), found = 0;
  if (expand_is_early(c)) return expand_deferred(c);
  TRY(node_contents(c->node, 0, &data));
  if (!shape_count(x, &count)) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; i++) found += is_set(data, i, c->node->in[0]->type, item);
  int64_t *at = arena_alloc_array(c->graph->arena, found, (size_t)(x->rank ? x->rank : 1) * sizeof *at);
  if (!at) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0, k = 0; i < count; i++) {
    if (!is_set(data, i, c->node->in[0]->type, item)) continue;
    size_t rest = i;
    for (int d = x->rank - 1; d >= 0; d--, rest /= (size_t)x->dim[d + 1])
      at[(size_t)d * found + k] = (int64_t)(rest % (size_t)x->dim[d]);
    k++;
  }
  const char *name = graph_fresh_name(c->graph, "const");
  Shape y = SHAPE(x->rank, (Dim)found);
  return expand_done(c, name ? graph_constant(c->graph, name, DTYPE_INT64, &y, at) : NULL);
}

static Status non_zero_infer(Node *n) {
  Shape y = SHAPE(n->in[0]->shape.rank, 0);
  TRY(node_deferred_dim(n, &y.dim[1]));
  return node_output(n, 0, DTYPE_INT64, &y);
}

OPERATOR(non_zero) = {
    .name = "NonZero",
    .since = {9, 13},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = non_zero_infer,
    .expand = non_zero_expand,
    .cases = CASES({"f32[2,2]=1,0,1,1", .no_grad = "positions"}),
};
