/* What Split and SplitTraining share: all but where the sizes stand. */
#pragma once
#include "ops/op.h"

Status split_infer(Node *n, bool from_input); /* the sizes are input 1, not an attribute */
void split_run(const Node *n);
Status split_grad(Grad *g);
