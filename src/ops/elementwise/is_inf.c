/* IsInf: y is true where x is infinite, of the signs that detect_positive and detect_negative name. */
#include <math.h>

#include "graph/expansion.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/comparison.h"

/* The infinities to detect; NaN, which equals nothing, for a sign that is not detected. */
typedef struct IsInf {
  float high, low;
} IsInf;

static Status is_inf_infer(Node *n) {
  IsInf *p = NODE_PARAMS(n, IsInf);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (IsInf){node_int(n, "detect_positive", 1) ? INFINITY : NAN, node_int(n, "detect_negative", 1) ? -INFINITY : NAN};
  return node_output(n, 0, DTYPE_BOOL, &n->in[0]->shape);
}

static inline i32x4 four_of(const float *x_, IsInf p) {
  f32x4 x = f32x4_load(x_);
  return (x == f32x4_splat(p.high)) | (x == f32x4_splat(p.low));
}

static void is_inf_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  IsInf p = *(const IsInf *)n->params;
  const float *x = in[0];
  uint8_t *y = y_;
  size_t i = 0;
  for (; i + 16 <= count; i += 16)
    comparison_store(y + i, four_of(x + i, p), four_of(x + i + 4, p), four_of(x + i + 8, p), four_of(x + i + 12, p));
  for (; i < count; i++) y[i] = x[i] == p.high || x[i] == p.low;
}

static void is_inf_run(const Node *n) { broadcast_run(n, 1, is_inf_row); }

static Status is_inf_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  bool high = node_int(c->node, "detect_positive", 1) != 0, low = node_int(c->node, "detect_negative", 1) != 0;
  Value *infinity = expand_number(c, x, INFINITY), *tested = high && low ? emit(g, "Abs", x)
                                                           : low         ? emit(g, "Neg", x)
                                                                         : x;
  Value *y = emit(g, "Equal", tested, infinity);
  return expand_done(c, high || low ? y : emit(g, "And", y, emit(g, "Not", y)));
}

OPERATOR(is_inf) = {
    .name = "IsInf",
    .since = {10, 20},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .infer = is_inf_infer,
    .run = is_inf_run,
    .expands = arithmetic_expands,
    .expand = is_inf_expand,
    .cases = CASES({"v:f32[4]=nan,0,inf,-inf", .no_grad = "bool"},
                   {"v:f32[4]=nan,0,inf,-inf", "detect_negative=0", .no_grad = "bool"},
                   {"v:f32[4]=nan,0,inf,-inf", "detect_positive=0", .no_grad = "bool"},
                   {"v:f32[19]=0,1,inf,nan,4,-inf,6,7,8,9,nan,11,12,13,14,15,16,inf,-inf", .no_grad = "bool"},
                   {"v:f64[4]=nan,0,inf,-inf", .no_grad = "bool"}),
};
