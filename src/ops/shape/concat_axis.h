/* Concat: inputs side by side along one axis; what Concat and ConcatTraining share. */
#pragma once
#include "graph/op.h"

/* Output 0 and params; the attribute `axis` is `otherwise` when absent. */
Status concat_infer(Node *n, int64_t otherwise);
void concat_run(const Node *n);
Status concat_grad(Grad *g); /* dxᵢ = the slice of dy that is xᵢ */
int concat_axis(const Node *n);
