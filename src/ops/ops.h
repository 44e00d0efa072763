/* Ops: every operator by its C name, for files that name some; graph/op.h defines what an operator is. */
#pragma once
#include "graph/op.h"

#define OP(name) extern const Op op_##name;
#include "ops/ops.def"
#undef OP

const Op *op_at(int index); /* from the table, whose order means nothing; NULL past the end */
const Op *const *op_table(int *count);

/* Where a gradient meets the session's state: the planner, the session and its state must know it. */
static inline bool op_is_accumulator(const Node *n) { return n->op == &op_in_place_accumulator_v2; }
