/* ConstantOfShape: one value, by default the float 0, everywhere in a tensor of the given shape. */
#include <string.h>

#include "graph/dims.h"
#include "kernels/strided.h"

static Status read_value(const Node *n, DType *type, uint64_t *bits) {
  const Attr *a = node_attr(n, "value", ATTR_TENSOR);
  *type = a ? a->tensor->type : DTYPE_FLOAT32;
  *bits = 0;
  if (!a) return STATUS_OK;
  if (shape_elements(&a->tensor->shape) != 1) return node_invalid(n, "the value must be one element");
  memcpy(bits, a->tensor->data, dtype_bytes(*type));
  return STATUS_OK;
}

static bool known_value(DType type, uint64_t bits, Dim *out) {
  if (type == DTYPE_INT64) *out = (int64_t)bits;
  else if (type == DTYPE_INT32) *out = (int32_t)(uint32_t)bits;
  else if (type == DTYPE_BOOL) *out = bits != 0;
  else return false;
  return true;
}

static Status constant_of_shape_infer(Node *n) {
  const Dim *dims;
  Shape y = {0};
  DType type;
  uint64_t *bits = NODE_PARAMS(n, uint64_t);
  if (!bits) return STATUS_OUT_OF_MEMORY;
  TRY(read_value(n, &type, bits));
  TRY(dims_known(n, 0, &dims, &y.rank));
  if (y.rank > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "the shape has %d dimensions, we have up to %d", y.rank, RANK_MAX);
  for (int i = 0; i < y.rank; i++) {
    y.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (!dim_is_number(y.dim[i]) && !dim_is_symbol(y.dim[i]))
      return node_invalid(n, "dim %d of the shape is negative", i);
  }
  TRY(node_output(n, 0, type, &y));
  size_t count;
  Dim all[64], value;
  if (!known_value(type, *bits, &value) || !shape_count(&y, &count) || count > 64) return STATUS_OK;
  for (size_t i = 0; i < count; i++) all[i] = value;
  node_output_known(n, 0, all, (int)count);
  return STATUS_OK;
}

static void constant_of_shape_run(const Node *n) {
  Strided s = {1, {{out_count(n, 0), 1, 0}}};
  strided_copy(n->out[0]->data, n->params, s, dtype_bytes(n->out[0]->type));
}

OPERATOR(constant_of_shape) = {
    .name = "ConstantOfShape",
    .since = {9, 20, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = constant_of_shape_infer,
    .run = constant_of_shape_run,
    .cases = CASES({"i64[2]=2,3"}, {"i64[0]="}, {"i64[1]=0"}),
};
