/* What Split and SplitTraining share: everything except where the sizes are given. */
#pragma once
#include "graph/op.h"

Status split_infer(Node *n);
void split_run(const Node *n);
Status split_grad(Grad *g);
