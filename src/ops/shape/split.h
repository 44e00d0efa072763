/* What Split and SplitTraining share: all but where the sizes stand. */
#pragma once
#include "graph/op.h"

Status split_infer(Node *n);
void split_run(const Node *n);
Status split_grad(Grad *g);
