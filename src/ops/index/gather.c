/* Gather: y = x at the indices along one axis.  dx: dy's rows added up where they came from, but for the row of an
 * embedding's padding_idx. */
#include <stdlib.h>

#include "graph/notes.h"
#include "kernels/copy.h"
#include "ops/index/index.h"
#include "size.h"

/* Small known vectors at known places: how models pick a batch size out of a shape. */
static void gather_known(Node *n) {
  const Value *x = n->in[0], *indices = n->in[1];
  Dim picked[64];
  if (!node_is_known(n, 0) || x->shape.rank != 1 || !node_is_known(n, 1) || in_count(n, 1) > 64) return;
  for (size_t i = 0; i < in_count(n, 1); i++) {
    int64_t at = dim_is_symbol(indices->known[i]) ? -1 : index_wrap(indices->known[i], x->shape.dim[0]);
    if (at < 0) return;
    picked[i] = x->known[at];
  }
  node_output_known(n, 0, picked, (int)in_count(n, 1));
}

static Status gather_infer(Node *n) {
  const Shape *x = &n->in[0]->shape, *indices = &n->in[1]->shape;
  int *axis = NODE_PARAMS(n, int);
  if (!axis) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_index(n, 1));
  TRY(node_axis(n, node_int(n, "axis", 0), x->rank, axis));
  if (x->rank - 1 + indices->rank > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output has %d dimensions, we have up to %d",
                     x->rank - 1 + indices->rank, RANK_MAX);
  Shape y = {0};
  for (int i = 0; i < *axis; i++) y.dim[y.rank++] = x->dim[i];
  for (int i = 0; i < indices->rank; i++) y.dim[y.rank++] = indices->dim[i];
  for (int i = *axis + 1; i < x->rank; i++) y.dim[y.rank++] = x->dim[i];
  TRY(node_output(n, 0, n->in[0]->type, &y));
  gather_known(n);
  return STATUS_OK;
}

/* The rows along a dim that a run gathers from each of `outer` slices. */
typedef struct Gathered {
  const Node *n;
  const Value *indices;
  size_t outer, dim, count;
} Gathered;

static void gather_rows(const Gathered *gathered, const char *from, char *to, size_t bytes) {
  const Gathered g = *gathered; /* that it does not change, the compiler sees of a copy alone */
  for (size_t o = 0; o < g.outer; o++, from += g.dim * bytes)
    for (size_t i = 0; i < g.count; i++, to += bytes) {
      int64_t row = index_wrap(index_at(g.indices, i), (int64_t)g.dim);
      if (row < 0) return index_note(g.n, 1, i, (int64_t)g.dim);
      copy_element(to, from + (size_t)row * bytes, bytes);
    }
}

/* Columns of four bytes: some indices at a time are looked at once for all lines. */
static void gather_columns(const Gathered *g, const uint32_t *from, uint32_t *to) {
  enum { COLUMNS = 256 };
  uint32_t at[COLUMNS];
  size_t dim = g->dim, all = g->count;
  for (size_t first = 0; first < all; first += COLUMNS) {
    size_t count = size_min(COLUMNS, all - first);
    for (size_t i = 0; i < count; i++) {
      int64_t column = index_wrap(index_at(g->indices, first + i), (int64_t)dim);
      if (column < 0) return index_note(g->n, 1, first + i, (int64_t)dim);
      at[i] = (uint32_t)column;
    }
    for (size_t o = 0; o < g->outer; o++)
      for (size_t i = 0; i < count; i++) to[o * all + first + i] = from[o * dim + at[i]];
  }
}

static void gather_run(const Node *n) {
  const Value *x = n->in[0];
  int axis = *(const int *)n->params;
  Gathered g = {n, n->in[1], shape_span(&x->shape, 0, axis), (size_t)x->shape.dim[axis], in_count(n, 1)};
  size_t bytes = shape_span(&x->shape, axis + 1, x->shape.rank) * dtype_bytes(x->type);
  if (bytes == 4) gather_columns(&g, x->data, n->out[0]->data);
  else if (bytes) gather_rows(&g, x->data, n->out[0]->data, bytes);
}

Value *index_without_padding(Graph *g, Value *dy, Value *indices, int64_t padding) {
  int64_t last = -1;
  Value *wide = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_INT64)), indices);
  Value *is_padding = emit(g, "Equal", wide, emit_int(g, padding));
  return emit(g, "Where", emit(g, "Unsqueeze", is_padding, emit_ints(g, &last, 1)), emit_float(g, 0), dy);
}

static Status gather_grad(Grad *g) {
  Node *n = g->node;
  const char *padding = notes_find(g->graph, PADDING_KEY, n->out[0]->name);
  Value *dy = g->dy[0];
  if (padding) dy = index_without_padding(g->graph, dy, n->in[1], strtoll(padding, NULL, 10));
  g->dx[0] = emit_with(g->graph, "GatherGrad", ATTRS(attr_of_int("axis", *(const int *)n->params)),
                       emit_shape(g->graph, n->in[0]), n->in[1], dy);
  return STATUS_OK;
}

OPERATOR(gather) = {
    .name = "Gather",
    .since = {1, 11, 13},
    .inputs = {2, 2},
    .weights = 1,
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = gather_infer,
    .run = gather_run,
    .grad = GRADIENT(gather_grad),
    .cases = CASES({"f32[5,3] v:i64[2,2]=0,4,4,-1"}, {"f32[2,5,3] v:i64[2]=1,-5", "axis=1"},
                   {"f32[2,5] v:i32[3]=4,0,4", "axis=-1"}, {"f32[5,3] v:i64[]=2"}, {"i64[3]=7,8,9 i64[1]=-1"},
                   {"f32[4,9] v:i64[3]=1,3,1"}, {"u8[4,2] v:i64[2]=3,0"}),
};
