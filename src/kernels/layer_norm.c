/* Layer norm: a row at a time, statistics first, then one pass that writes; sums over rows in blocks. */
#include "kernels/layer_norm.h"

#include "kernels/channel.h"
#include "kernels/dims.h"
#include "kernels/vector_math.h"

/* ---- infer ---- */

/* `part` is x's dims from the axis on. */
static bool is_row(const Shape *part, const Shape *x, int axis) {
  bool same = part->rank == x->rank - axis;
  for (int i = 0; same && i < part->rank; i++) same = dims_meet(part->dim[i], x->dim[axis + i]);
  return same;
}

Status layer_norm_infer(Node *n, int x, int scale, int shift, Shape *statistics) {
  const Shape *shape = &n->in[x]->shape;
  char tx[SHAPE_TEXT], ts[SHAPE_TEXT];
  LayerNorm *p = NODE_PARAMS(n, LayerNorm);
  if (!p) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < n->in_count; i++) TRY(node_want_float(n, i));
  TRY(node_want_rank(n, x, 1, RANK_MAX));
  TRY(node_axis(n, node_int(n, "axis", -1), shape->rank, &p->axis));
  p->epsilon = node_float(n, "epsilon", 1e-5f);
  for (int i = scale; i == scale || i == shift; i++)
    if (has_in(n, i) && !is_row(&n->in[i]->shape, shape, p->axis))
      return node_invalid(n, "input %d is %s, it must have the dims of X %s from axis %d on", i, shape_print(&n->in[i]->shape, ts),
                          shape_print(shape, tx), p->axis);
  *statistics = *shape;
  for (int i = p->axis; i < shape->rank; i++) statistics->dim[i] = 1;
  return STATUS_OK;
}

Status layer_norm_want_statistics(const Node *n, const Shape *statistics, int first, int last) {
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  for (int i = first; i <= last; i++) {
    if (!is_row(&n->in[i]->shape, statistics, 0))
      return node_invalid(n, "input %d is %s, it must be %s", i, shape_print(&n->in[i]->shape, came), shape_print(statistics, wanted));
  }
  return STATUS_OK;
}

/* ---- forward ---- */

static void row_normalize(const float *x, float mean, float inv_std, const float *scale, const float *shift, float *y, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    f32x4 v = (f32x4_load_up_to(x + i, n - i) - mean) * inv_std * f32x4_load_up_to(scale + i, n - i);
    f32x4_store_up_to(y + i, shift ? v + f32x4_load_up_to(shift + i, n - i) : v, n - i);
  }
}

static float mean_square(const float *x, size_t n) {
  double sum, product;
  channel_sums(&(Channel){1, n, n}, x, x, 0, &sum, &product);
  return (float)(product / (double)n);
}

void layer_norm_run(const Node *n, bool simplified, float *y, float *means, float *inv_stds) {
  const LayerNorm *p = n->params;
  const Shape *shape = &n->in[0]->shape;
  const float *x = in_f32(n, 0), *scale = in_f32(n, 1), *shift = has_in(n, 2) ? in_f32(n, 2) : NULL;
  size_t rows = shape_span(shape, 0, p->axis), count = shape_span(shape, p->axis, shape->rank);
  for (size_t r = 0; r < rows; r++, x += count) {
    float mean = 0, variance;
    if (simplified) variance = mean_square(x, count);
    else channel_statistics(&(Channel){1, count, count}, x, &mean, &variance);
    float inv_std = 1 / sqrtf(variance + p->epsilon);
    if (y) row_normalize(x, mean, inv_std, scale, shift, y + r * count, count);
    if (means) means[r] = mean;
    if (inv_stds) inv_stds[r] = inv_std;
  }
}

/* ---- gradient ---- */

enum { ROWS = 64 }; /* added up before they join the total, to keep it accurate */

typedef struct Sums {
  float *scale, *shift; /* of the rows since the last join */
} Sums;

bool layer_norm_gradient_scratch(const Node *n, int scale, size_t *bytes) {
  size_t count;
  return shape_count(&n->in[scale]->shape, &count) && size_multiply(count, 2 * sizeof(float), bytes);
}

/* dx = inv_std · (g - Σ g / n - x̂ · Σ g·x̂ / n),  g = dy · scale; the term Σ g / n is the mean's and missing where simplified. */
static void row_dx(const float *dy, const float *x, const float *scale, float mean, bool centered, float inv_std, float *dx, size_t n) {
  f32x4 sums = f32x4_splat(0), products = f32x4_splat(0);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    f32x4 g = f32x4_load(dy + i) * f32x4_load(scale + i);
    sums += g;
    products += g * (f32x4_load(x + i) - mean);
  }
  float sum = f32x4_sum(sums), product = f32x4_sum(products);
  for (; i < n; i++) sum += dy[i] * scale[i], product += dy[i] * scale[i] * (x[i] - mean);
  float shift = centered ? sum / (float)n : 0, slope = product * inv_std * inv_std / (float)n;
  for (i = 0; i < n; i += 4) {
    f32x4 g = f32x4_load_up_to(dy + i, n - i) * f32x4_load_up_to(scale + i, n - i);
    f32x4 centred = f32x4_load_up_to(x + i, n - i) - mean;
    f32x4_store_up_to(dx + i, (g - shift - centred * slope) * inv_std, n - i);
  }
}

/* dscale += dy · x̂, dB += dy */
static void row_sums(const float *dy, const float *x, float mean, float inv_std, Sums sums, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    f32x4 d = f32x4_load_up_to(dy + i, n - i), normal = (f32x4_load_up_to(x + i, n - i) - mean) * inv_std;
    f32x4_store_up_to(sums.scale + i, f32x4_load_up_to(sums.scale + i, n - i) + d * normal, n - i);
    f32x4_store_up_to(sums.shift + i, f32x4_load_up_to(sums.shift + i, n - i) + d, n - i);
  }
}

static void join(float *total, float *part, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (total) total[i] += part[i];
    part[i] = 0;
  }
}

void layer_norm_gradient_run(const Node *n, const float *means, const float *inv_stds, float *dx, float *dscale, float *dshift) {
  const LayerNorm *p = n->params;
  const Shape *shape = &n->in[1]->shape;
  const float *dy = in_f32(n, 0), *x = in_f32(n, 1), *scale = in_f32(n, 2);
  size_t rows = shape_span(shape, 0, p->axis), count = shape_span(shape, p->axis, shape->rank);
  Sums sums = {n->scratch, (float *)n->scratch + count};
  if (count == 0) return;
  memset(n->scratch, 0, 2 * count * sizeof(float));
  if (dscale) memset(dscale, 0, count * sizeof *dscale);
  if (dshift) memset(dshift, 0, count * sizeof *dshift);
  for (size_t r = 0; r < rows; r++) { /* dx may lie over dy or x: their sums come first */
    size_t at = r * count;
    float mean = means ? means[r] : 0;
    if (dscale || dshift) row_sums(dy + at, x + at, mean, inv_stds[r], sums, count);
    if (dx) row_dx(dy + at, x + at, scale, mean, means != NULL, inv_stds[r], dx + at, count);
    if ((r + 1) % ROWS == 0 || r + 1 == rows) join(dscale, sums.scale, count), join(dshift, sums.shift, count);
  }
}
