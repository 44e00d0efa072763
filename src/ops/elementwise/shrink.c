/* Shrink: y = x + bias below -lambd, x - bias above lambd, else 0.  dx = dy where it is not that 0. */
#include "graph/expansion.h"
#include "ops/elementwise/arithmetic.h"

typedef struct Shrink {
  float lambd, bias;
} Shrink;

static Status shrink_infer(Node *n) {
  Shrink *p = NODE_PARAMS(n, Shrink);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Shrink){node_float(n, "lambd", 0.5f), node_float(n, "bias", 0)};
  return arithmetic_infer(n);
}

BROADCAST_ROW_1_WITH(shrink_row, Shrink p = *(const Shrink *)n->params,
                     f32x4_select(x < f32x4_splat(-p.lambd), x + p.bias,
                                  (f32x4)((i32x4)(x - p.bias) & (x > f32x4_splat(p.lambd)))))

static Status shrink_grad(Grad *grad) {
  Graph *g = grad->graph;
  const Shrink *p = grad->node->params;
  Value *x = grad->node->in[0];
  Value *kept = emit(g, "Or", emit(g, "Less", x, emit_float(g, -p->lambd)),
                     emit(g, "Greater", x, emit_float(g, p->lambd)));
  grad->dx[0] = emit(g, "Where", kept, grad->dy[0], emit_float(g, 0));
  return STATUS_OK;
}

static Status shrink_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *lambd = expand_number(c, x, (double)node_float(c->node, "lambd", 0.5f));
  Value *bias = expand_number(c, x, (double)node_float(c->node, "bias", 0)), *zero = expand_number(c, x, 0);
  Value *high = emit(g, "Where", emit(g, "Greater", x, lambd), emit(g, "Sub", x, bias), zero);
  return expand_done(c, emit(g, "Where", emit(g, "Less", x, emit(g, "Neg", lambd)), emit(g, "Add", x, bias), high));
}

OPERATOR(shrink) = {
    .name = "Shrink",
    .since = {9},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .in_place = 1,
    .infer = shrink_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){shrink_row},
    .grad = GRADIENT(shrink_grad),
    .expands = arithmetic_expands,
    .expand = shrink_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5", "lambd=1.5 bias=1.5"}, {"f64[9]:-5..5", "lambd=1.5 bias=1.5"}),
};
