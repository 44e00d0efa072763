/* Quantization: how QuantizeLinear and DequantizeLinear read their scales. */
#include "kernels/quantization.h"

Value *quantization_along(Compose *c, Value *v, int rank, int axis) {
  size_t count;
  if (!v || v->shape.rank != 1 || (shape_count(&v->shape, &count) && count == 1)) return v;
  Shape shape = {.rank = rank - axis};
  for (int i = 0; i < shape.rank; i++) shape.dim[i] = i ? 1 : v->shape.dim[0];
  return compose_reshape(c, v, shape, NULL);
}

Status quantization_axis(Compose *c, int *axis) {
  *axis = 0; /* one scale for all of x does not ask for it */
  const Shape *x = compose_shape(c, 0), *scale = compose_shape(c, 1);
  return scale->rank == 0 || (scale->dim[0] == 1 && x->rank < 2) ? STATUS_OK : node_axis(c->node, node_int(c->node, "axis", 1), x->rank, axis);
}
