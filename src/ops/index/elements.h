/* Elements: every element of an index tensor names an element of the data in its own line along an axis; what
 * GatherElements, its gradient and ScatterElements share. */
#pragma once
#include "ops/index/index.h"

/* Element i of the indices names element `at` of the data; -1 when it is out of range. */
typedef void ElementsVisit(const Node *n, size_t i, ptrdiff_t at);

/* Checks input `indices` against the data's shape; params. */
Status elements_infer(Node *n, const Shape *data, int indices, Dim axis);
int elements_axis(const Node *n);
void elements_each(const Node *n, const Shape *data, int indices, ElementsVisit *visit);
