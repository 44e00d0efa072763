/* The depthwise input gradient where x has many numbers for each of dy, as under a pool with a large stride: each dy is
 * spread over its window, which is less work than sliding over the planes of x. */
#pragma once
#include "kernels/conv_variant.h"

extern const ConvVariant conv_spread;
