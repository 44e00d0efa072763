/* A convolution over (batch, channels, depth, height, width) as one over images: the part of x that the kernel's depth
 * sees is unrolled into channels, so that w (F, C, KD, KH, KW) can be used as it is, and every output depth is an image
 * of its own.
 *
 *   x (N, C, D, H, W) ─unroll─▶ (N · OD, C · KD, H, W) ─conv─▶ (N · OD, F, OH, OW) ─turn─▶ y (N, F, OD, OH, OW)
 *
 * With a channel for each group and feature, each kernel depth stays a channel of its own, and these are summed:
 *
 *   x (N, C, D, H, W) ─unroll─▶ (N · OD, C · KD, H, W) ─conv─▶ (N · OD, C · KD, OH, OW) ─sum─▶ y (N, C, OD, OH, OW)
 *
 * Without a depth it is just the convolution. */
#pragma once
#include "kernels/conv.h"

typedef struct Conv3d {
  Conv conv;              /* the convolution of the images */
  Window depth;           /* along its axis 0 */
  size_t batch, channels; /* x's */
  size_t features;        /* y's */
  bool deep;
} Conv3d;

/* `conv` is of x and y without their depth. */
Conv3d conv3d_of(Conv conv, Window depth, bool deep);

const char *conv3d_missing(const Conv3d *c, ConvDirection direction); /* same as conv_missing, for three dims */

bool conv3d_forward_bytes(const Conv3d *c, size_t *bytes);
bool conv3d_input_gradient_bytes(const Conv3d *c, size_t *bytes);
bool conv3d_weight_gradient_bytes(const Conv3d *c, size_t *bytes);
void conv3d_forward(const Conv3d *c, const float *x, const float *w, const float *bias, float *y, void *scratch);
void conv3d_input_gradient(const Conv3d *c, const float *dy, const float *w, float *dx, void *scratch);
void conv3d_weight_gradient(const Conv3d *c, const float *x, const float *dy, float *dw, void *scratch);

/* Numbers of a plane of y: of one image and one feature. */
static inline size_t conv3d_out(const Conv3d *c) { return c->depth.out[0] * window_out(&c->conv.window); }
