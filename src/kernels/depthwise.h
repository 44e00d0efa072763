/* Depthwise convolution: every group has one input channel, so there is no product to make of it; each plane is slid
 * over with vectors of four neighbours; the usual windows have a kernel of their own (depthwise_3x3.h). The functions
 * are those of conv.h, for channels == groups. */
#pragma once
#include "kernels/conv.h"

/* One input channel a group and few outputs of it, or a kernel made for it: the product would be too thin. */
bool depthwise_suits(const Conv *conv);

bool depthwise_forward_bytes(const Conv *conv, size_t *bytes);
bool depthwise_input_gradient_bytes(const Conv *conv, size_t *bytes);
bool depthwise_weight_gradient_bytes(const Conv *conv, size_t *bytes);

void depthwise_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch);
void depthwise_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch);
void depthwise_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch);
