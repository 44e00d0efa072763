/* View: what the operators share whose output is input 0's bytes in another shape. */
#pragma once
#include "graph/op.h"

/* Output 0 of input 0's type and known contents. */
Status view_output(Node *n, const Shape *shape);
void view_run(const Node *n);
/* v in the shape of another value, zeros and all. */
Value *view_like(Graph *g, Value *v, Value *like);
Status view_grad(Grad *g); /* dx = Reshape(dy, Shape(x)) */
