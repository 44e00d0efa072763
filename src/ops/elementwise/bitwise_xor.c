/* BitwiseXor: y = a ^ b, bit by bit, with NumPy broadcasting. */
#include "ops/elementwise/arithmetic.h"

static int64_t ints(int64_t a, int64_t b) { return a ^ b; }
static const Arithmetic arithmetic = {NULL, ints, NULL};

static Status bitwise_xor_infer(Node *n) {
  if (n->in[0]->type == DTYPE_FLOAT32)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are float32, which it does not compute");
  return arithmetic_infer(n, &arithmetic);
}

static void bitwise_xor_run(const Node *n) { arithmetic_run(n, arithmetic_row); }

OPERATOR(bitwise_xor) = {
    .name = "BitwiseXor",
    .since = {18},
    .inputs = {2, 2},
    .infer = bitwise_xor_infer,
    .run = bitwise_xor_run,
    .cases = CASES({"v:i64[3]=5,-1,12 v:i64[]=6", NULL, 18}, {"u8[4]:0..255 u8[4]:0..255", NULL, 18}),
};
