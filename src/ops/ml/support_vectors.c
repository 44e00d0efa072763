/* Support vectors: LINEAR x·v, POLY (γ x·v + c)^d, RBF e^(-γ|x - v|²), SIGMOID tanh(γ x·v + c). */
#include "ops/ml/support_vectors.h"

#include <math.h>

#include "kernels/double_math.h"
#include "kernels/power.h"
#include "kernels/rows.h"
#include "kernels/vector_math.h"

SvmFloats svm_floats(const Node *n, const char *name) {
  const Attr *a = node_attr(n, name, ATTR_FLOATS);
  return a ? (SvmFloats){(size_t)a->count, a->floats} : (SvmFloats){0};
}

Status svm_read(const Node *n, size_t count, SvmFloats vectors, SupportVectors *out) {
  static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const Shape *x = &n->in[0]->shape;
  int kernel;
  SvmFloats params = svm_floats(n, "kernel_params");
  TRY(node_want_rank(n, 0, 1, 2));
  TRY(node_choice(n, "kernel_type", "LINEAR", kernels, 4, &kernel));
  if (!count || !vectors.count || vectors.count % count)
    return node_invalid(n, "its %zu numbers are no %zu vectors", vectors.count, count);
  if (params.count && params.count < 3) return node_invalid(n, "kernel_params has %zu numbers, not 3", params.count);
  *out = (SupportVectors){(SvmKernel)kernel, 0, 0, 0, count, vectors.count / count, vectors.items};
  if (params.count) out->gamma = params.items[0], out->coef0 = params.items[1], out->degree = params.items[2];
  Dim features = x->dim[x->rank - 1];
  if (dim_is_number(features) && (size_t)features != out->features)
    return node_invalid(n, "its vectors have %zu features, '%.64s' has %lld", out->features, n->in[0]->name,
                        (long long)features);
  return STATUS_OK;
}

/* The degree is nearly always a whole number. */
static float power(float base, float degree) {
  bool whole = degree == floorf(degree) && degree >= 0 && degree < 64;
  return (float)(whole ? power_of((double)base, (int64_t)degree)
                       : double_exp((double)degree * double_log((double)base)));
}

/* RBF and SIGMOID, four at once: tanh x = 1 - 2 / (e^2x + 1). */
static void bend(const SupportVectors *s, float *x) {
  bool is_tanh = s->kernel == SVM_SIGMOID;
  f32x4 scale = f32x4_splat(is_tanh ? 2 * s->gamma : -s->gamma), shift = f32x4_splat(is_tanh ? 2 * s->coef0 : 0),
        one = f32x4_splat(1);
  for (size_t i = 0; i < s->count; i += 4) {
    f32x4 e = f32x4_exp(f32x4_load_up_to(x + i, s->count - i) * scale + shift);
    f32x4_store_up_to(x + i, is_tanh ? one - f32x4_splat(2) / (e + one) : e, s->count - i);
  }
}

void svm_kernels(const SupportVectors *s, const float *x, float *out) {
  for (size_t i = 0; i < s->count; i++) {
    const float *v = s->vectors + i * s->features;
    out[i] = (s->kernel == SVM_RBF ? row_distance : row_product)(x, v, s->features);
    if (s->kernel == SVM_POLY) out[i] = power(s->gamma * out[i] + s->coef0, s->degree);
  }
  if (s->kernel == SVM_RBF || s->kernel == SVM_SIGMOID) bend(s, out);
}

double svm_work(const Node *n, const SupportVectors *s) {
  double rows = n->in[0]->shape.rank == 1 ? 1 : (double)n->in[0]->shape.dim[0];
  return rows * (double)s->count * ((double)s->features + 16);
}
