/* Resize, axis by axis: every output place is a weighted sum of a few input places, by a table that infer makes.
 *
 *   y[o] = Σ over t of weight[o · taps + t] · x[index[o · taps + t]]          gradient: the table transposed
 */
#pragma once
#include "graph/op.h"

typedef struct ResizeAxis {
  size_t in, out, taps;
  int32_t *index; /* -1 as a place's first: it lies outside of the picture (tf_crop_and_resize) */
  float *weight;
  bool same;   /* nothing changes along it */
  bool twice;  /* every place stands twice */
  bool inside; /* no index is -1 */
} ResizeAxis;

typedef struct Resize {
  int rank;
  bool picks; /* every output is an input */
  float outside;
  ResizeAxis axis[RANK_MAX];
} Resize;

/* Reads the attributes and inputs of Resize or of Upsample, its form before opset 10; `first` is the input that follows
 * X. Gives y's shape, and the tables when every shape is numbers (NULL otherwise). */
Status resize_read(Node *n, const Shape *x, int first, Shape *y, Resize **out);
Status resize_bytes(Node *n, const Resize *r); /* sets scratch_bytes */
void resize_pick(const Resize *r, const float *x, float *y);
void resize_forward(const Resize *r, const float *x, float *y, void *scratch);
void resize_gradient(const Resize *r, const float *dy, float *dx, void *scratch);

/* Parts that Resize and Upsample share: all but their names. */
Status resize_op_infer(Node *n);
void resize_op_run(const Node *n);
Status resize_op_grad(Grad *g);

double resize_work(const Node *n);
