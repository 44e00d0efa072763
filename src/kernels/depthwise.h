/* Depthwise convolution: every group has one input channel, so it cannot be turned into a product; a window of vectors
 * of four neighbours slides over each plane; the usual windows have a kernel of their own (depthwise_3x3.h). The
 * functions are those of conv.h, for channels == groups. */
#pragma once
#include "kernels/conv.h"

/* Whether each group has one input channel and few outputs, so that a product would be too thin, or a kernel is made
 * for it. */
bool depthwise_suits(const Conv *conv);

bool depthwise_forward_bytes(const Conv *conv, size_t *bytes);
bool depthwise_input_gradient_bytes(const Conv *conv, size_t *bytes);
bool depthwise_weight_gradient_bytes(const Conv *conv, size_t *bytes);

void depthwise_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch);
void depthwise_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch);
void depthwise_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch);
