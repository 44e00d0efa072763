/* Depthwise convolution of the usual form: 3×3 cells, padding 1, stride 1 or 2, no dilation, rows of at least four
 * pixels. Strips of four columns go down a plane, with all nine weights and the sums of the rows in play in registers.
 */
#pragma once
#include "kernels/conv_variant.h"

/* Stride 1, and stride 2: y has half as many rows and columns. */
extern const ConvVariant conv_depthwise_3x3, conv_depthwise_3x3_half;
extern const ConvVariant conv_depthwise_3x3_input, conv_depthwise_3x3_half_input;
extern const ConvVariant conv_depthwise_3x3_weights;
