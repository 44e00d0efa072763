/* Softmax over the middle dim of (outer, n, inner), its logarithm and the gradients of both; all may work in place. */
#pragma once
#include <stddef.h>

typedef struct SoftmaxDims {
  size_t outer, n, inner;
} SoftmaxDims;

/* The code that a build lacks to go down columns, in words; NULL: none. */
const char *softmax_missing(SoftmaxDims d);

/* y = e^(x - max) / Σ e^(x - max) */
void softmax(SoftmaxDims d, const float *x, float *y);
/* dx = y·(dy - Σ dy·y) */
void softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx);

/* For each of the outer × inner places: max x, and log Σ e^(x - max). */
void softmax_normalizers(SoftmaxDims d, const float *x, float *max, float *log_sum);
/* y = (x - max) - log_sum: exact for a large max too. */
void log_softmax(SoftmaxDims d, const float *x, const float *max, const float *log_sum, float *y);
/* dx = dy - e^y·Σ dy */
void log_softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx);
