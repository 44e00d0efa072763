/* Quantization: how QuantizeLinear and DequantizeLinear read their scales. */
#include "kernels/quantization.h"

/* Since opset 21 a scale may be of block_size neighbours along the axis. */
static Value *blocks_along(Compose *c, Value *v, int64_t block, int axis) {
  int64_t size = compose_shape(c, 0)->dim[axis], *places = ARENA_ARRAY(c->graph->arena, int64_t, size);
  for (int64_t i = 0; places && i < size; i++) places[i] = i / block;
  return places ? emit_with(c->graph, "Gather", ATTRS(attr_of_int("axis", axis)), v, emit_ints(c->graph, places, (int)size)) : NULL;
}

Value *quantization_along(Compose *c, Value *v, int axis) {
  size_t count;
  int64_t block = node_int(c->node, "block_size", 0);
  v = compose_cast(c, v, DTYPE_FLOAT32);
  if (v && block > 0) return blocks_along(c, v, block, axis);
  if (!v || v->shape.rank != 1 || (shape_count(&v->shape, &count) && count == 1)) return v;
  Shape shape = {.rank = compose_shape(c, 0)->rank - axis};
  for (int i = 0; i < shape.rank; i++) shape.dim[i] = i ? 1 : v->shape.dim[0];
  return compose_reshape(c, v, shape, NULL);
}

static Status check_blocks(Compose *c, int64_t block, int axis) {
  char sx[SHAPE_TEXT], ss[SHAPE_TEXT];
  const Shape *x = compose_shape(c, 0), *scale = compose_shape(c, 1);
  TRY(compose_want_number(c, 0, axis));
  bool fits = x->rank == scale->rank && x->dim[axis] <= INT32_MAX && scale->dim[axis] == (x->dim[axis] + block - 1) / block;
  return fits ? STATUS_OK : node_invalid(c->node, "x is %s, its scales %s are not of blocks of %lld along axis %d", shape_print(x, sx), shape_print(scale, ss), (long long)block, axis);
}

Status quantization_axis(Compose *c, int *axis) {
  *axis = 0; /* one scale for all of x does not ask for it */
  const Shape *x = compose_shape(c, 0), *scale = compose_shape(c, 1);
  int64_t block = node_int(c->node, "block_size", 0);
  if (block < 0) return node_invalid(c->node, "block_size is %lld", (long long)block);
  if (scale->rank == 0 || (!block && scale->dim[0] == 1 && x->rank < 2)) return STATUS_OK;
  TRY(node_axis(c->node, node_int(c->node, "axis", 1), x->rank, axis));
  return block ? check_blocks(c, block, *axis) : STATUS_OK;
}
