#include "train/buffer.h"

#include <math.h>
#include <string.h>

#include "ops/ops.h"

/* Elements that are 0 or one other number, and both: a mask, or a table of unit vectors. */
static bool is_mask(const Value *v) {
  const float *x = v->data;
  float other = 0;
  bool zero = false;
  for (size_t i = 0; i < shape_elements(&v->shape); i++) {
    if (x[i] == 0) zero = true;
    else if (other == 0) other = x[i];
    else if (x[i] != other) return false;
  }
  return zero && other != 0;
}

/* Differences of five numbers of a wave of any phase and mean: d0 + d2 = 2 cos a · d1, d1 + d3 = 2 cos a · d2. */
static bool is_wave(const float d[4], float within) {
  return fabsf(d[2] * (d[0] + d[2]) - d[1] * (d[1] + d[3])) <= within;
}

/* The last rows, as the first may be padding; some column swings. */
static bool is_table_of_waves(const Value *v) {
  size_t columns = v->shape.rank > 1 ? (size_t)v->shape.dim[v->shape.rank - 1] : 0, count = shape_elements(&v->shape);
  bool waves = v->data && columns > 1 && count >= 5 * columns, swings = false;
  const float *x = waves ? (const float *)v->data + count - 5 * columns : NULL;
  float most = 0;
  for (size_t i = 0; waves && i < 4 * columns; i++) {
    float step = fabsf(x[columns + i] - x[i]);
    if (step > most) most = step;
  }
  for (size_t i = 0; waves && i < columns; i++) {
    float d[4];
    for (size_t k = 0; k < 4; k++) d[k] = x[(k + 1) * columns + i] - x[k * columns + i];
    waves = is_wave(d, 1e-3f * most * most);
    swings |= fabsf(d[0] + d[2]) < 1.9f * fabsf(d[1]);
  }
  return waves && swings;
}

static bool is_table(const Reading *r, const Value *v) {
  return r->node->op == &op_gather || v->note == NOTE_ATTRIBUTE;
}

static const Reading *last_reading(const Weights *w, const Value *v) {
  const Readings *all = &w->of[v->index];
  return all->count ? &all->items[all->count - 1] : NULL;
}

bool buffer_is_waves(const Weights *w, const Value *v) {
  const Reading *r = last_reading(w, v);
  return r && (is_table(r, v) || r->as != READ_WEIGHT) && is_table_of_waves(v);
}

/* A window or a blur: kernels of several numbers, the same for each channel. */
static bool is_filter(const Value *v) {
  const float *x = v->data;
  size_t count = (size_t)v->shape.dim[0], size = shape_elements(&v->shape) / count;
  bool same = count > 1, change = false;
  for (size_t i = 1; i < count && same; i++) same = memcmp(x, x + i * size, size * sizeof *x) == 0;
  for (size_t i = 1; i < size && same; i++) change |= x[i] != x[0];
  return change;
}

/* w · mask, which is then a weight. */
static bool masks_a_weight(const Reading *r) { return r->first != r->node && r->first->op == &op_mul; }

bool buffer_by_contents(const Weights *w, const Value *v) {
  const Reading *r = last_reading(w, v);
  if (!r) return false;
  if (r->node->op == &op_conv && r->as == READ_WEIGHT && is_filter(v)) return true;
  return ((is_table(r, v) || masks_a_weight(r)) && r->as != READ_BIAS && is_mask(v)) || buffer_is_waves(w, v);
}

/* Tells whether the last words of its name, after a dot or _, are one of these. */
static bool ends_in(const Value *v, const char *const *names, size_t count) {
  const char *end = v->name + strlen(v->name);
  for (size_t i = 0; i < count; i++) {
    const char *at = end - strlen(names[i]);
    if (at >= v->name && strcmp(at, names[i]) == 0 && (at == v->name || at[-1] == '.' || at[-1] == '_')) return true;
  }
  return false;
}

/* fc.weight, in_proj_bias, lstm.weight_hh_l0, fc.parametrizations.weight.original0, cls_token, pos_embed */
bool buffer_is_none(const Value *v) {
  static const char *const names[] = {"weight", "bias", "biases", "token", "embed", "embedding", "embeddings"};
  const char *last = strrchr(v->name, '.');
  last = last ? last + 1 : v->name;
  return ends_in(v, names, sizeof names / sizeof *names) || strncmp(last, "weight_", 7) == 0 ||
         strncmp(last, "bias_", 5) == 0 || strstr(v->name, ".parametrizations.");
}

/* onnx::Add_932: (1, n) zeros of which TorchScript's exporter computed a copy, as of the final_logits_bias of BART. */
static bool is_row_of_zeros(const Value *v) {
  static const char made[] = "onnx::Add_";
  const float *x = v->data;
  bool zeros = x && v->shape.rank == 2 && v->shape.dim[0] == 1 && strncmp(v->name, made, sizeof made - 1) == 0;
  for (Dim i = 0; zeros && i < v->shape.dim[1]; i++) zeros = x[i] == 0;
  return zeros;
}

/* Tells whether the operator that reads it first is a product, of which it is a factor. */
static bool is_factor(const Weights *w, const Value *v) {
  const Reading *r = last_reading(w, v);
  const Op *op = !r ? NULL : r->first->expanded_from ? r->first->expanded_from->op : r->first->op;
  return op == &op_einsum || op == &op_mat_mul || op == &op_gemm;
}

bool buffer_by_name(const Weights *w, const Value *v) {
  static const char *const names[] = {
      "mask",    "mean", "std",    "var",    "pe",   "freq", "freqs",   "cached",
      "cumprod", "grid", "window", "filter", "filt", "fb",   "anchors", "final_logits_bias"};
  static const char *const kernel[] = {"kernel"};
  if (v->note != NOTE_ATTRIBUTE) return is_row_of_zeros(v);
  return ends_in(v, names, sizeof names / sizeof *names) || (ends_in(v, kernel, 1) && !is_factor(w, v));
}
