/* QuantizeLinear: y = round(x / scale) + zero point, the nearest there is in its type. */
#include "kernels/compose.h"

/* A scale or zero point of one axis, brought to that axis of x. */
static Value *along(Compose *c, Value *v, int rank, int axis) {
  size_t count;
  if (!v || v->shape.rank != 1 || (shape_count(&v->shape, &count) && count == 1)) return v;
  Shape shape = {.rank = rank - axis};
  for (int i = 0; i < shape.rank; i++) shape.dim[i] = i ? 1 : v->shape.dim[0];
  return compose_reshape(c, v, shape, NULL);
}

static Status axis_of(Compose *c, int *axis) {
  *axis = 0; /* one scale for all of x does not ask for it */
  const Shape *x = compose_shape(c, 0), *scale = compose_shape(c, 1);
  return scale->rank == 0 || (scale->dim[0] == 1 && x->rank < 2) ? STATUS_OK : node_axis(c->node, node_int(c->node, "axis", 1), x->rank, axis);
}

static Status quantize_linear_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis, rank = x->shape.rank;
  TRY(axis_of(c, &axis));
  Value *point = compose_in(c, 2), *y = compose_cast(c, x, DTYPE_FLOAT32);
  y = emit(g, "Round", emit(g, "Div", y, along(c, c->node->in[1], rank, axis)));
  if (point) y = emit(g, "Add", y, along(c, compose_cast(c, point, DTYPE_FLOAT32), rank, axis));
  return compose_done(c, compose_cast(c, y, point ? point->type : DTYPE_UINT8));
}

CASES_OF(quantize_linear_cases) = {{"f32[2,6]:-3..3 f32[]=0.02 u8[]=128", .no_grad = "ints"}, {"f32[2,3]:-3..3 f32[3]=0.02,0.5,1 i8[3]=0,1,-2", .no_grad = "ints"}, {"f32[4]:0..9 f32[]=0.1", .no_grad = "ints"}, {0}};

const Op op_quantize_linear = {
    .name = "QuantizeLinear",
    .since = {10, 13, 19},
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = OP_ANY_TYPE,
    .compose = quantize_linear_compose,
    .cases = CASES(quantize_linear_cases),
};
