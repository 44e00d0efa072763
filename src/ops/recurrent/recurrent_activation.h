/* Activations of LSTM, GRU and RNN by name, and their slopes from their results. */
#pragma once
#include "graph/op.h"

typedef enum ActivationKind {
  ACTIVATION_SIGMOID,
  ACTIVATION_TANH,
  ACTIVATION_RELU,
  ACTIVATION_AFFINE,
  ACTIVATION_LEAKY_RELU,
  ACTIVATION_THRESHOLDED_RELU,
  ACTIVATION_SCALED_TANH,
  ACTIVATION_HARD_SIGMOID,
  ACTIVATION_ELU,
  ACTIVATION_SOFTSIGN,
  ACTIVATION_SOFTPLUS,
} ActivationKind;

typedef struct Activation {
  ActivationKind kind;
  float alpha, beta;
  float clip;      /* its argument is kept in -clip … clip; inf where there is no clip */
  float low, high; /* f(∓clip): a result that is one of them has slope 0 */
} Activation;

/* The node's activations, `each` of them a direction: those named, or `defaults`. */
Status activations_read(const Node *n, int directions, int each, const ActivationKind *defaults, Activation *out);

/* y = f(y) */
void activation_run(const Activation *a, float *y, size_t n);
/* dy *= f'(x), y = f(x) */
void activation_gradient(const Activation *a, const float *y, float *dy, size_t n);
