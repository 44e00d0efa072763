/* Work: what each operator does for an element that it reads or writes, and for those that do more, how much. */
#include "ops/work.h"

#include <math.h>

#include "kernels/attention.h"
#include "kernels/dft.h"
#include "kernels/recurrent.h"
#include "kernels/resize.h"
#include "kernels/roi.h"

enum { ELEMENT = 8, SAMPLE = 16 }; /* an element moved or computed with, a place between pixels found */

static double elements(const Value *v) {
  double count = 1;
  for (int i = 0; v && i < v->shape.rank; i++) count *= (double)v->shape.dim[i];
  return v ? count : 0;
}

/* All that is read and written. */
static double moved(const Node *n) {
  double count = 1;
  for (int i = 0; i < n->in_count; i++)
    if (!n->op->reads || n->op->reads(n, i)) count += elements(n->in[i]);
  for (int i = 0; i < n->out_count; i++) count += elements(n->out[i]);
  return ELEMENT * count;
}

/* The dim that a product sums over: the last of A, or the one before. */
static double inner_dim(const Node *n) {
  const Shape *a = &n->in[0]->shape;
  int last = a->rank - 1;
  return last < 0 ? 1 : (double)a->dim[last > 0 && node_int(n, "transA", 0) ? last - 1 : last];
}

/* Each of `by` meets the weights of one channel. */
static double convolution(const Value *by, const Value *w) { return elements(by) * elements(w) / fmax(1, (double)w->shape.dim[0]); }

/* The part of a pool's window that can lie in its picture. */
static double window(const Node *n, const Value *picture) {
  int count;
  const int64_t *kernel = node_ints(n, "kernel_shape", &count);
  double size = 1;
  for (int i = 0; i < count && 2 + i < picture->shape.rank; i++) size *= (double)(kernel[i] < picture->shape.dim[2 + i] ? kernel[i] : picture->shape.dim[2 + i]);
  return size;
}

static double attention(const Attention *a) { return (double)a->images * (double)a->heads * (double)a->queries * (double)a->keys * ((double)a->width + (double)a->value_width + ELEMENT); }

static double recurrent(const Recurrent *r) {
  return (double)r->rows * (double)r->directions * (double)r->cell->gates * (double)r->hidden * ((double)r->inputs + (double)r->hidden + ELEMENT);
}

/* Axis by axis: what lies across it is as large as it ever is. */
static double resize(const Resize *r) {
  double largest = 1, work = 0;
  for (int a = 0; a < r->rank; a++) largest *= (double)(r->axis[a].in > r->axis[a].out ? r->axis[a].in : r->axis[a].out);
  for (int a = 0; a < r->rank; a++)
    if (!r->axis[a].same) work += largest * (double)r->axis[a].taps;
  return work;
}

static double roi_align(const RoiAlign *r) {
  double bins = (double)r->rois * (double)r->out[0] * (double)r->out[1], samples = (double)r->ratio * (double)r->ratio;
  if (!r->ratio) samples = (double)roi_most_samples(r, 0) * (double)roi_most_samples(r, 1);
  return bins * samples * (SAMPLE + 4 * (double)r->channels);
}

/* The bins of a region overlap by a pixel. */
static double max_roi_pool(const Node *n) {
  const Dim *x = n->in[0]->shape.dim, *y = n->out[0]->shape.dim;
  return (double)y[0] * (double)y[1] * ((double)x[2] + 2 * (double)y[2]) * ((double)x[3] + 2 * (double)y[3]);
}

/* Every n-gram of the pool at every place, with every number of items skipped. */
static double tf_idf(const Node *n) {
  int ints;
  const Attr *strings = node_attr(n, "pool_strings", ATTR_STRINGS);
  node_ints(n, "pool_int64s", &ints);
  double columns = (double)n->in[0]->shape.dim[n->in[0]->shape.rank - 1], skips = (double)node_int(n, "max_skip_count", 0) + 1;
  return elements(n->in[0]) * (strings ? strings->count : ints) * fmin(skips, columns) * 2;
}

static double own_work(const Node *n) {
  const Op *op = n->op;
  if (op == &op_mat_mul || op == &op_fused_mat_mul || op == &op_gemm || op == &op_fused_gemm) return elements(n->out[0]) * inner_dim(n);
  if (op == &op_mat_mul_n_bits) return elements(n->out[0]) * inner_dim(n);
  if (op == &op_mat_mul_n_bits_grad) return elements(n->out[0]) * inner_dim(n);
  if (op == &op_conv || op == &op_fused_conv) return convolution(n->out[0], n->in[1]);
  if (op == &op_conv_grad) return 2 * convolution(n->in[0], n->in[2]);
  if (op == &op_conv_transpose) return convolution(n->in[0], n->in[1]);
  if (op == &op_max_pool || op == &op_average_pool) return 2 * elements(n->out[0]) * window(n, n->in[0]);
  if (op == &op_average_pool_grad) return 2 * elements(n->in[0]) * window(n, n->out[0]);
  if (op == &op_attention) return attention(n->params);
  if (op == &op_attention_grad) return 3 * attention(n->params);
  if (op == &op_lstm || op == &op_gru || op == &op_rnn) return recurrent(n->params);
  if (op == &op_lstm_grad || op == &op_gru_grad || op == &op_rnn_grad) return 3 * recurrent(n->params);
  if (op == &op_resize || op == &op_resize_grad) return resize(n->params);
  if (op == &op_roi_align || op == &op_roi_align_grad) return roi_align(n->params);
  if (op == &op_max_roi_pool) return max_roi_pool(n);
  if (op == &op_grid_sample || op == &op_grid_sample_grad) return moved(n) * SAMPLE;
  if (op == &op_dft || op == &op_dft_grad) return dft_work(n->params);
  if (op == &op_det || op == &op_det_grad) return 8 * elements(n->in[n->in_count - 1]) * inner_dim(n);
  if (op == &op_top_k) return elements(n->in[0]) * 64;
  if (op == &op_tf_idf_vectorizer) return tf_idf(n);
  return 0;
}

double work_of(const Node *n) { return moved(n) + own_work(n); }

bool work_may_go_ahead(Node *n) {
  double work = work_of(n);
  if (!(n->graph->work_ahead + work <= WORK_AHEAD_MAX)) return false;
  n->graph->work_ahead += work;
  return true;
}

Status work_compose(const Node *n, double work) {
  Graph *g = n->graph;
  double most = g->work_limit > 0 ? g->work_limit : WORK_DEFAULT;
  g->work_composed += work;
  if (g->work_composed <= most) return STATUS_OK;
  return node_fail(n, STATUS_TOO_MUCH_WORK, "it takes about %.1e of the run's %.1e multiply-adds on these shapes, maxWork allows %.1e", work, g->work_composed, most);
}
