/* Depthwise convolution: every group has one input channel, so it cannot be turned into a product; a window of vectors
 * of four neighbours slides over each plane; the usual windows have a kernel of their own (depthwise_3x3.h). */
#pragma once
#include "kernels/conv_variant.h"

/* For groups with few outputs each; with more outputs a matrix product is wide enough. */
extern const ConvVariant conv_depthwise, conv_depthwise_input, conv_depthwise_weights;
