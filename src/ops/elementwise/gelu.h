/* Gelu: x times how likely a normal number is to be smaller, exactly and by two approximations, with their slopes.
 *
 *   gelu        x·Φ(x),  Φ(x) = (1 + erf(x / √2)) / 2          slope  Φ(x) + x·e^(-x²/2) / √(2π)
 *   fast gelu   x·(1 + t) / 2,  t = tanh(√(2/π)·(x + 0.044715·x³))
 *                                                              slope  (1 + t) / 2 + x·(1 - t²) / 2·√(2/π)·(1 +
 * 0.134145·x²) quick gelu  x·s,  s = 1 / (1 + e^(-α·x))                   slope  s + α·x·s·(1 - s)
 */
#pragma once
#include "ops/elementwise/arithmetic.h"

/* Φ(x) to 2.2e-7; far out in the tail, where x² is rounded, to 4e-7·x² of itself. e is e^(-x²/2). With t = 1 / (1 +
 * 0.3·|x|): Φ(-|x|) = e·t·p(t), p a polynomial of degree 7. */
static inline f32x4 f32x4_normal(f32x4 x, f32x4 *e) {
  f32x4 t = 1.0f / (f32x4_abs(x) * 0.3f + 1.0f);
  f32x4 p = f32x4_next(f32x4_next(f32x4_splat(0.0360367708f), t, -0.158715427f), t, 0.208967477f);
  p = f32x4_next(f32x4_next(f32x4_next(p, t, -0.0560983196f), t, 0.129844591f), t, 0.0995227396f);
  p = f32x4_next(f32x4_next(p, t, 0.120816939f), t, 0.119625166f);
  *e = f32x4_exp_below_0(x * x * -0.5f);
  f32x4 tail = *e * t * p;
  return f32x4_select(x < f32x4_splat(0), tail, 1.0f - tail);
}

static inline f32x4 f32x4_gelu(f32x4 x) {
  f32x4 e;
  return x * f32x4_normal(x, &e);
}
static inline f32x4 f32x4_gelu_slope(f32x4 x) {
  f32x4 e, normal = f32x4_normal(x, &e);
  return normal + x * e * 0.398942280f;
}

static inline f32x4 fast_gelu_tanh(f32x4 x) { return f32x4_tanh((x * x * 0.0356774081f + 0.797884561f) * x); }
/* (1 + tanh u) / 2 = sigmoid 2u, which does not cancel where tanh u is near -1. */
static inline f32x4 f32x4_fast_gelu(f32x4 x) { return x * f32x4_sigmoid((x * x * 0.0713548163f + 1.59576912f) * x); }
static inline f32x4 f32x4_fast_gelu_slope(f32x4 x) {
  f32x4 t = fast_gelu_tanh(x);
  return ((t + 1.0f) + x * (1.0f - t * t) * (x * x * 0.107032224f + 0.797884561f)) * 0.5f;
}

static inline f32x4 f32x4_quick_gelu(f32x4 x, float alpha) { return x * f32x4_sigmoid(x * alpha); }
static inline f32x4 f32x4_quick_gelu_slope(f32x4 x, float alpha) {
  f32x4 s = f32x4_sigmoid(x * alpha);
  return s + x * alpha * s * (1.0f - s);
}

/* The gradients with a bias (dY, X, B): defines the row `name`, dx = dy·SLOPE of the four floats x, which are X + B. */
#define GELU_BIAS_GRAD_ROW(name, SLOPE)                                                                                \
  static void name(const Node *n, void *dx, const void *const *in, unsigned moves, size_t count) {                     \
    const float *dy = in[0], *x_ = in[1], *b_ = in[2];                                                                 \
    f32x4 d = f32x4_splat(*dy), v = f32x4_splat(*x_), b = f32x4_splat(*b_);                                            \
    for (size_t i = 0; i < count; i += 4) {                                                                            \
      if (moves & 1) d = f32x4_load_up_to(dy + i, count - i);                                                          \
      if (moves & 2) v = f32x4_load_up_to(x_ + i, count - i);                                                          \
      if (moves & 4) b = f32x4_load_up_to(b_ + i, count - i);                                                          \
      f32x4 x = v + b;                                                                                                 \
      f32x4_store_up_to((float *)dx + i, d * SLOPE, count - i);                                                        \
    }                                                                                                                  \
  }
