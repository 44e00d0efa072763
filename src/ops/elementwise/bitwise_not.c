/* BitwiseNot: y = ~x, bit by bit. */
#include "ops/elementwise/arithmetic.h"

static int64_t ints(int64_t a, int64_t b) { return ~a; }
static const Arithmetic arithmetic = {NULL, ints, NULL};

static Status bitwise_not_infer(Node *n) {
  if (n->in[0]->type == DTYPE_FLOAT32)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are float32, which it does not compute");
  return arithmetic_infer(n, &arithmetic);
}

static void bitwise_not_run(const Node *n) { arithmetic_run(n, arithmetic_row); }

OPERATOR(bitwise_not) = {
    .name = "BitwiseNot",
    .since = {18},
    .inputs = {1, 1},
    .infer = bitwise_not_infer,
    .run = bitwise_not_run,
    .cases = CASES({"v:i64[3]=5,-1,12", NULL, 18}, {"u8[4]:0..255", NULL, 18}),
};
