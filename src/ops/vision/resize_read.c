/* The tables of Resize: which input places an output place is a sum of, by the operator's attributes. */
#include <math.h>

#include "ops/vision/resize_axes.h"

typedef struct Rule {
  enum { NEAREST, LINEAR, CUBIC } mode;
  enum {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN,
    HALF_PIXEL_SYMMETRIC
  } place;
  enum { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL } nearest;
  enum { STRETCH, NOT_LARGER, NOT_SMALLER } policy;
  bool exclude_outside, antialias;
  float a; /* coefficient of the cubic */
} Rule;

/* One axis: by what it is scaled, and what part of it is seen. */
typedef struct Along {
  float scale, begin, end;
} Along;

static Status read_rule(const Node *n, Rule *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
  static const char *const places[] = {"half_pixel",          "pytorch_half_pixel", "align_corners",
                                       "asymmetric",          "tf_crop_and_resize", "tf_half_pixel_for_nn",
                                       "half_pixel_symmetric"};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
  int mode, place, rounding, policy;
  TRY(node_choice(n, "mode", modes[0], modes, 4, &mode));
  TRY(node_choice(n, "coordinate_transformation_mode", places[HALF_PIXEL], places, 7, &place));
  TRY(node_choice(n, "nearest_mode", nearest[ROUND_PREFER_FLOOR], nearest, 4, &rounding));
  TRY(node_choice(n, "keep_aspect_ratio_policy", policies[0], policies, 3, &policy));
  *r = (Rule){.mode = mode == 3 ? LINEAR : mode,
              .place = place,
              .nearest = rounding,
              .policy = policy,
              .a = node_float(n, "cubic_coeff_a", -0.75f),
              .exclude_outside = node_int(n, "exclude_outside", 0) != 0,
              .antialias = node_int(n, "antialias", 0) != 0};
  return STATUS_OK;
}

/* ---- sizes ---- */

static bool is_given(const Node *n, int i) {
  return has_in(n, i) && !(n->in[i]->shape.rank == 1 && n->in[i]->shape.dim[0] == 0);
}

static Status read_floats(const Node *n, int input, int count, const float **floats) {
  const void *data;
  TRY(node_want_float(n, input));
  TRY(node_contents(n, input, &data));
  if (n->in[input]->shape.rank != 1 || n->in[input]->shape.dim[0] != count)
    return node_invalid(n, "input %d must have %d numbers", input, count);
  return *floats = data, STATUS_OK;
}

static Status read_axes(const Node *n, int rank, int axes[RANK_MAX], int *count) {
  const int64_t *given = node_ints(n, "axes", count);
  if (!given) *count = rank;
  if (*count > rank) return node_invalid(n, "axes are more than the %d dimensions of X", rank);
  for (int i = 0; i < *count; i++) TRY(node_axis(n, given ? given[i] : i, rank, &axes[i]));
  return STATUS_OK;
}

static Status by_scales(const Node *n, const Shape *x, const int *axes, int count, const float *scales, Along *along,
                        Shape *y) {
  for (int i = 0; i < count; i++) {
    int a = axes[i];
    float scale = along[a].scale = scales[i];
    if (!(scale > 1e-6f && scale < 1e6f))
      return node_invalid(n, "it scales dimension %d by %g, which must be from 1e-6 to 1e6", a, (double)scale);
    if (dim_is_number(x->dim[a])) y->dim[a] = (Dim)floorf(scale * (float)x->dim[a]);
    else if (scale != 1) y->dim[a] = graph_fresh_dim(n->graph);
  }
  return STATUS_OK;
}

/* The scale that the sizes agree on; 0 while it is not known. */
static float agreed_scale(const Rule *r, const Shape *x, const int *axes, int count, const Dim *sizes) {
  float best = 0;
  for (int i = 0; i < count; i++) {
    if (!dim_is_number(x->dim[axes[i]]) || !dim_is_number(sizes[i]) || x->dim[axes[i]] == 0) return 0;
    float scale = (float)sizes[i] / (float)x->dim[axes[i]];
    if (!i || (r->policy == NOT_LARGER ? scale < best : scale > best)) best = scale;
  }
  return best;
}

static Status by_sizes(const Node *n, const Rule *r, const Shape *x, const int *axes, int count, int input,
                       Along *along, Shape *y) {
  const Dim *sizes;
  int given;
  TRY(node_known(n, input, &sizes, &given));
  if (given != count) return node_invalid(n, "sizes must have %d numbers, it has %d", count, given);
  float agreed = agreed_scale(r, x, axes, count, sizes);
  for (int i = 0; i < count; i++) {
    int a = axes[i];
    if (!dim_is_number(sizes[i]) && !dim_is_symbol(sizes[i]))
      return node_invalid(n, "dimension %d is to have the size %lld", a, (long long)sizes[i]);
    bool known = dim_is_number(sizes[i]) && dim_is_number(x->dim[a]) && x->dim[a] > 0;
    y->dim[a] = r->policy == STRETCH ? sizes[i]
              : agreed > 0           ? (Dim)floorf(agreed * (float)x->dim[a] + 0.5f)
                                     : graph_fresh_dim(n->graph);
    if (known) along[a].scale = r->policy == STRETCH ? (float)sizes[i] / (float)x->dim[a] : agreed;
  }
  return STATUS_OK;
}

static Status read_sizes(const Node *n, const Rule *r, const Shape *x, int first, Along *along, Shape *y) {
  int axes[RANK_MAX], count, scales_at = first + 1;
  const float *floats;
  TRY(read_axes(n, x->rank, axes, &count));
  *y = *x;
  for (int a = 0; a < x->rank; a++) along[a] = (Along){1, 0, 1};
  if (r->place == TF_CROP_AND_RESIZE) {
    TRY(read_floats(n, first, 2 * count, &floats));
    for (int i = 0; i < count; i++) along[axes[i]].begin = floats[i], along[axes[i]].end = floats[count + i];
  }
  if (is_given(n, scales_at + 1)) return by_sizes(n, r, x, axes, count, scales_at + 1, along, y);
  if (!is_given(n, scales_at)) return node_invalid(n, "neither scales nor sizes are given");
  TRY(read_floats(n, scales_at, count, &floats));
  return by_scales(n, x, axes, count, floats, along, y);
}

/* ---- tables ---- */

/* The position in the input of output place o. */
static float place_of(const Rule *r, const Along *w, const ResizeAxis *t, size_t o) {
  float in = (float)t->in, out = (float)t->out, at = (float)o;
  switch (r->place) {
    case PYTORCH_HALF_PIXEL: return t->out > 1 ? (at + 0.5f) / w->scale - 0.5f : 0;
    case ALIGN_CORNERS: return t->out > 1 ? at * (in - 1) / (out - 1) : 0;
    case ASYMMETRIC: return at / w->scale;
    case TF_CROP_AND_RESIZE:
      return t->out > 1 ? w->begin * (in - 1) + at * (w->end - w->begin) * (in - 1) / (out - 1)
                        : 0.5f * (w->begin + w->end) * (in - 1);
    case TF_HALF_PIXEL_FOR_NN: return (at + 0.5f) / w->scale;
    case HALF_PIXEL_SYMMETRIC: return in / 2 * (1 - out / (w->scale * in)) + (at + 0.5f) / w->scale - 0.5f;
    default: return (at + 0.5f) / w->scale - 0.5f;
  }
}

static float rounded(const Rule *r, float x) {
  switch (r->nearest) {
    case ROUND_PREFER_CEIL: return floorf(x + 0.5f);
    case FLOOR: return floorf(x);
    case CEIL: return ceilf(x);
    default: return ceilf(x - 0.5f);
  }
}

/* Weight of a neighbour at distance x. */
static double weight_at(const Rule *r, double x) {
  double a = (double)r->a;
  x = fabs(x);
  if (r->mode == LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int32_t within(float i, size_t in) { return i > 0 ? i < (float)in ? (int32_t)i : (int32_t)in - 1 : 0; }

/* Neighbours start … start + taps - 1 around floor(x); when shrinking, stretched over 1 / shrink times as many. */
static void fill_place(const Rule *r, const ResizeAxis *t, float x, int start, double shrink, int32_t *index,
                       float *weight) {
  if (r->mode == NEAREST) {
    index[0] = within(rounded(r, x), t->in), weight[0] = 1;
  } else {
    float low = floorf(x);
    double sum = 0;
    for (int pass = 0; pass < 2; pass++) /* the sum, then the weights over it */
      for (int i = 0; i < (int)t->taps; i++) {
        float at = low + (float)(start + i);
        bool out = at < 0 || at >= (float)t->in;
        double share = r->exclude_outside && out ? 0 : weight_at(r, ((double)(start + i) - (double)(x - low)) * shrink);
        if (!pass) sum += share;
        else index[i] = within(at, t->in), weight[i] = (float)(share / sum);
      }
  }
  if (r->place == TF_CROP_AND_RESIZE && (x < 0 || x > (float)(t->in - 1))) index[0] = -1;
}

static bool changes_nothing(const ResizeAxis *t) {
  for (size_t o = 0; o < t->out && t->in == t->out; o++)
    for (size_t k = 0; k < t->taps; k++)
      if (t->index[o * t->taps + k] != (int32_t)o && t->weight[o * t->taps + k] != 0) return false;
  return t->in == t->out;
}

static bool doubles(const ResizeAxis *t) {
  for (size_t o = 0; o < t->out; o++)
    if (t->index[o] != (int32_t)(o / 2)) return false;
  return t->taps == 1 && t->out == 2 * t->in;
}

static Status make_axis(Node *n, const Rule *r, const Along *along, int a, ResizeAxis *t) {
  size_t cells;
  if ((t->in == 0 && t->out) || t->in > INT32_MAX)
    return node_invalid(n, "dimension %d of size %zu cannot be resized", a, t->in);
  double shrink = r->antialias && along->scale < 1 ? (double)along->scale : 1;
  double reach = (r->mode == CUBIC ? 2 : 1) / shrink;
  if (!(reach < INT32_MAX / 4)) return node_invalid(n, "dimension %d cannot be scaled by %g", a, (double)along->scale);
  int start = (int)floor(-reach) + 1;
  t->taps = r->mode == NEAREST ? 1 : (size_t)(2 - 2 * start);
  if (!size_multiply(t->out, t->taps, &cells)) return node_fail(n, STATUS_OUT_OF_MEMORY, "its output does not fit");
  t->index = ARENA_ARRAY(n->graph->arena, int32_t, cells);
  t->weight = ARENA_ARRAY(n->graph->arena, float, cells);
  if (!t->index || !t->weight) return STATUS_OUT_OF_MEMORY;
  for (size_t o = 0; o < t->out; o++)
    fill_place(r, t, place_of(r, along, t, o), start, shrink, t->index + o * t->taps, t->weight + o * t->taps);
  t->same = changes_nothing(t);
  t->twice = doubles(t);
  t->inside = r->place != TF_CROP_AND_RESIZE;
  return STATUS_OK;
}

Status resize_read(Node *n, const Shape *x, int first, Shape *y, Resize **out) {
  Rule rule;
  Along along[RANK_MAX];
  *out = NULL;
  TRY(read_rule(n, &rule));
  TRY(read_sizes(n, &rule, x, first, along, y));
  if (!shape_is_concrete(x) || !shape_is_concrete(y)) return STATUS_OK;
  Resize *r = *out = NODE_PARAMS(n, Resize);
  if (!r) return STATUS_OUT_OF_MEMORY;
  r->rank = x->rank;
  r->picks = rule.mode == NEAREST;
  r->outside = node_float(n, "extrapolation_value", 0);
  for (int a = 0; a < x->rank; a++) {
    r->axis[a] = (ResizeAxis){.in = (size_t)x->dim[a], .out = (size_t)y->dim[a]};
    TRY(make_axis(n, &rule, &along[a], a, &r->axis[a]));
  }
  return STATUS_OK;
}
