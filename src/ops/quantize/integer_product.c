/* Integer products: a factor less its zero point. */
#include "ops/quantize/integer_product.h"

Value *integer_centered(Compose *c, Value *x, Value *point, int axis_from_end) {
  Value *y = compose_cast(c, x, DTYPE_FLOAT32);
  if (!point) return y;
  if (point->shape.rank == 1 && axis_from_end) {
    Shape column = {.rank = axis_from_end + 1};
    for (int i = 0; i < column.rank; i++) column.dim[i] = i ? 1 : point->shape.dim[0];
    point = compose_reshape(c, point, column, NULL);
  }
  return emit(c->graph, "Sub", y, compose_cast(c, point, DTYPE_FLOAT32));
}
