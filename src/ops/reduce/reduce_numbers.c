/* Reduce numbers: y is walked with strides of 0 along the reduced dims, and holds the running results. */
#include "ops/reduce/reduce_numbers.h"

#include "kernels/number.h"

static const ReduceNumbers *own(const Node *n) { return n->op->own; }

Status reduce_numbers_check(const Node *n) {
  const ReduceNumbers *r = own(n);
  DType type = n->in[0]->type;
  bool computed = type == DTYPE_FLOAT32 || (type == DTYPE_FLOAT64 && r->floats) ||
                  (type == DTYPE_BOOL && n->version >= 20 && r->bools) ||
                  ((type == DTYPE_INT32 || type == DTYPE_INT64 || type == DTYPE_UINT64) && r->ints);
  return computed ? STATUS_OK
                  : node_fail(n, STATUS_UNSUPPORTED_OP, "its input is %s, which it does not reduce", dtype_name(type));
}

Status reduce_numbers_infer(Node *n) {
  TRY(reduce_numbers_check(n));
  return reduce_infer(n, n->version >= 18, n->version >= 18);
}

static void add_element(const Node *n, const ReduceNumbers *r, size_t from, size_t at) {
  DType type = n->in[0]->type;
  Numbers x, y;
  numbers_load(&x, n->in[0]->data, type, from, 1, 1);
  numbers_load(&y, n->out[0]->data, type, at, 1, 1);
  if (dtype_is_float(type)) {
    y.floats[0] = r->floats(y.floats[0], x.floats[0]);
    numbers_store_floats(&y, n->out[0]->data, type, at, 1);
  } else {
    bool natural = type == DTYPE_UINT64 && r->naturals;
    y.ints[0] = natural ? (int64_t)r->naturals((uint64_t)y.ints[0], (uint64_t)x.ints[0])
                        : r->ints(y.ints[0], x.ints[0]);
    numbers_store_ints(&y, n->out[0]->data, type, at, 1);
  }
}

void reduce_numbers(const Node *n) {
  const ReduceNumbers *r = own(n);
  const Shape *shape = &n->in[0]->shape;
  unsigned axes = ((const Reduce *)n->params)->axes;
  Numbers first = {.floats = {n->in[0]->type == DTYPE_BOOL ? r->first > 0 : r->first}};
  for (size_t i = 0, count = out_count(n, 0); i < count; i++)
    numbers_store_floats(&first, n->out[0]->data, n->in[0]->type, i, 1);
  for (size_t i = 0, count = in_count(n, 0); i < count; i++) {
    size_t rest = i, at = 0, stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
      size_t dim = (size_t)shape->dim[d];
      if (!(axes >> d & 1)) {
        at += rest % dim * stride;
        stride *= dim;
      }
      rest /= dim;
    }
    add_element(n, r, i, at);
  }
}

void reduce_numbers_run(const Node *n) {
  if (n->in[0]->type != DTYPE_FLOAT32) {
    reduce_numbers(n);
    return;
  }
  float *y = out_f32(n, 0), first = (float)own(n)->first;
  for (size_t i = 0, count = out_count(n, 0); i < count; i++) y[i] = first;
  reduce_fold(&n->in[0]->shape, ((const Reduce *)n->params)->axes, in_f32(n, 0), NULL, y, own(n)->row);
}
