/* Parts that Attention and AttentionGrad share: their shapes and attributes, stored in the kernel's Attention. */
#pragma once
#include "kernels/attention.h"
#include "graph/op.h"

/* Checks q, k, v at inputs `at` … at + 2 and the mask at input `mask`, which may be absent, and fills n->params (an
 * Attention) once all shapes are numbers. norm: the shape of (images, heads, queries); y: that of the result. */
Status attention_infer(Node *n, int at, int mask, Shape *y, Shape *norm);

double attention_work(const Node *n);
double attention_gradient_work(const Node *n);
