/* BroadcastGradientArgs (com.microsoft): the axes, last first, along which each of two shapes was stretched to the
 * other; over these a gradient is summed. */
#include <string.h>

#include "graph/op.h"

typedef struct Axes {
  int64_t a[RANK_MAX], b[RANK_MAX];
  int a_count, b_count;
} Axes;

static int64_t dim_from_end(const Dim *s, int rank, int i) { return i < rank ? s[rank - 1 - i] : 1; }

/* A missing dim is stretched even to a 1. False when two symbols, or a symbol and a number, may or may not be equal. */
static bool find_axes(const Dim *a, int a_rank, const Dim *b, int b_rank, Axes *out) {
  int rank = a_rank > b_rank ? a_rank : b_rank;
  *out = (Axes){.a_count = 0};
  for (int i = 0; i < rank; i++) {
    Dim da = dim_from_end(a, a_rank, i), db = dim_from_end(b, b_rank, i);
    if (i >= a_rank || (da == 1 && db != 1)) out->a[out->a_count++] = rank - 1 - i;
    else if (i >= b_rank || (db == 1 && da != 1)) out->b[out->b_count++] = rank - 1 - i;
    else if (da != db) return false;
  }
  return true;
}

static Status output_axes(Node *n, int i, const int64_t *axes, int count) {
  Shape shape = SHAPE(count);
  TRY(node_output(n, i, DTYPE_INT64, &shape));
  node_output_known(n, i, axes, count);
  return STATUS_OK;
}

static Status output_unknown(Node *n, int i) {
  Shape shape = SHAPE(graph_fresh_dim(n->graph));
  return node_output(n, i, DTYPE_INT64, &shape);
}

static Status broadcast_gradient_args_infer(Node *n) {
  Axes axes;
  for (int i = 0; i < 2; i++) {
    TRY(node_want_type(n, i, DTYPE_INT64));
    TRY(node_want_rank(n, i, 1, 1));
    Dim rank = n->in[i]->shape.dim[0];
    if (rank > RANK_MAX) return node_fail(n, STATUS_UNSUPPORTED_OP, "shapes of more than %d dims", RANK_MAX);
  }
  bool known = node_is_known(n, 0) && node_is_known(n, 1);
  if (known && find_axes(n->in[0]->known, (int)in_count(n, 0), n->in[1]->known, (int)in_count(n, 1), &axes)) {
    TRY(output_axes(n, 0, axes.a, axes.a_count));
    return output_axes(n, 1, axes.b, axes.b_count);
  }
  TRY(output_unknown(n, 0));
  return output_unknown(n, 1);
}

static void broadcast_gradient_args_run(const Node *n) {
  Axes axes;
  find_axes(n->in[0]->data, (int)in_count(n, 0), n->in[1]->data, (int)in_count(n, 1), &axes);
  if (has_out(n, 0)) memcpy(n->out[0]->data, axes.a, out_count(n, 0) * sizeof *axes.a);
  if (has_out(n, 1)) memcpy(n->out[1]->data, axes.b, out_count(n, 1) * sizeof *axes.b);
}

OPERATOR(broadcast_gradient_args) = {
    .name = "BroadcastGradientArgs",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .outputs = {1, 2},
    .infer = broadcast_gradient_args_infer,
    .run = broadcast_gradient_args_run,
    .cases = CASES({"i64[3]=2,3,4 i64[1]=4", NULL, 0, 2}, {"i64[4]=1,3,1,1 i64[4]=5,3,2,1", NULL, 0, 2},
                   {"i64[2]=3,1 i64[3]=1,1,4", NULL, 0, 2}, {"i64[1]=4 i64[1]=4", NULL, 0, 2},
                   {"i64[2]=1,4 i64[1]=4", NULL, 0, 2}, {"i64[1]=4 i64[3]=2,3,4"}),
};
