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

/* Rows 0, 1, 2 of a column: sin 0, sin a, sin 2a = 2 sin a cos a, or cos 0, cos a, cos 2a = 2 cos² a - 1. */
static bool is_wave(float x0, float x1, float x2) {
  float square = x1 * x1;
  float off = x0 == 0 ? x2 * x2 - 4 * square * (1 - square) : x2 - 2 * square + 1;
  return (x0 == 0 || x0 == 1) && fabsf(off) < 1e-3f;
}

static bool is_table_of_waves(const Value *v) {
  const float *x = v->data;
  size_t columns = v->shape.rank > 1 ? (size_t)v->shape.dim[v->shape.rank - 1] : 0;
  bool waves = columns && shape_elements(&v->shape) >= 3 * columns, change = false;
  for (size_t i = 0; i < columns && waves; i++) {
    waves = is_wave(x[i], x[columns + i], x[2 * columns + i]);
    change |= x[i] != x[columns + i];
  }
  return waves && change;
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
  const Readings *all = &w->of[v->index];
  const Reading *r = all->count ? &all->items[all->count - 1] : NULL;
  if (!r) return false;
  if (r->node->op == &op_conv && r->as == READ_WEIGHT && is_filter(v)) return true;
  bool table = r->node->op == &op_gather || v->told == TOLD_ATTRIBUTE;
  return ((table || masks_a_weight(r)) && r->as != READ_BIAS && is_mask(v)) || (table && is_table_of_waves(v));
}

static const char *last_word(const Value *v) {
  const char *last = v->name + strlen(v->name);
  while (last > v->name && last[-1] != '.' && last[-1] != '_') last--;
  return last;
}

/* fc.weight, in_proj_bias, lstm.weight_hh_l0, fc.parametrizations.weight.original0 */
bool buffer_is_none(const Value *v) {
  const char *last = strrchr(v->name, '.'), *word = last_word(v);
  last = last ? last + 1 : v->name;
  return strcmp(word, "weight") == 0 || strcmp(word, "bias") == 0 || strncmp(last, "weight_", 7) == 0 ||
         strncmp(last, "bias_", 5) == 0 || strstr(v->name, ".parametrizations.");
}

bool buffer_by_name(const Value *v) {
  static const char *const names[] = {"mask",    "mean", "std",    "var",    "pe",     "freq", "freqs", "cached",
                                      "cumprod", "grid", "window", "kernel", "filter", "filt", "fb",    "anchors"};
  const char *last = last_word(v);
  for (size_t i = 0; v->told == TOLD_ATTRIBUTE && i < sizeof names / sizeof *names; i++)
    if (strcmp(last, names[i]) == 0) return true;
  return false;
}
