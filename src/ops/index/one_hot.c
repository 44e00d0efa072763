/* OneHot: a new axis of `depth` with the on-value at the index and the off-value elsewhere; an index out of range has
 * no on-value. */
#include <string.h>

#include "kernels/copy.h"
#include "graph/dims.h"
#include "ops/index/index.h"
#include "kernels/number.h"
#include "kernels/strided.h"

static int64_t number_at(DType type, const void *data, size_t i) {
  Numbers x;
  numbers_load(&x, data, type, i, 1, 1);
  return dtype_is_float(type) ? number_cut(x.floats[0]) : x.ints[0];
}

/* The depth may have any type; unless it is an int, it is looked up. */
static Status depth_known(Node *n, const Dim **depth, int *count) {
  const Value *v = n->in[1];
  const void *data;
  if (v->type == DTYPE_INT64 || v->type == DTYPE_INT32) return dims_known(n, 1, depth, count);
  if (!dtype_is_number(v->type)) return node_invalid(n, "input 1, the depth, is %s", dtype_name(v->type));
  TRY(node_contents(n, 1, &data));
  *count = (int)shape_elements(&v->shape);
  Dim *dim = ARENA_NEW(n->graph->arena, Dim);
  if (!dim) return STATUS_OUT_OF_MEMORY;
  if (*count == 1) *dim = number_at(v->type, data, 0);
  *depth = dim;
  return STATUS_OK;
}

static Status one_hot_infer(Node *n) {
  const Shape *indices = &n->in[0]->shape;
  const Dim *depth;
  size_t values;
  int count;
  int *axis = NODE_PARAMS(n, int);
  if (!axis) return STATUS_OUT_OF_MEMORY;
  if (!dtype_is_number(n->in[0]->type)) TRY(node_want_index(n, 0));
  TRY(depth_known(n, &depth, &count));
  if (count != 1) return node_invalid(n, "input 1, the depth, must be a scalar");
  if (depth && !dim_is_number(*depth) && !dim_is_symbol(*depth))
    return node_invalid(n, "the depth is %lld", (long long)*depth);
  if (shape_count(&n->in[2]->shape, &values) && values != 2)
    return node_invalid(n, "input 2 must be two values, off and on");
  if (dtype_bytes(n->in[2]->type) == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not write %s", dtype_name(n->in[2]->type));
  if (indices->rank == RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output has %d dimensions, we have up to %d", RANK_MAX + 1,
                     RANK_MAX);
  TRY(node_axis(n, node_int(n, "axis", -1), indices->rank + 1, axis));
  Shape y = {.rank = indices->rank + 1};
  for (int i = 0; i < y.rank; i++)
    y.dim[i] = i == *axis ? (depth ? *depth : graph_fresh_dim(n->graph)) : indices->dim[i - (i > *axis)];
  return node_output(n, 0, n->in[2]->type, &y);
}

static void one_hot_run(const Node *n) {
  const Shape *y = &n->out[0]->shape;
  int axis = *(const int *)n->params;
  size_t item = dtype_bytes(n->in[2]->type), outer = shape_span(y, 0, axis), inner = shape_span(y, axis + 1, y->rank);
  size_t depth = (size_t)y->dim[axis];
  const char *off = n->in[2]->data, *on = off + item;
  char *to = n->out[0]->data;
  strided_fill(to, off, out_count(n, 0), item);
  for (size_t i = 0; i < outer * inner && depth; i++) {
    int64_t k = index_wrap(number_at(n->in[0]->type, n->in[0]->data, i), (int64_t)depth);
    if (k >= 0) copy_element(to + ((i / inner * depth + (size_t)k) * inner + i % inner) * item, on, item);
  }
}

OPERATOR(one_hot) = {
    .name = "OneHot",
    .since = {9, 11},
    .inputs = {3, 3},
    .flags = OP_ANY_TYPE,
    .infer = one_hot_infer,
    .run = one_hot_run,
    .cases = CASES({"v:i64[3]=0,2,-1 i64[]=4 f32[2]=0,1"}, {"v:i64[2,3]=0,1,2,1,7,0 i64[1]=3 f32[2]=-0.5,2", "axis=1"},
                   {"v:i32[2]=1,0 i64[]=2 v:i64[2]=5,6", "axis=0"}),
};
