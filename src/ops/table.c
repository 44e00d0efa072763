/* The table of operators; tests/c/order.c has another, in another order. A shrunk build has NULL in the rows of those
 * that it lacks. */
#include <stddef.h>

#include "ops/ops.h"

#ifndef TRAINLET_OPS /* wasm/keep.cmake */
#define TRAINLET_OPS "ops/ops.def"
#endif
static const Op *const op_rows[] = {
#define OP(name) &op_##name,
#include TRAINLET_OPS
#undef OP
};

const Op *const *op_table(int *count) { return *count = sizeof op_rows / sizeof *op_rows, op_rows; }

/* Offsets of the fields that `npx trainlet shrink` empties if nothing calls them: the gradient, and the upgrade from
 * older opsets. */
extern const size_t op_fields[];
__attribute__((used)) const size_t op_fields[] = {offsetof(Op, grad), offsetof(Op, upgrade)};
