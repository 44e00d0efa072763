/* Parts that Gemm and FusedGemm share. */
#pragma once
#include "kernels/gemm.h"
#include "graph/op.h"

typedef struct GemmParams {
  Gemm gemm; /* all but the data */
  bool trans_a, trans_b;
  size_t lda, ldb;
} GemmParams;

Status gemm_op_infer(Node *n); /* params are a GemmParams */
void gemm_op_run(const Node *n);
/* alpha · a · b as a Gemm node of g, either matrix transposed; NULL on failure. */
Value *gemm_emit(Graph *g, float alpha, Value *a, bool trans_a, Value *b, bool trans_b);
