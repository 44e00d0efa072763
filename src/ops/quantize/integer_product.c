/* Integer products: a factor less its zero point. */
#include "ops/quantize/integer_product.h"

Value *integer_centered(Expansion *c, Value *x, Value *point, DType type, int axis_from_end) {
  Value *y = expand_cast(c, x, type);
  if (!point) return y;
  if (point->shape.rank == 1 && axis_from_end) {
    Size column[RANK_MAX] = {SIZE_DIM(point, 0)};
    for (int i = 1; i <= axis_from_end; i++) column[i] = SIZE_NUMBER(1);
    point = expand_reshape(c, point, column, axis_from_end + 1);
  }
  return emit(c->graph, "Sub", y, expand_cast(c, point, type));
}
