/* BitwiseNot: y = ~x, bit by bit. */
#include "ops/elementwise/arithmetic.h"

static int64_t ints(int64_t a, int64_t b) { return ~a; }
BROADCAST_ROW_INTS(bits_row, uint8_t, dtype_bytes(n->out[0]->type), ~a)

OPERATOR(bitwise_not) = {
    .name = "BitwiseNot",
    .since = {18},
    .inputs = {1, 1},
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){.ints = ints, .bits = bits_row},
    .cases = CASES({"v:i64[3]=5,-1,12", NULL, 18}, {"u8[4]:0..255", NULL, 18}),
};
