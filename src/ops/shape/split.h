/* Parts that Split and SplitTraining share: everything except the source of the sizes. */
#pragma once
#include "graph/op.h"

Status split_infer(Node *n);
void split_run(const Node *n);
Status split_grad(Grad *g);
