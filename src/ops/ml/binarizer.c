/* Binarizer: 1 where x is above the threshold, else 0, in x's type. */
#include "graph/expansion.h"

static Status binarizer_expand(Expansion *c) {
  Value *x = c->node->in[0];
  float threshold = node_float(c->node, "threshold", 0);
  Value *wide = x->type == DTYPE_FLOAT64 ? x : expand_cast(c, x, DTYPE_FLOAT32);
  Value *above = emit(c->graph, "Greater", wide, expand_number(c, wide, threshold));
  return expand_done(c, emit_with(c->graph, "Cast", ATTRS(attr_of_int("to", x->type)), above));
}

OPERATOR(binarizer) = {
    .name = "Binarizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = binarizer_expand,
    .cases = CASES({"f32[3,4]", "threshold=0.5"}, {"v:i64[3]=-1,0,1"}, {"v:f64[3]=-1,0,1", "threshold=-0.5"}),
};
