/* Convolution and its two gradients, over images (batch, channels, height, width), as products whose operands are read
 * straight from the padded images. ConvTranspose is the same three functions with the roles of x and y changed. */
#pragma once
#include "kernels/window.h"

typedef struct Conv {
  size_t batch, groups;
  size_t channels, features; /* channels of x and of y, over all groups */
  Window window;
  bool clamp; /* y is kept in low … high (Relu is 0 … inf); NaN stays NaN */
  float low, high;
  const float *packed; /* w as conv_pack_weights packed it; NULL: forward packs w each time */
} Conv;

/* The variants that are faster than the plain product; a test switches one off and must get the same result. */
enum { CONV_WINOGRAD = 1, CONV_DEPTHWISE_3X3 = 2 };
extern unsigned conv_algorithms;

/* The variants that a build lacks, in words; NULL: none. */
typedef enum ConvDirection { CONV_FORWARD, CONV_INPUT, CONV_WEIGHTS } ConvDirection;
const char *conv_missing(const Conv *conv, ConvDirection direction);

/* Scratch for each, if no variant is missing; false when the sizes overflow. */
bool conv_forward_bytes(const Conv *conv, size_t *bytes);
bool conv_input_gradient_bytes(const Conv *conv, size_t *bytes);
bool conv_weight_gradient_bytes(const Conv *conv, size_t *bytes);

/* Weights that never change, packed once for all runs of conv_forward: how many floats they take, 0 if w is used as it
 * is. `scratch` is that of conv_forward. */
size_t conv_packed_floats(const Conv *conv);
void conv_pack_weights(const Conv *conv, const float *w, float *packed, void *scratch);

/* y (N, F, OH, OW) = x (N, C, H, W) * w (F, C / groups, KH, KW) + bias (F) or NULL */
void conv_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch);
/* dx[n, c, h, w] = Σ dy[n, f, oh, ow] w[f, c, kh, kw] over all pairs that met there */
void conv_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch);
/* dw[f, c, kh, kw] = Σ over n, oh, ow of dy[n, f, oh, ow] x[n, c, …] */
void conv_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch);
