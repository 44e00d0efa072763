/* SwiGLU: y = a / (1 + e^(-alpha·a)) · b, of a gate a and numbers b in the same shape. */
#include "graph/expansion.h"

static Status swi_glu_expand(Expansion *c) {
  Graph *g = c->graph;
  Value **in = c->node->in;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  int rank = in[0]->shape.rank;
  for (int i = -1; i < rank; i++) {
    Dim of_a = i < 0 ? rank : in[0]->shape.dim[i], of_b = i < 0 ? in[1]->shape.rank : in[1]->shape.dim[i];
    if (dim_is_number(of_a) && dim_is_number(of_b) && of_a != of_b)
      return node_invalid(c->node, "the gate is %s, the numbers are %s: they must have one shape",
                          shape_print(&in[0]->shape, a), shape_print(&in[1]->shape, b));
  }
  AttrList alpha = ATTRS(attr_of_float("alpha", node_float(c->node, "alpha", 1)));
  return expand_done(c, emit(g, "Mul", emit_with(g, "QuickGelu", alpha, in[0]), in[1]));
}

OPERATOR(swi_glu) = {
    .name = "SwiGLU",
    .since = {28},
    .inputs = {2, 2},
    .expand = swi_glu_expand,
    .cases = CASES({"f32[2,3] f32[2,3]", NULL, 28}, {"f32[9]:-5..5 f32[9]", "alpha=0.7", 28}),
};
