/* Convolution: chooses the variant that suits. */
#include "kernels/conv_variant.h"
#include "kernels/depthwise.h"
#include "kernels/depthwise_3x3.h"
#include "kernels/depthwise_spread.h"
#include "kernels/winograd.h"
#include "part.h"

OPTIONAL(conv_plain, conv_plain);
OPTIONAL(conv_plain_input, conv_plain_input);
OPTIONAL(conv_plain_weights, conv_plain_weights);
OPTIONAL(conv_winograd, conv_winograd);
OPTIONAL(conv_winograd_input, conv_winograd_input);
OPTIONAL(conv_winograd_weights, conv_winograd_weights);
OPTIONAL(conv_depthwise, conv_depthwise);
OPTIONAL(conv_depthwise_input, conv_depthwise_input);
OPTIONAL(conv_depthwise_weights, conv_depthwise_weights);
OPTIONAL(conv_depthwise_3x3, conv_depthwise_3x3);
OPTIONAL(conv_depthwise_3x3_input, conv_depthwise_3x3_input);
OPTIONAL(conv_depthwise_3x3_half, conv_depthwise_3x3_half);
OPTIONAL(conv_depthwise_3x3_half_input, conv_depthwise_3x3_half_input);
OPTIONAL(conv_depthwise_3x3_weights, conv_depthwise_3x3_weights);
OPTIONAL(conv_spread, conv_spread);

/* The first that suits; where none is there that does, one that can. */
enum { WAYS = 5 };
static const ConvVariant *first_of(const Conv *conv, const ConvVariant *const ways[WAYS]) {
  for (int i = 0; i < WAYS; i++)
    if (ways[i] && ways[i]->suits(conv)) return ways[i];
  for (int i = 0; i < WAYS; i++)
    if (ways[i] && ways[i]->can && ways[i]->can(conv)) return ways[i];
  return NULL;
}

static const ConvVariant *forward_variant(const Conv *conv) {
  return first_of(conv, (const ConvVariant *const[WAYS]){part_conv_depthwise_3x3, part_conv_depthwise_3x3_half,
                                                         part_conv_depthwise, part_conv_winograd, part_conv_plain});
}

static const ConvVariant *input_variant(const Conv *conv) {
  if (part_conv_spread && part_conv_spread->suits(conv)) return part_conv_spread;
  return first_of(conv, (const ConvVariant *const[WAYS]){part_conv_depthwise_3x3_input,
                                                         part_conv_depthwise_3x3_half_input, part_conv_depthwise_input,
                                                         part_conv_winograd_input, part_conv_plain_input});
}

static const ConvVariant *weights_variant(const Conv *conv) {
  return first_of(conv, (const ConvVariant *const[WAYS]){part_conv_depthwise_3x3_weights, part_conv_depthwise_weights,
                                                         part_conv_winograd_weights, part_conv_plain_weights});
}

const char *conv_missing(const Conv *conv, ConvDirection direction) {
  switch (direction) {
    case CONV_FORWARD: return forward_variant(conv) ? NULL : "plain convolutions";
    case CONV_INPUT: return input_variant(conv) ? NULL : "plain gradients of convolutions' inputs";
    default: return weights_variant(conv) ? NULL : "plain gradients of convolutions' weights";
  }
}

bool conv_forward_bytes(const Conv *conv, size_t *bytes) { return forward_variant(conv)->bytes(conv, bytes); }
bool conv_input_gradient_bytes(const Conv *conv, size_t *bytes) { return input_variant(conv)->bytes(conv, bytes); }
bool conv_weight_gradient_bytes(const Conv *conv, size_t *bytes) { return weights_variant(conv)->bytes(conv, bytes); }

size_t conv_packed_floats(const Conv *conv) {
  const ConvVariant *chosen = forward_variant(conv);
  return chosen->packed_floats ? chosen->packed_floats(conv) : 0;
}

void conv_pack_weights(const Conv *conv, const float *w, float *packed, void *scratch) {
  const ConvVariant *chosen = forward_variant(conv);
  if (chosen->pack) chosen->pack(conv, w, packed, scratch);
}

static void run(const ConvVariant *chosen, const Conv *conv, const float *a, const float *b, const float *bias,
                float *to, void *scratch) {
  variant_see(chosen->variant);
  chosen->run(conv, a, b, bias, to, scratch);
}

void conv_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  run(forward_variant(conv), conv, x, w, bias, y, scratch);
}

void conv_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch) {
  run(input_variant(conv), conv, dy, w, NULL, dx, scratch);
}

void conv_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch) {
  run(weights_variant(conv), conv, x, dy, NULL, dw, scratch);
}
