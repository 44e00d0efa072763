/* Activations of LSTM, GRU and RNN: the slope of each can be computed from its result. */
#include "ops/recurrent/recurrent_activation.h"

#include <math.h>
#include <string.h>

#include "kernels/vector_math.h"

/* Names and defaults in the order of ActivationKind; `alpha` and `beta`: whether it takes one from the node's lists. */
static const struct {
  const char *name;
  bool takes_alpha, takes_beta;
  float alpha, beta;
} kinds[] = {
    {"Sigmoid"},
    {"Tanh"},
    {"Relu"},
    {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01f},
    {"ThresholdedRelu", true, false, 1},
    {"ScaledTanh", true, true, 1, 1},
    {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"Elu", true, false, 1},
    {"Softsign"},
    {"Softplus"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static Status read_kind(const Node *n, const char *name, ActivationKind *out) {
  for (int i = 0; i < KINDS; i++)
    if (strcmp(kinds[i].name, name) == 0) return *out = (ActivationKind)i, STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "activation '%.32s' is none of ONNX's", name);
}

/* A parameter from the list of them, which holds those of the activations that have one, in their order. */
static float next(const Attr *list, int *at, bool takes, float otherwise) {
  return takes && list && *at < list->count ? list->floats[(*at)++] : otherwise;
}

Status activations_read(const Node *n, int directions, int each, const ActivationKind *defaults, Activation *out) {
  const Attr *names = node_attr(n, "activations", ATTR_STRINGS);
  const Attr *alphas = node_attr(n, "activation_alpha", ATTR_FLOATS),
             *betas = node_attr(n, "activation_beta", ATTR_FLOATS);
  int alpha_at = 0, beta_at = 0, count = directions * each;
  float clip = node_float(n, "clip", 0);
  if (names && names->count != count)
    return node_invalid(n, "activations has %d names, it must have %d", names->count, count);
  for (int i = 0; i < count; i++) {
    Activation a = {.kind = defaults[i % each], .clip = clip > 0 ? clip : INFINITY, .low = -INFINITY, .high = INFINITY};
    if (names) TRY(read_kind(n, names->strings[i], &a.kind));
    a.alpha = next(alphas, &alpha_at, kinds[a.kind].takes_alpha, kinds[a.kind].alpha);
    a.beta = next(betas, &beta_at, kinds[a.kind].takes_beta, kinds[a.kind].beta);
    bool one_to_one = a.kind == ACTIVATION_LEAKY_RELU || a.kind == ACTIVATION_ELU || a.kind == ACTIVATION_SCALED_TANH;
    if (one_to_one && !(a.alpha > 0)) /* its slope could not be computed from its result */
      return node_fail(n, STATUS_UNSUPPORTED_OP, "the alpha of %s is %g, it must be above 0", kinds[a.kind].name,
                       (double)a.alpha);
    if (clip > 0) {
      float ends[2] = {-clip, clip};
      activation_run(&a, ends, 2);
      a.low = ends[0], a.high = ends[1];
    }
    out[i] = a;
  }
  return STATUS_OK;
}

static inline f32x4 softplus(f32x4 x) {
  f32x4 zero = f32x4_splat(0);
  return f32x4_max(x, zero) + f32x4_log1p_unit(f32x4_exp(-f32x4_abs(x)));
}

/* Rare activations: the compiler would write a loop for each otherwise. */
static f32x4 seldom(const Activation *a, f32x4 x) {
  f32x4 zero = f32x4_splat(0), one = f32x4_splat(1);
  float alpha = a->alpha, beta = a->beta;
  switch (a->kind) {
    case ACTIVATION_RELU: return f32x4_select(x < zero, zero, x);
    case ACTIVATION_AFFINE: return x * alpha + beta;
    case ACTIVATION_LEAKY_RELU: return f32x4_select(x < zero, x * alpha, x);
    case ACTIVATION_THRESHOLDED_RELU: return f32x4_select(x <= f32x4_splat(alpha), zero, x);
    case ACTIVATION_SCALED_TANH: return f32x4_tanh(x * beta) * alpha;
    case ACTIVATION_HARD_SIGMOID: return f32x4_max(zero, f32x4_min(one, x * alpha + beta));
    case ACTIVATION_ELU: return f32x4_select(x < zero, (f32x4_exp(x) - 1.0f) * alpha, x);
    case ACTIVATION_SOFTSIGN: return x / (f32x4_abs(x) + 1.0f);
    default: return softplus(x);
  }
}

#define EACH_FOUR(EXPRESSION)                                                                                          \
  for (size_t i = 0; i < n; i += 4) {                                                                                  \
    f32x4 x = f32x4_load_up_to(y + i, n - i);                                                                          \
    x = f32x4_max(-clip, f32x4_min(clip, x)); /* NaN stays */                                                          \
    f32x4_store_up_to(y + i, EXPRESSION, n - i);                                                                       \
  }

void activation_run(const Activation *a, float *y, size_t n) {
  f32x4 clip = f32x4_splat(a->clip);
  if (a->kind == ACTIVATION_SIGMOID) EACH_FOUR(f32x4_sigmoid(x))
  else if (a->kind == ACTIVATION_TANH) EACH_FOUR(f32x4_tanh(x))
  else EACH_FOUR(seldom(a, x))
}

static float exp_of(float x) { return f32x4_exp(f32x4_splat(x))[0]; }

static float slope_of(const Activation *a, float y) {
  switch (a->kind) {
    case ACTIVATION_SIGMOID: return y * (1 - y);
    case ACTIVATION_TANH: return 1 - y * y;
    case ACTIVATION_RELU: return y > 0;
    case ACTIVATION_AFFINE: return a->alpha;
    case ACTIVATION_LEAKY_RELU: return y > 0 ? 1 : a->alpha;
    case ACTIVATION_THRESHOLDED_RELU: return y != 0;
    case ACTIVATION_SCALED_TANH: return a->beta * (a->alpha - y * y / a->alpha);
    case ACTIVATION_HARD_SIGMOID: return y > 0 && y < 1 ? a->alpha : 0;
    case ACTIVATION_ELU: return y > 0 ? 1 : y + a->alpha;
    case ACTIVATION_SOFTSIGN: return (1 - fabsf(y)) * (1 - fabsf(y));
    case ACTIVATION_SOFTPLUS: return 1 - exp_of(-y);
  }
  return 0;
}

void activation_gradient(const Activation *a, const float *y, float *dy, size_t n) {
  if (a->clip < INFINITY) {
    for (size_t i = 0; i < n; i++) dy[i] = y[i] == a->low || y[i] == a->high ? 0 : dy[i] * slope_of(a, y[i]);
  } else if (a->kind == ACTIVATION_SIGMOID) {
    for (size_t i = 0; i < n; i++) dy[i] *= y[i] * (1 - y[i]);
  } else if (a->kind == ACTIVATION_TANH) {
    for (size_t i = 0; i < n; i++) dy[i] *= 1 - y[i] * y[i];
  } else {
    for (size_t i = 0; i < n; i++) dy[i] *= slope_of(a, y[i]);
  }
}
