/* Depthwise convolution of the usual form: 3×3 cells, padding 1, stride 1 or 2, no dilation, rows of at least four
 * pixels. Strips of four columns go down a plane, with all nine weights and the sums of the rows in play in registers.
 * The functions are those of conv.h. */
#pragma once
#include "kernels/conv.h"

bool depthwise_3x3_suits(const Conv *conv);
bool depthwise_3x3_suits_input(const Conv *conv); /* its gradient wants one feature a channel */

void depthwise_3x3_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y);
void depthwise_3x3_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx);
void depthwise_3x3_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw);
