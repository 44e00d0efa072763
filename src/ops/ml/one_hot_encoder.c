/* OneHotEncoder: 1 at the place of each element's category along a new last axis, else 0; all 0 where it is none of the
 * categories, also where zeros = 0 asks for an error, which a run cannot give. */
#include "kernels/number.h"
#include "ops/ml/class_labels.h"
#include "ops/ml/lookup.h"

static Status one_hot_encoder_infer(Node *n) {
  Lookup *p = NODE_PARAMS(n, Lookup);
  ClassLabels cats;
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(class_labels_read(n, "cats_int64s", "cats_strings", &cats));
  DType type = n->in[0]->type;
  if ((type == DTYPE_STRING) != (cats.type == DTYPE_STRING))
    return node_invalid(n, "input 0 ('%.64s') is %s, the categories are %s", n->in[0]->name, dtype_name(type),
                        dtype_name(cats.type));
  Shape y = n->in[0]->shape;
  if (y.rank == RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output has %d dimensions, we have up to %d", y.rank + 1, RANK_MAX);
  y.dim[y.rank++] = (Dim)cats.count;
  TRY(lookup_make(n, cats.type, cats.data, cats.count, p));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* Floats are cut off to whole numbers. */
static int64_t category(const Lookup *l, const Value *x, size_t at) {
  Numbers number;
  if (!dtype_is_float(x->type)) return lookup_find(l, x->data, x->type, at);
  numbers_load(&number, x->data, x->type, at, 1, 1);
  int64_t whole = number_cut(number.floats[0]);
  return lookup_find(l, &whole, DTYPE_INT64, 0);
}

static void one_hot_encoder_run(const Node *n) {
  const Lookup l = *(const Lookup *)n->params; /* that it does not change, the compiler sees of a copy alone */
  size_t count = in_count(n, 0);
  float *y = out_f32(n, 0);
  memset(y, 0, value_bytes(n->out[0]));
  for (size_t i = 0; i < count; i++, y += l.count) {
    int64_t at = category(&l, n->in[0], i);
    if (at >= 0) y[at] = 1;
  }
}

OPERATOR(one_hot_encoder) = {
    .name = "OneHotEncoder",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = one_hot_encoder_infer,
    .run = one_hot_encoder_run,
    .cases = CASES({"v:i64[2,2]=1,5,3,9", "cats_int64s=[3,1,5]"}, {"v:f32[3]=1,5,2", "cats_int64s=[5,1]"}),
};
