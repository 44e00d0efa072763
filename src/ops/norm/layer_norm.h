/* Layer norm: rows of x brought to mean 0 and variance 1, or (simplified) to a mean square of 1; what both
 * normalizations and their gradients share.
 *
 *   x (rows, n):  x̂ = (x - mean) · inv_std,  inv_std = 1 / √(Σ (x - mean)² / n + ε),  y = x̂ · scale + B
 *   simplified:   mean = 0, B = 0
 */
#pragma once
#include "graph/op.h"

typedef struct LayerNorm {
  int axis; /* the first dim of a row */
  float epsilon;
} LayerNorm;

/* Checks x, its scale and its optional B (shift, -1 for none); params; the shape of one number a row, with the row's
 * dims as 1. */
Status layer_norm_infer(Node *n, int x, int scale, int shift, Shape *statistics);
/* Inputs first…last must have one number a row. */
Status layer_norm_want_statistics(const Node *n, const Shape *statistics, int first, int last);

/* y of the node (X, scale, B?), and of each row the mean and inv_std where these are not NULL. */
void layer_norm_run(const Node *n, bool simplified, float *y, float *means, float *inv_stds);

/* Floats of scratch that the gradient wants, as bytes; false when they overflow. */
bool layer_norm_gradient_bytes(const Node *n, int scale, size_t *bytes);
/* dx, dscale, dB of the node (dY, X, scale, …); any may be NULL. means is NULL where simplified. */
void layer_norm_gradient_run(const Node *n, const float *means, const float *inv_stds, float *dx, float *dscale,
                             float *dshift);
