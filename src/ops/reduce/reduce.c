/* Reduce: the axes, shapes and gradients of operators that reduce. */
#include "ops/reduce/reduce.h"

#include "graph/dims.h"
#include "ops/shape/view.h"

/* The axes are not known yet: nor are the dims. */
static Status infer_deferred(Node *n, int rank) {
  Shape y = {0};
  while (y.rank < rank) y.dim[y.rank++] = graph_fresh_dim(n->graph);
  return node_output(n, 0, n->in[0]->type, &y);
}

static Status read_axes(const Node *n, bool axes_are_input, const int64_t **axes, int *count) {
  *axes = NULL;
  *count = 0;
  if (!axes_are_input) {
    *axes = node_ints(n, "axes", count);
    return STATUS_OK;
  }
  if (!has_in(n, 1)) return STATUS_OK;
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(node_want_rank(n, 1, 1, 1));
  return dims_known(n, 1, axes, count);
}

Status reduce_infer(Node *n, bool axes_are_input, bool noop) {
  const Shape *x = &n->in[0]->shape;
  bool keepdims = node_int(n, "keepdims", 1) != 0;
  const int64_t *axes;
  int count;
  Reduce *p = NODE_PARAMS(n, Reduce);
  if (!p) return STATUS_OUT_OF_MEMORY;
  /* BroadcastGradientArgs between symbols: not even the number of axes is known. */
  bool open = axes_are_input && has_in(n, 1) && n->in[1]->shape.rank == 1 && !dim_is_number(n->in[1]->shape.dim[0]);
  if (open && keepdims) return infer_deferred(n, x->rank);
  TRY(read_axes(n, axes_are_input, &axes, &count));
  if (!axes && count) return infer_deferred(n, keepdims ? x->rank : x->rank - count);
  p->known = true;
  TRY(dims_axes(n, axes, count, x->rank, &p->axes));
  if (!count && !(noop && node_int(n, "noop_with_empty_axes", 0))) p->axes = (1u << x->rank) - 1;
  Shape y = {0};
  for (int i = 0; i < x->rank; i++) {
    bool reduced = p->axes >> i & 1;
    if (!reduced || keepdims) y.dim[y.rank++] = reduced ? 1 : x->dim[i];
  }
  return node_output(n, 0, n->in[0]->type, &y);
}

size_t reduce_count(const Node *n) {
  const Reduce *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t count = 1;
  for (int i = 0; i < x->rank; i++)
    if (p->axes >> i & 1) count *= (size_t)x->dim[i];
  return count;
}

Counted reduce_counted(const Node *n, bool sum) {
  return (Counted){.weight = (double)reduce_count(n), .sum = sum, .stray_at = -1};
}

/* ---- gradient ---- */

/* The constant that Reshape takes to give dy its reduced dims back as 1: numbers stay, the first symbols are copied by
 * 0, one more is left over for -1. False when that is not enough. */
static bool kept_shape(const Node *n, int64_t to[RANK_MAX]) {
  const Reduce *p = n->params;
  const Shape *x = &n->in[0]->shape;
  bool moved = false, left_over = false;
  if (!p->known) return false;
  for (int i = 0; i < x->rank; i++) {
    bool reduced = p->axes >> i & 1;
    moved |= reduced;
    if (reduced) to[i] = 1;
    else if (!moved) to[i] = 0;
    else if (x->dim[i] > 0) to[i] = x->dim[i];
    else if (left_over || x->dim[i] == 0) return false;
    else to[i] = -1, left_over = true;
  }
  return true;
}

static Value *with_kept_dims(Graph *g, Node *n, Value *dy) {
  Value *x = n->in[0];
  int64_t to[RANK_MAX];
  if (node_int(n, "keepdims", 1)) return dy;
  if (kept_shape(n, to)) return emit(g, "Reshape", dy, emit_ints(g, to, x->shape.rank));
  const Reduce *p = n->params;
  int64_t axes[RANK_MAX];
  int count = 0;
  for (int i = 0; i < x->shape.rank; i++)
    if (p->axes >> i & 1) axes[count++] = i;
  Value *kept = emit_with(g, "ReduceSumTraining", ATTRS(attr_of_int("keepdims", 1)), x,
                          p->known ? emit_ints(g, axes, count) : n->in[1]);
  return view_like(g, dy, kept);
}

Value *reduce_sum_gradient(Graph *g, Node *n, Value *dy) {
  return emit(g, "Expand", with_kept_dims(g, n, dy), emit_shape(g, n->in[0]));
}
