/* Ops: every operator by its C name, for files that name some; graph/op.h defines what an operator is. */
#pragma once
#include "graph/op.h"

#define OP(name) extern const Op op_##name;
#include "ops/ops.def"
#undef OP

const Op *op_at(int index); /* from the table, whose order means nothing; NULL past the end */
const Op *const *op_table(int *count);
