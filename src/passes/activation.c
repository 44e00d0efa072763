/* Activation: a Gemm or Conv computes the Relu or Clip of its result itself, as FusedGemm or FusedConv, if nobody else
 * reads that result. */
#include <math.h>

#include "passes/rewrite.h"
#include "ops/ops.h"

/* The bounds between which n keeps its input: those of Relu, or of a Clip with constant bounds. */
static bool bounds_of(const Node *n, float bounds[2]) {
  bounds[0] = 0, bounds[1] = INFINITY;
  if (n->op == &op_relu) return true;
  if (n->op != &op_clip) return false;
  bounds[0] = -INFINITY;
  for (int i = 1; i < n->in_count; i++)
    if (n->in[i] && !rewrite_number(n->in[i], &bounds[i - 1])) return false;
  return true;
}

/* n's attributes, and the activation as ONNX Runtime spells it. */
static AttrList with_activation(Graph *g, const Node *n, bool gemm, const float bounds[2]) {
  Attr *attrs = ARENA_ARRAY(g->arena, Attr, n->attr_count + 3);
  float *params = ARENA_ARRAY(g->arena, float, 2);
  if (!attrs || !params) return NO_ATTRS;
  int count = n->attr_count;
  for (int i = 0; i < count; i++) attrs[i] = n->attrs[i];
  params[0] = bounds[0], params[1] = bounds[1];
  attrs[count++] = attr_of_string("activation", "Clip");
  if (gemm)
    attrs[count++] = attr_of_float("activation_alpha", bounds[0]),
    attrs[count++] = attr_of_float("activation_beta", bounds[1]);
  else attrs[count++] = (Attr){.name = "activation_params", .kind = ATTR_FLOATS, .count = 2, .floats = params};
  return (AttrList){attrs, count};
}

/* A view between the two does not change any element. */
static Node *behind_views(const Value *v) {
  while (v->kind == VALUE_NODE && v->readers == 1 && v->producer && v->producer->op->flags & OP_VIEW)
    v = v->producer->in[0];
  return v->kind == VALUE_NODE && v->readers == 1 ? v->producer : NULL;
}

static bool rewrite(Graph *g, Node *n) {
  float bounds[2];
  Node *from = bounds_of(n, bounds) ? behind_views(n->in[0]) : NULL;
  bool gemm = from && from->op == &op_gemm;
  if (!from || (!gemm && from->op != &op_conv)) return false;
  AttrList attrs = with_activation(g, from, gemm, bounds);
  Value *made = attrs.count ? emit_first(g, gemm ? "com.trainlet.FusedGemm" : "com.trainlet.FusedConv", attrs, from->in,
                                         from->in_count)
                            : NULL;
  return rewrite_as(n, made ? rewrite_reshape(g, made, &n->out[0]->shape) : NULL);
}

Status pass_activation(Graph *g) { return rewrite_each(g, rewrite); }
