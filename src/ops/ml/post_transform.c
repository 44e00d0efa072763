/* Post transform: SOFTMAX, LOGISTIC, SOFTMAX_ZERO (of the scores that are not 0) and PROBIT, as ONNX Runtime computes
 * them. */
#include "ops/ml/post_transform.h"

#include <math.h>

#include "kernels/vector_math.h"

enum { POSTS = 5 };
static const char *const words[POSTS] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
#define NEXT_TO_0 1e-7f /* counts as 0 */

Status post_transform_read(const Node *n, PostTransform *out) {
  int at;
  TRY(node_choice(n, "post_transform", words[POST_NONE], words, POSTS, &at));
  return *out = (PostTransform)at, STATUS_OK;
}

/* ---- of a row ---- */

static float e_to(float x) { return f32x4_exp(f32x4_splat(x))[0]; }

float post_transform_logistic(float x) {
  float y = 1 / (1 + e_to(-fabsf(x)));
  return x < 0 ? 1 - y : y;
}

/* √2 · erf⁻¹(2x - 1), by Winitzki's formula. */
static float probit(float x) {
  float y = 2 * x - 1, l = f32x4_log(f32x4_splat((1 - y) * (1 + y)))[0], v = 2 / (3.14159f * 0.147f) + 0.5f * l;
  return 1.41421356f * (y < 0 ? -1 : 1) * sqrtf(sqrtf(v * v - l / 0.147f) - v);
}

static void softmax_row(float *x, size_t count, bool skips_0) {
  float max = -INFINITY, sum = 0;
  for (size_t i = 0; i < count; i++) max = x[i] > max ? x[i] : max;
  for (size_t i = 0; i < count; i++) {
    bool skipped = skips_0 && fabsf(x[i]) <= NEXT_TO_0;
    x[i] = skipped ? x[i] * e_to(-max) : e_to(x[i] - max);
    if (!skipped) sum += x[i];
  }
  for (size_t i = 0; i < count; i++) x[i] /= sum;
}

void post_transform_row(PostTransform how, float *scores, size_t count) {
  if (how == POST_SOFTMAX || how == POST_SOFTMAX_ZERO) softmax_row(scores, count, how == POST_SOFTMAX_ZERO);
  for (size_t i = 0; i < count && how == POST_LOGISTIC; i++) scores[i] = post_transform_logistic(scores[i]);
  for (size_t i = 0; i < count && how == POST_PROBIT; i++) scores[i] = probit(scores[i]);
}

/* ---- as nodes ---- */

static Value *emit_scaled(Expansion *c, Value *x, float scale, float shift) {
  Value *y = emit(c->graph, "Mul", x, emit_float(c->graph, scale));
  return shift == 0 ? y : emit(c->graph, "Add", y, emit_float(c->graph, shift));
}

static Value *emit_probit(Expansion *c, Value *x) {
  Graph *g = c->graph;
  Value *y = emit_scaled(c, x, 2, -1);
  Value *l = emit(g, "Log", emit(g, "Sub", emit_float(g, 1), emit(g, "Mul", y, y)));
  Value *v = emit_scaled(c, l, 0.5f, 2 / (3.14159f * 0.147f));
  Value *root = emit(g, "Sqrt", emit(g, "Sub", emit(g, "Mul", v, v), emit_scaled(c, l, 1 / 0.147f, 0)));
  return emit_scaled(c, emit(g, "Mul", emit(g, "Sign", y), emit(g, "Sqrt", emit(g, "Sub", root, v))), 1.41421356f, 0);
}

static Value *emit_softmax_zero(Expansion *c, Value *x) {
  Graph *g = c->graph;
  static const int64_t last = -1;
  Value *max = expand_reduce(c, "ReduceMax", x, &last, 1, true);
  Value *counts = emit(g, "Greater", emit(g, "Abs", x), emit_float(g, NEXT_TO_0));
  Value *e = emit(g, "Exp", emit(g, "Sub", x, max));
  Value *sum = expand_reduce(c, "ReduceSum", emit(g, "Where", counts, e, emit_float(g, 0)), &last, 1, true);
  return emit(g, "Div", emit(g, "Where", counts, e, emit(g, "Mul", x, emit(g, "Exp", emit(g, "Neg", max)))), sum);
}

Value *post_transform_emit(Expansion *c, PostTransform how, Value *scores) {
  switch (how) {
    case POST_SOFTMAX: return emit_with(c->graph, "Softmax", ATTRS(attr_of_int("axis", -1)), scores);
    case POST_LOGISTIC: return emit(c->graph, "Sigmoid", scores);
    case POST_SOFTMAX_ZERO: return emit_softmax_zero(c, scores);
    case POST_PROBIT: return emit_probit(c, scores);
    case POST_NONE: break;
  }
  return scores;
}
