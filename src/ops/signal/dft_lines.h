/* Dft: ONNX's DFT of the lines of a tensor along one axis, and its gradient, which is a transform too. */
#pragma once
#include "kernels/fft.h"
#include "graph/op.h"

typedef struct Dft {
  size_t outer, inner; /* lines before and behind the axis, without the last dim */
  size_t x_length, y_length;
  int x_parts, y_parts; /* 1: real numbers, 2: complex ones */
  bool inverse, onesided;
  Fft fft;
} Dft;

/* Reads a transform of X's shape with its length in input `length`, which may be absent. Stores Y's shape, and the
 * parameters if every shape consists of numbers (NULL otherwise), and sets scratch_bytes. */
Status dft_read(Node *n, const Shape *x, int axis, int length, Shape *y, Dft **out);
double dft_work(const Dft *d); /* multiply-adds, about */
void dft_forward(const Dft *d, const float *x, float *y, void *scratch);
void dft_gradient(const Dft *d, const float *dy, float *dx, void *scratch);

static inline double dft_node_work(const Node *n) { return dft_work(n->params); }
