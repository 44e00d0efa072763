/* The depthwise input gradient where x has many numbers for each of dy, as under a pool with a large stride: each dy is
 * spread over its window, which is less work than sliding over the planes of x. */
#pragma once
#include "kernels/conv_way.h"

extern const ConvWay conv_spread;
