/* Cross-entropy: the loss from the normalizers of softmax, the gradient from the log-probabilities. */
#include "ops/loss/cross_entropy.h"

#include <string.h>

#include "graph/second_output.h"
#include "kernels/scratch.h"
#include "kernels/softmax.h"
#include "kernels/vector_math.h"
#include "part.h"
#include "threads.h"

typedef enum Reduction { REDUCTION_NONE, REDUCTION_SUM, REDUCTION_MEAN } Reduction;

const char cross_entropy_of_log_probabilities = 0;

typedef struct CrossEntropy {
  Reduction reduction;
  Counted counted; /* that labels are ignored may also be an input's doing, which a run sees */
} CrossEntropy;

/* Instead of scores of any size. */
static bool takes_log_probabilities(const Node *n) { return n->op->own == &cross_entropy_of_log_probabilities; }

/* ---- infer ---- */

static Status read_attributes(Node *n) {
  const char *reduction = node_string(n, "reduction", "mean");
  CrossEntropy *p = NODE_PARAMS(n, CrossEntropy);
  if (!p) return STATUS_OUT_OF_MEMORY;
  if (strcmp(reduction, "none") == 0) p->reduction = REDUCTION_NONE;
  else if (strcmp(reduction, "sum") == 0) p->reduction = REDUCTION_SUM;
  else if (strcmp(reduction, "mean") == 0) p->reduction = REDUCTION_MEAN;
  else return node_invalid(n, "reduction is '%.32s', it must be none, sum or mean", reduction);
  p->counted = (Counted){.sum = p->reduction == REDUCTION_SUM,
                         .labels = 1,
                         .ignores = node_attr(n, "ignore_index", ATTR_INT) != NULL,
                         .ignored = node_int(n, "ignore_index", 0),
                         .stray_at = -1};
  return STATUS_OK;
}

static bool may_equal(Dim a, Dim b) { return a == b || dim_is_symbol(a) || dim_is_symbol(b); }

static SoftmaxDims dims_of(const Shape *scores) {
  return (SoftmaxDims){(size_t)scores->dim[0], (size_t)scores->dim[1], shape_span(scores, 2, scores->rank)};
}

/* Labels and what follows them, from input `at` on, against scores (or log_prob) of (N, C, d…). */
static Status check_labels(const Node *n, int scores_at, int at) {
  const Shape *scores = &n->in[scores_at]->shape, *labels = &n->in[at]->shape;
  size_t count;
  char ts[SHAPE_TEXT], tl[SHAPE_TEXT];
  TRY(node_want_float(n, scores_at));
  TRY(node_want_rank(n, scores_at, 2, RANK_MAX));
  TRY(node_want_index(n, at));
  bool fits = labels->rank == scores->rank - 1;
  for (int i = 0; fits && i < labels->rank; i++) fits = may_equal(labels->dim[i], scores->dim[i ? i + 1 : 0]);
  if (!fits)
    return node_invalid(n, "labels %s do not fit scores %s: they have no class dimension, the others must be equal",
                        shape_print(labels, tl), shape_print(scores, ts));
  TRY(node_want_float(n, at + 1));
  if (has_in(n, at + 1) && (n->in[at + 1]->shape.rank != 1 || !may_equal(n->in[at + 1]->shape.dim[0], scores->dim[1])))
    return node_invalid(n, "weights %s must be one for each class of scores %s", shape_print(&n->in[at + 1]->shape, tl),
                        shape_print(scores, ts));
  TRY(node_want_type(n, at + 2, DTYPE_INT64));
  if (has_in(n, at + 2) && (!shape_count(&n->in[at + 2]->shape, &count) || count != 1))
    return node_invalid(n, "ignore_index must be one number");
  const char *missing = node_is_concrete(n) ? softmax_missing(dims_of(scores)) : NULL;
  return missing ? part_missing(n->graph->error, missing) : STATUS_OK;
}

/* The normalizers of each place. */
static void lay_out(Scratch *s, SoftmaxDims d, float **max, float **log_sum) {
  *max = scratch_take(s, d.outer, d.inner, sizeof(float));
  *log_sum = scratch_take(s, d.outer, d.inner, sizeof(float));
}

Status cross_entropy_infer(Node *n) {
  TRY(read_attributes(n));
  TRY(check_labels(n, 0, 1));
  CrossEntropy *p = n->params;
  if (has_in(n, 3) && n->in[3]->kind == VALUE_CONSTANT && n->in[3]->data)
    p->counted.ignores = true, p->counted.ignored = *(const int64_t *)n->in[3]->data;
  TRY(node_output(n, 0, DTYPE_FLOAT32, p->reduction == REDUCTION_NONE ? &n->in[1]->shape : &(Shape){0}));
  TRY(node_output(n, 1, DTYPE_FLOAT32, &n->in[0]->shape));
  if (!node_is_concrete(n)) return STATUS_OK;
  Scratch s = {0};
  float *max, *log_sum;
  lay_out(&s, dims_of(&n->in[0]->shape), &max, &log_sum);
  if (s.overflow) return node_fail(n, STATUS_OUT_OF_MEMORY, "its scores are too large");
  n->scratch_bytes = s.used;
  return STATUS_OK;
}

Status cross_entropy_gradient_infer(Node *n) {
  TRY(read_attributes(n));
  TRY(node_want_float(n, 0));
  TRY(check_labels(n, 1, 2));
  const CrossEntropy *p = n->params;
  const Shape *dy = &n->in[0]->shape, *labels = &n->in[2]->shape;
  size_t count;
  bool fits = p->reduction == REDUCTION_NONE ? dy->rank == labels->rank : shape_count(dy, &count) && count == 1;
  for (int i = 0; fits && p->reduction == REDUCTION_NONE && i < dy->rank; i++)
    fits = may_equal(dy->dim[i], labels->dim[i]);
  if (!fits) return node_invalid(n, "input 0 is not of the shape of the loss");
  if (has_in(n, 5)) return node_fail(n, STATUS_UNSUPPORTED_OP, "we do not add its input bias");
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

/* ---- run ---- */

typedef struct Labels {
  const Value *labels;
  const float *weights; /* NULL: 1 for each class */
  size_t classes;
  bool ignores;
  int64_t ignored;
} Labels;

static Labels labels_of(const Node *n, int at, size_t classes) {
  const CrossEntropy *p = n->params;
  Labels l = {n->in[at], has_in(n, at + 1) ? in_f32(n, at + 1) : NULL, classes, p->counted.ignores, p->counted.ignored};
  if (has_in(n, at + 2)) {
    l.ignores = true;
    l.ignored = *(const int64_t *)n->in[at + 2]->data;
  }
  return l;
}

static int64_t label_at(const Labels *l, size_t place) {
  return l->labels->type == DTYPE_INT64 ? ((const int64_t *)l->labels->data)[place]
                                        : ((const int32_t *)l->labels->data)[place];
}

/* The weight of a place: 0 if it is ignored, NaN if the label is not a class; then *label is -1. */
static float weight_at(const Labels *l, size_t place, ptrdiff_t *label) {
  int64_t k = label_at(l, place);
  *label = -1;
  if (l->ignores && k == l->ignored) return 0;
  if (k < 0 || (uint64_t)k >= l->classes) return NAN;
  *label = (ptrdiff_t)k;
  return l->weights ? l->weights[k] : 1;
}

void cross_entropy_run(const Node *n) {
  CrossEntropy *p = n->params;
  SoftmaxDims d = dims_of(&n->in[0]->shape);
  Labels labels = labels_of(n, 1, d.n);
  const float *x = in_f32(n, 0);
  double sum = 0, weights = 0;
  float *max, *log_sum;
  Scratch s = {.base = n->scratch};
  lay_out(&s, d, &max, &log_sum);
  if (takes_log_probabilities(n)) memset(n->scratch, 0, n->scratch_bytes); /* their normalizers */
  else softmax_normalizers(d, x, max, log_sum);
  p->counted.stray_at = -1;
  for (size_t place = 0; has_out(n, 0) && place < d.outer * d.inner; place++) {
    ptrdiff_t label;
    float w = weight_at(&labels, place, &label), loss = w; /* 0 or NaN */
    if (label >= 0)
      loss = w *
             (log_sum[place] - (x[(place / d.inner * d.n + (size_t)label) * d.inner + place % d.inner] - max[place]));
    if (p->reduction == REDUCTION_NONE) out_f32(n, 0)[place] = loss;
    sum += loss;
    weights += w;
    if (isnan(w) && p->counted.stray_at < 0)
      p->counted.stray_at = (int64_t)place, p->counted.stray = label_at(&labels, place);
  }
  p->counted.weight = weights;
  if (has_out(n, 0) && p->reduction != REDUCTION_NONE)
    *out_f32(n, 0) = (float)(p->reduction == REDUCTION_MEAN && weights != 0 ? sum / weights : sum);
  if (has_out(n, 1)) log_softmax(d, x, max, log_sum, out_f32(n, 1));
}

void cross_entropy_count(const Node *n) {
  CrossEntropy *p = n->params;
  Labels labels = labels_of(n, 1, (size_t)n->in[0]->shape.dim[1]);
  p->counted.stray_at = -1;
  p->counted.weight = 0;
  for (size_t place = 0, count = in_count(n, 1); place < count; place++) {
    ptrdiff_t label;
    float w = weight_at(&labels, place, &label);
    p->counted.weight += w;
    if (isnan(w) && p->counted.stray_at < 0)
      p->counted.stray_at = (int64_t)place, p->counted.stray = label_at(&labels, place);
  }
}

Counted cross_entropy_counted(const Node *n) { return ((const CrossEntropy *)n->params)->counted; }

/* The factor for the probabilities of a place. */
static float scale_at(const Node *n, const Labels *labels, double divisor, size_t place, ptrdiff_t *label) {
  const CrossEntropy *p = n->params;
  float dy = in_f32(n, 0)[p->reduction == REDUCTION_NONE ? place : 0];
  return (float)(weight_at(labels, place, label) * dy / divisor);
}

enum { STRIP = 64 }; /* columns side by side, so that whole cache lines are used */

/* dx = e^log_prob·scale along a row, and (e^log_prob - 1)·scale for the label */
static void row_gradient(const float *log_prob, ptrdiff_t label, float scale, size_t classes, float *dx) {
  float own = label < 0 ? 0 : (f32x4_exp_below_0(f32x4_splat(log_prob[label]))[0] - 1) * scale;
  size_t k = 0;
  for (; k + 4 <= classes; k += 4) f32x4_store(dx + k, f32x4_exp_below_0(f32x4_load(log_prob + k)) * scale);
  if (k < classes)
    f32x4_store_up_to(dx + k, f32x4_exp_below_0(f32x4_load_up_to(log_prob + k, classes - k)) * scale, classes - k);
  if (label >= 0) dx[label] = own;
}

/* The same for neighbouring places, `step` apart from one class to the next. */
static void strip_gradient(const float *log_prob, const ptrdiff_t *label, const float *scale, size_t places,
                           size_t classes, size_t step, float *dx) {
  float own[STRIP] = {0};
  for (size_t i = 0; i < places; i++)
    if (label[i] >= 0) own[i] = log_prob[(size_t)label[i] * step + i];
  for (size_t i = 0; i < places; i += 4)
    f32x4_store(own + i, (f32x4_exp_below_0(f32x4_load(own + i)) - 1.0f) * f32x4_load_up_to(scale + i, places - i));
  for (size_t k = 0; k < classes; k++)
    for (size_t i = 0; i < places; i += 4) {
      f32x4 probability = f32x4_exp_below_0(f32x4_load_up_to(log_prob + k * step + i, places - i));
      f32x4_store_up_to(dx + k * step + i, probability * f32x4_load_up_to(scale + i, places - i), places - i);
    }
  for (size_t i = 0; i < places; i++)
    if (label[i] >= 0) dx[(size_t)label[i] * step + i] = own[i];
}

OPTIONAL(columns_cross_entropy_gradient, strip_gradient);

static double weight_sum(const Labels *labels, size_t places) {
  double sum = 0;
  ptrdiff_t label;
  for (size_t place = 0; place < places; place++) sum += weight_at(labels, place, &label);
  return sum;
}

typedef struct Gradient {
  const Node *node;
  SoftmaxDims d;
  Labels labels;
  double divisor;
} Gradient;

static void gradient_range(void *context, size_t from, size_t to) {
  const Gradient *g = context;
  SoftmaxDims d = g->d;
  const float *log_prob = in_f32(g->node, 1) + from * d.n * d.inner;
  float *dx = out_f32(g->node, 0) + from * d.n * d.inner;
  for (size_t o = from; o < to; o++, log_prob += d.n * d.inner, dx += d.n * d.inner)
    for (size_t i = 0; i < d.inner; i += STRIP) {
      size_t places = d.inner - i < STRIP ? d.inner - i : STRIP;
      ptrdiff_t label[STRIP];
      float scale[STRIP];
      for (size_t k = 0; k < places; k++)
        scale[k] = scale_at(g->node, &g->labels, g->divisor, o * d.inner + i + k, &label[k]);
      if (d.inner == 1) row_gradient(log_prob, *label, *scale, d.n, dx);
      else part_columns_cross_entropy_gradient(log_prob + i, label, scale, places, d.n, d.inner, dx + i);
    }
}

void cross_entropy_gradient_run(const Node *n) {
  const CrossEntropy *p = n->params;
  SoftmaxDims d = dims_of(&n->in[1]->shape);
  Gradient g = {.node = n, .d = d, .labels = labels_of(n, 2, d.n)};
  if (p->reduction == REDUCTION_MEAN) g.divisor = weight_sum(&g.labels, d.outer * d.inner);
  if (g.divisor == 0) g.divisor = 1;
  threads_split(d.outer, 8192 / (d.n * d.inner + 1) + 1, gradient_range, &g);
}

/* ---- gradient ---- */

static Value *optional_in(const Node *n, int i) { return has_in(n, i) ? n->in[i] : EMIT_ABSENT; }

/* Scores that are not normalized have no gradient except at the label: e^-1000 is 0. */
static Value *no_probabilities(Graph *g, Value *like) {
  return emit(g, "Expand", emit_float(g, -1000), emit_shape(g, like));
}

Status cross_entropy_grad(Grad *g, const char *op_name) {
  Graph *graph = g->graph;
  Node *n = g->node;
  if (!takes_log_probabilities(n)) TRY(second_output_want(n, "log_prob"));
  const CrossEntropy *p = n->params;
  AttrList attrs = ATTRS(attr_of_string("reduction", node_string(n, "reduction", "mean")),
                         attr_of_int("ignore_index", p->counted.ignored));
  if (!p->counted.ignores) attrs.count = 1;
  Value *dx[2] = {NULL, NULL};
  if (g->dy[0]) {
    Value *log_prob = takes_log_probabilities(n) ? no_probabilities(graph, n->in[0]) : n->out[1];
    Value *in[] = {g->dy[0], log_prob, n->in[1], optional_in(n, 2), optional_in(n, 3)};
    dx[0] = emit_first(graph, op_name, attrs, in, has_in(n, 3) ? 5 : has_in(n, 2) ? 4 : 3);
  }
  if (g->dy[1]) dx[1] = emit_with(graph, "LogSoftmaxGrad_13", ATTRS(attr_of_int("axis", 1)), g->dy[1], n->out[1]);
  g->dx[0] = !g->dy[1] ? dx[0] : !g->dy[0] ? dx[1] : emit(graph, "Add", dx[0], dx[1]);
  return STATUS_OK;
}
