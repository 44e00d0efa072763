/* Support vectors: the kernel of a row with each of them. Without any, the coefficients themselves are the vectors of a
 * linear kernel. */
#pragma once
#include "graph/op.h"

typedef enum SvmKernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } SvmKernel;

typedef struct SupportVectors {
  SvmKernel kernel;
  float gamma, coef0, degree;
  size_t count, features;
  const float *vectors;
} SupportVectors;

typedef struct SvmFloats {
  size_t count;
  const float *items;
} SvmFloats;

SvmFloats svm_floats(const Node *n, const char *name); /* reads an attribute; empty if absent */
/* Reads kernel_type and kernel_params; `vectors` hold `count` vectors, as long as x has features. */
Status svm_read(const Node *n, size_t count, SvmFloats vectors, SupportVectors *out);
/* K(x, v) of each vector v. */
void svm_kernels(const SupportVectors *s, const float *x, float *out);
double svm_work(const Node *n, const SupportVectors *s);
