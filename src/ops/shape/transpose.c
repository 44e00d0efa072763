/* Transpose: y's dim i is x's dim perm[i], by default in reverse.  dx = dy with the inverse permutation. */
#include "kernels/strided.h"
#include "graph/op.h"

static Status transpose_perm(const Node *n, int perm[RANK_MAX]) {
  int count, rank = n->in[0]->shape.rank;
  const int64_t *given = node_ints(n, "perm", &count);
  unsigned seen = 0;
  if (given && count != rank) return node_invalid(n, "perm has %d axes, the input %d", count, rank);
  for (int i = 0; i < rank; i++) {
    TRY(node_axis(n, given ? given[i] : rank - 1 - i, rank, &perm[i]));
    if (seen >> perm[i] & 1) return node_invalid(n, "perm names axis %d twice", perm[i]);
    seen |= 1u << perm[i];
  }
  return STATUS_OK;
}

static Strided transpose_layout(const Node *n) {
  const int *perm = n->params;
  const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
  size_t from[RANK_MAX], to[RANK_MAX];
  shape_strides(x, from);
  shape_strides(y, to);
  Strided s = {.rank = y->rank};
  for (int i = 0; i < y->rank; i++)
    s.dim[i] = (StridedDim){(size_t)y->dim[i], (ptrdiff_t)to[i], (ptrdiff_t)from[perm[i]]};
  return s;
}

static Status transpose_infer(Node *n) {
  const Value *x = n->in[0];
  int *perm = node_params(n, RANK_MAX * sizeof(int));
  if (!perm) return STATUS_OUT_OF_MEMORY;
  TRY(transpose_perm(n, perm));
  Shape y = {.rank = x->shape.rank};
  for (int i = 0; i < y.rank; i++) y.dim[i] = x->shape.dim[perm[i]];
  TRY(node_output(n, 0, x->type, &y));
  Dim moved[64];
  size_t count;
  if (!x->known || !shape_count(&y, &count) || count > 64) return STATUS_OK;
  strided_copy(moved, x->known, transpose_layout(n), sizeof *moved);
  node_output_known(n, 0, moved, (int)count);
  return STATUS_OK;
}

static void transpose_run(const Node *n) {
  strided_copy(n->out[0]->data, n->in[0]->data, transpose_layout(n), dtype_bytes(n->out[0]->type));
}

static Status transpose_grad(Grad *g) {
  const int *perm = g->node->params;
  int rank = g->node->in[0]->shape.rank;
  int64_t inverse[RANK_MAX];
  for (int i = 0; i < rank; i++) inverse[perm[i]] = i;
  g->dx[0] = emit_with(g->graph, "Transpose", ATTRS(attr_of_ints("perm", inverse, rank)), g->dy[0]);
  return STATUS_OK;
}

OPERATOR(transpose) = {
    .name = "Transpose",
    .since = {1, 13, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = transpose_infer,
    .run = transpose_run,
    .grad = GRADIENT(transpose_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[37,22]"},                       /* tiles, bands and both remainders */
                   {"f32[2,3,4]"}, {"f32[2,3,4,5]", "perm=[0,2,1,3]"}, /* rows stay whole */
                   {"f32[3,6,2,7]", "perm=[0,3,1,2]"},                 /* a plane inside loops, two dims as one */
                   {"f32[5,6,7]", "perm=[2,1,0]"}, {"f32[4,2,5,3]", "perm=[1,3,0,2]"}, {"f32[2,1,3]", "perm=[1,2,0]"},
                   {"f32[3,1030]"}, {"i64[6,5]"}, {"u8[3,4]"}, {"f32[0,3]"}, {"f32[]"}),
};
