/* IsNaN: y is true where x is not a number: x ≠ x. */
#include "graph/expansion.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/comparison.h"

static inline i32x4 four_of(const float *x_) {
  f32x4 x = f32x4_load(x_);
  return x != x;
}

static void is_nan_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  const float *x = in[0];
  uint8_t *y = y_;
  size_t i = 0;
  for (; i + 16 <= count; i += 16)
    comparison_store(y + i, four_of(x + i), four_of(x + i + 4), four_of(x + i + 8), four_of(x + i + 12));
  for (; i < count; i++) y[i] = x[i] != x[i];
}

static Status is_nan_infer(Node *n) { return node_output(n, 0, DTYPE_BOOL, &n->in[0]->shape); }
static void is_nan_run(const Node *n) { broadcast_run(n, 1, is_nan_row); }

static Status is_nan_expand(Expansion *c) {
  Value *x = c->node->in[0];
  return expand_done(c, emit(c->graph, "Not", emit(c->graph, "Equal", x, x)));
}

OPERATOR(is_nan) = {
    .name = "IsNaN",
    .since = {9, 13, 20},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .infer = is_nan_infer,
    .run = is_nan_run,
    .expands = arithmetic_expands,
    .expand = is_nan_expand,
    .cases = CASES({"v:f32[4]=nan,0,inf,-1", .no_grad = "bool"}, {"v:f64[4]=nan,0,inf,-1", .no_grad = "bool"},
                   {"v:f32[19]=0,1,2,nan,4,5,6,7,8,9,nan,11,12,13,14,15,16,17,nan", .no_grad = "bool"}),
};
