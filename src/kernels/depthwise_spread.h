/* The depthwise input gradient where x has many numbers for each of dy, as under a pool with a large stride: each dy is
 * spread over its window, which is less work than sliding over the planes of x. */
#pragma once
#include "kernels/conv.h"

bool depthwise_spread_pays(const Conv *conv);
/* conv_input_gradient, for channels == groups; without scratch */
void depthwise_spread(const Conv *conv, const float *dy, const float *w, float *dx);
