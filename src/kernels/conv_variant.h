/* A variant of a convolution in one direction, for the shapes that suit it. Each is a part: a shrunk build may lack
 * some. */
#pragma once
#include "kernels/conv.h"
#include "variant.h"

typedef struct ConvVariant {
  Variant variant;
  bool (*suits)(const Conv *conv);
  bool (*can)(const Conv *conv); /* asked if no variant suits; NULL: it suits whatever it can do */
  bool (*bytes)(const Conv *conv, size_t *bytes);
  /* x, w, bias, y; dy, w, NULL, dx; or x, dy, NULL, dw */
  void (*run)(const Conv *conv, const float *a, const float *b, const float *bias, float *to, void *scratch);
  /* The same as conv_packed_floats and conv_pack_weights; NULL: w is used as it is. */
  size_t (*packed_floats)(const Conv *conv);
  void (*pack)(const Conv *conv, const float *w, float *packed, void *scratch);
} ConvVariant;

/* Products whose operands are read straight from the padded images: every convolution. */
extern const ConvVariant conv_plain, conv_plain_input, conv_plain_weights;
