/* Activation: what FusedGemm and FusedConv do to each number before it is stored: Relu, or Clip to two bounds. */
#pragma once
#include "graph/expansion.h"

typedef struct Activation {
  float low, high;
} Activation;

/* The attribute `activation` with its two parameters. */
Status activation_read(const Node *n, float first, float second, Activation *activation);

/* The operator that `activation` names, of x; its two numbers are given where it has any. */
Value *activation_expand(Expansion *c, Value *x, const float *numbers, int count);
/* All attributes but those of the activation. */
AttrList activation_less(const Expansion *c);
