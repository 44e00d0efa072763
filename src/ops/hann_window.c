/* HannWindow: y(n) = 0.5 - 0.5·cos φ, φ = 2πn / size, or / (size - 1) where not periodic. */
#include "kernels/compose.h"

static Status hann_window_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  bool periodic = node_int(c->node, "periodic", 1) != 0;
  Value *count = compose_cast(c, x, DTYPE_INT64), *size = compose_cast(c, count, DTYPE_FLOAT32);
  if (!periodic) size = emit(g, "Sub", size, emit_float(g, 1));
  Value *angle = emit(g, "Mul", compose_cast(c, compose_range(c, count), DTYPE_FLOAT32), emit(g, "Div", emit_float(g, 6.28318531f), size));
  Value *y = emit(g, "Sub", emit_float(g, 0.5f), emit(g, "Mul", emit(g, "Cos", angle), emit_float(g, 0.5f)));
  return compose_done(c, compose_cast(c, y, (DType)node_int(c->node, "output_datatype", DTYPE_FLOAT32)));
}

CASES_OF(hann_window_cases) = {{"i64[]=10", .no_grad = "constant"}, {"i32[]=7", "periodic=0", .no_grad = "constant"}, {0}};

const Op op_hann_window = {
    .name = "HannWindow",
    .since = {17},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .compose = hann_window_compose,
    .cases = CASES(hann_window_cases),
};
