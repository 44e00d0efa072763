/* Trilu: the upper triangle of matrices from the k-th diagonal on, or the lower one up to it; 0 elsewhere.  dx =
 * Trilu(dy). */
#include <string.h>

#include "graph/op.h"
#include "kernels/copy.h"

static Status trilu_infer(Node *n) {
  size_t count;
  bool *upper = NODE_PARAMS(n, bool);
  if (!upper) return STATUS_OUT_OF_MEMORY;
  *upper = node_int(n, "upper", 1) != 0;
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  if (has_in(n, 1) && (!shape_count(&n->in[1]->shape, &count) || count != 1))
    return node_invalid(n, "input 1, the diagonal, must be a scalar");
  if (dtype_bytes(n->in[0]->type) == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not cut %s", dtype_name(n->in[0]->type));
  return node_output(n, 0, n->in[0]->type, &n->in[0]->shape);
}

static int64_t clamp(int64_t x, int64_t high) { return x < 0 ? 0 : x > high ? high : x; }

static void trilu_run(const Node *n) {
  const Shape *x = &n->in[0]->shape;
  bool upper = *(const bool *)n->params;
  int64_t rows = x->dim[x->rank - 2], columns = x->dim[x->rank - 1],
          k = has_in(n, 1) ? *(const int64_t *)n->in[1]->data : 0;
  size_t item = dtype_bytes(n->in[0]->type), matrices = shape_span(x, 0, x->rank - 2);
  char *y = n->out[0]->data;
  const char *kept = n->in[0]->data; /* y's own bytes, or others */
  k = k < -rows ? -rows : k > columns ? columns : k;
  for (size_t m = 0; m < matrices && columns; m++) {
    for (int64_t r = 0; r < rows; r++, y += (size_t)columns * item, kept += (size_t)columns * item) {
      /* the diagonal is at column r + k */
      int64_t from = upper ? 0 : clamp(r + k + 1, columns), to = upper ? clamp(r + k, columns) : columns;
      if (y != kept) copy_bytes(y, kept, (size_t)columns * item);
      memset(y + (size_t)from * item, 0, (size_t)(to - from) * item);
    }
  }
}

static Status trilu_grad(Grad *g) {
  Node *n = g->node;
  AttrList upper = ATTRS(attr_of_int("upper", *(const bool *)n->params));
  if (has_in(n, 1)) g->dx[0] = emit_with(g->graph, "Trilu", upper, g->dy[0], n->in[1]);
  else g->dx[0] = emit_with(g->graph, "Trilu", upper, g->dy[0]);
  return STATUS_OK;
}

OPERATOR(trilu) = {
    .name = "Trilu",
    .since = {14},
    .inputs = {1, 2},
    .in_place = 1,
    .flags = OP_ANY_TYPE,
    .infer = trilu_infer,
    .run = trilu_run,
    .grad = GRADIENT(trilu_grad),
    .cases = CASES({"f32[3,4]"}, {"f32[2,4,3] i64[]=-1", "upper=0"}, {"f32[3,4] i64[]=1", "upper=1"},
                   {"f32[2,2] v:i64[]=9"}, {"f32[2,2] v:i64[]=-9", "upper=0"}, {"bool[3,3] i64[]=1", "upper=0"},
                   {"i64[2,3]", "upper=0"}),
};
