/* The table of operators; tests/c/order.c has another, in another order. */
#include "ops/ops.h"

static const Op *const ops[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
};

const Op *const *op_table(int *count) { return *count = sizeof ops / sizeof *ops, ops; }
