/* Cosine window: a sum of cosines over a range, in the type asked for. */
#include "ops/signal/cosine_window.h"

Status cosine_window_expand(Expansion *expand, float a, float b, float c) {
  Graph *g = expand->graph;
  bool periodic = node_int(expand->node, "periodic", 1) != 0;
  Value *count = expand_cast(expand, expand->node->in[0], DTYPE_INT64),
        *size = expand_cast(expand, count, DTYPE_FLOAT32);
  if (!periodic) size = emit(g, "Sub", size, emit_float(g, 1));
  Value *n = expand_cast(expand, expand_range(expand, count), DTYPE_FLOAT32);
  Value *angle = emit(g, "Mul", n, emit(g, "Div", emit_float(g, 6.28318531f), size));
  Value *y = emit(g, "Sub", emit_float(g, a), emit(g, "Mul", emit(g, "Cos", angle), emit_float(g, b)));
  if (c != 0) y = emit(g, "Add", y, emit(g, "Mul", emit(g, "Cos", emit(g, "Add", angle, angle)), emit_float(g, c)));
  return expand_done(expand, expand_cast(expand, y, (DType)node_int(expand->node, "output_datatype", DTYPE_FLOAT32)));
}
