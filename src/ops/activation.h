/* Activation: what FusedGemm and FusedConv do to each number before it is stored: Relu, or Clip to two bounds. */
#pragma once
#include "ops/op.h"

typedef struct Activation {
  float low, high;
} Activation;

/* The attribute `activation` with its two parameters. */
Status activation_read(const Node *n, float first, float second, Activation *activation);
