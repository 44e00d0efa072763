/* The plain interpreter of random networks: every operator as its definition reads, in double, a loop over the output's
 * elements. */
#include <math.h>
#include <string.h>

#include "net.h"

static const double near = 1e-3; /* to a corner */

/* ---- functions of one number ---- */

static double relu(double x) { return x > 0 ? x : 0; }
static double leaky_relu(double x) { return x > 0 ? x : 0.01 * x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double negated(double x) { return -x; }
static double softplus(double x) { return log1p(exp(-fabs(x))) + (x > 0 ? x : 0); }
static double elu(double x) { return x > 0 ? x : expm1(x); }
static double selu(double x) { return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * expm1(x)); }
static double softsign(double x) { return x / (1 + fabs(x)); }
static double hard_sigmoid(double x) { return fmax(0, fmin(1, 0.2 * x + 0.5)); }
static double hard_swish(double x) { return x * fmax(0, fmin(1, x / 6 + 0.5)); }

const NetUnary net_unary[] = {
    {"Relu", relu, {0, NAN}},           {"LeakyRelu", leaky_relu, {0, NAN}},
    {"Sigmoid", sigmoid, {NAN, NAN}},   {"Tanh", tanh, {NAN, NAN}},
    {"Neg", negated, {NAN, NAN}},       {"Abs", fabs, {0, NAN}},
    {"Softplus", softplus, {NAN, NAN}}, {"Erf", erf, {NAN, NAN}},
    {"Elu", elu, {NAN, NAN}},           {"Selu", selu, {0, NAN}},
    {"Softsign", softsign, {NAN, NAN}}, {"HardSigmoid", hard_sigmoid, {-2.5, 2.5}},
    {"HardSwish", hard_swish, {-3, 3}}, {"Sin", sin, {NAN, NAN}},
    {"Cos", cos, {NAN, NAN}},           {"Exp", exp, {NAN, NAN}},
};
const int net_unary_count = sizeof net_unary / sizeof *net_unary;

/* ---- indices ---- */

typedef struct Tensor {
  int rank, dim[NET_RANK];
  double *x;
  size_t count;
} Tensor;

static Tensor tensor_of(const Plain *p, int i) {
  const NetValue *v = &p->net->values[i];
  Tensor t = {.rank = v->rank, .x = p->x[i], .count = net_count(v, p->batch)};
  for (int k = 0; k < v->rank; k++) t.dim[k] = v->dim[k] < 0 ? p->batch : v->dim[k];
  return t;
}

static void unravel(const Tensor *t, size_t i, int *at) {
  for (int k = t->rank - 1; k >= 0; k--) at[k] = (int)(i % (size_t)t->dim[k]), i /= (size_t)t->dim[k];
}

static double *element(const Tensor *t, const int *at) {
  size_t i = 0;
  for (int k = 0; k < t->rank; k++) i = i * (size_t)t->dim[k] + (size_t)at[k];
  return &t->x[i];
}

/* Element of `t` broadcast to the rank of `at`, aligned at the end. */
static double broadcast(const Tensor *t, const int *at, int rank) {
  int own[NET_RANK];
  for (int k = 0; k < t->rank; k++) own[k] = t->dim[k] == 1 ? 0 : at[rank - t->rank + k];
  return *element(t, own);
}

static void see_corner(Plain *p, double distance) {
  if (fabs(distance) < near) p->kink = true;
}

/* ---- operators: element `at` of the output ---- */

static double binary(Plain *p, const NetStep *s, double a, double b) {
  switch (s->kind) {
    case NET_ADD: return a + b;
    case NET_SUB: return a - b;
    case NET_MUL: return a * b;
    case NET_DIV: return a / b;
    case NET_MAX: return see_corner(p, a - b), fmax(a, b);
    default: return see_corner(p, a - b), fmin(a, b);
  }
}

static double product(const NetStep *s, const Tensor *in, const int *at, int rank) {
  int depth = in[0].dim[in[0].rank - 1], a_at[NET_RANK], column = at[rank - 1];
  double sum = 0;
  memcpy(a_at, at, sizeof a_at);
  for (int k = 0; k < depth; k++) {
    a_at[rank - 1] = k;
    sum += *element(&in[0], a_at) * *element(&in[1], s->p[0] ? (int[]){column, k} : (int[]){k, column});
  }
  sum *= (double)s->f;
  return s->in_count > 2 ? sum + broadcast(&in[2], at, rank) : sum;
}

static double convolution(const NetStep *s, const Tensor *in, const int *at) {
  int kernel = s->p[0], channels = in[1].dim[1], per_group = in[1].dim[0] / s->p[4];
  double sum = s->in_count > 2 ? in[2].x[at[1]] : 0;
  for (int c = 0; c < channels; c++)
    for (int i = 0; i < kernel; i++)
      for (int j = 0; j < kernel; j++) {
        int y = at[2] * s->p[1] - s->p[2] + i * s->p[3], x = at[3] * s->p[1] - s->p[2] + j * s->p[3];
        if (y < 0 || x < 0 || y >= in[0].dim[2] || x >= in[0].dim[3]) continue;
        sum += *element(&in[0], (int[]){at[0], at[1] / per_group * channels + c, y, x}) *
             *element(&in[1], (int[]){at[1], c, i, j});
      }
  return sum;
}

static double pool(Plain *p, const NetStep *s, const Tensor *in, const int *at) {
  double sum = 0, most = -INFINITY, second = -INFINITY;
  int seen = 0;
  for (int i = 0; i < s->p[0]; i++)
    for (int j = 0; j < s->p[0]; j++) {
      int y = at[2] * s->p[1] - s->p[2] + i, x = at[3] * s->p[1] - s->p[2] + j;
      if (y < 0 || x < 0 || y >= in[0].dim[2] || x >= in[0].dim[3]) continue;
      double v = *element(&in[0], (int[]){at[0], at[1], y, x});
      sum += v, seen++;
      if (v > most) second = most, most = v;
      else if (v > second) second = v;
    }
  if (s->kind) return sum / (s->p[5] ? s->p[0] * s->p[0] : seen);
  see_corner(p, most - second);
  return most;
}

/* Mean and variance of the elements that share index `at[axis]`, all others running; or, of axis -1, that differ in the
 * last index alone. */
static void moments(const Tensor *t, const int *at, int axis, double *mean, double *variance) {
  size_t run = (size_t)t->dim[t->rank - 1], stride = t->count, first = (size_t)(element(t, at) - t->x) / run * run;
  if (axis >= 0) {
    run = 1;
    for (int k = axis + 1; k < t->rank; k++) run *= (size_t)t->dim[k];
    stride = run * (size_t)t->dim[axis], first = run * (size_t)at[axis];
  }
  double sum = 0, squares = 0;
  size_t n = 0;
  for (size_t from = first; from < t->count; from += stride, n += run)
    for (size_t i = from; i < from + run; i++) sum += t->x[i];
  *mean = sum / (double)n;
  for (size_t from = first; from < t->count; from += stride)
    for (size_t i = from; i < from + run; i++) squares += (t->x[i] - *mean) * (t->x[i] - *mean);
  *variance = squares / (double)n;
}

/* A single value for each channel has no variance, so training refuses it. */
static bool is_single(const Tensor *t) {
  int count = t->dim[0];
  for (int k = 2; k < t->rank; k++) count *= t->dim[k];
  return count == 1;
}

static double normalized(Plain *p, const NetStep *s, const Tensor *in, const int *at) {
  bool batch = s->op == NET_BATCH_NORM;
  int c = at[batch ? 1 : in[0].rank - 1];
  double mean, variance;
  p->single |= batch && p->training && is_single(&in[0]);
  if (batch && !p->training) mean = in[3].x[c], variance = in[4].x[c];
  else moments(&in[0], at, batch ? 1 : -1, &mean, &variance);
  return (*element(&in[0], at) - mean) / sqrt(variance + (double)s->f) * in[1].x[c] + in[2].x[c];
}

/* Over the elements that differ in index `axis` alone. */
static double along(Plain *p, const NetStep *s, const Tensor *t, const int *at, int axis) {
  int k_at[NET_RANK];
  double most = -INFINITY, second = -INFINITY, sum = 0, squares = 0, exponents = 0;
  memcpy(k_at, at, sizeof k_at);
  for (int k = 0; k < t->dim[axis]; k++) {
    k_at[axis] = k;
    double v = *element(t, k_at);
    sum += v, squares += v * v;
    if (v > most) second = most, most = v;
    else if (v > second) second = v;
  }
  for (int k = 0; k < t->dim[axis]; k++) k_at[axis] = k, exponents += exp(*element(t, k_at) - most);
  if (s->op == NET_SOFTMAX)
    return s->kind ? *element(t, at) - most - log(exponents) : exp(*element(t, at) - most) / exponents;
  if (s->kind == NET_REDUCE_MAX) see_corner(p, most - second);
  return s->kind == NET_SUM        ? sum
       : s->kind == NET_MEAN       ? sum / t->dim[axis]
       : s->kind == NET_REDUCE_MAX ? most
                                   : squares;
}

static double reduced(Plain *p, const NetStep *s, const Tensor *in, const int *at) {
  int own[NET_RANK], axis = s->p[0];
  for (int k = 0; k < in->rank; k++) own[k] = k == axis ? 0 : at[k - (k > axis && !s->p[1])];
  return along(p, s, in, own, axis);
}

static double moved(const NetStep *s, const Tensor *in, const int *at) {
  int own[NET_RANK], axis = s->p[0];
  memcpy(own, at, sizeof own);
  if (s->op == NET_TRANSPOSE)
    for (int k = 0; k < in->rank; k++) own[s->p[k]] = at[k];
  else if (s->op == NET_SLICE) own[axis] = s->p[1] + at[axis] * s->p[3];
  else if (s->op == NET_GATHER) own[axis] = s->p[1 + at[axis]];
  else if (s->op == NET_PAD) own[axis] = at[axis] - s->p[1];
  else if (at[axis] >= in[0].dim[axis]) return own[axis] -= in[0].dim[axis], *element(&in[1], own); /* Concat */
  if (s->op == NET_PAD && (own[axis] < 0 || own[axis] >= in->dim[axis])) return (double)s->f;
  return *element(&in[0], own);
}

static double global_mean(const Tensor *in, const int *at) {
  double sum = 0;
  for (int y = 0; y < in->dim[2]; y++)
    for (int x = 0; x < in->dim[3]; x++) sum += *element(in, (int[]){at[0], at[1], y, x});
  return sum / (in->dim[2] * in->dim[3]);
}

static double unary(Plain *p, const NetStep *s, double x) {
  const NetUnary *u = &net_unary[s->kind];
  for (int k = 0; k < 2; k++)
    if (!isnan(u->corner[k])) see_corner(p, x - u->corner[k]);
  return u->f(x);
}

static double output(Plain *p, const NetStep *s, const Tensor *in, const Tensor *out, size_t i) {
  int at[NET_RANK] = {0};
  unravel(out, i, at);
  switch (s->op) {
    case NET_UNARY: return unary(p, s, in[0].x[i]);
    case NET_BINARY: return binary(p, s, in[0].x[i], broadcast(&in[1], at, out->rank));
    case NET_MATMUL:
    case NET_GEMM: return product(s, in, at, out->rank);
    case NET_CONV: return convolution(s, in, at);
    case NET_POOL: return pool(p, s, in, at);
    case NET_GLOBAL_POOL: return global_mean(in, at);
    case NET_BATCH_NORM:
    case NET_LAYER_NORM: return normalized(p, s, in, at);
    case NET_SOFTMAX: return along(p, s, in, at, s->p[0]);
    case NET_REDUCE: return reduced(p, s, in, at);
    case NET_VIEW:
    case NET_DROPOUT: return in[0].x[i];
    default: return moved(s, in, at);
  }
}

/* ---- the network ---- */

/* Error of rounding number `k` of a step to float, up or down, where the inputs are nudged. It differs in each step, as
 * errors equal in all examples vanish between norms. */
static double rounding(double nudge, int step, size_t k) {
  uint32_t bits = (uint32_t)k * 2654435761u + (uint32_t)step * 2246822519u;
  bits = (bits ^ bits >> 15) * 2246822519u;
  return nudge ? (bits >> 13 & 1 ? 0x1p-24 : -0x1p-24) : 0;
}

void plain_run(Plain *p, const Net *net, int batch, bool training, float *const *inputs, double nudge) {
  *p = (Plain){.net = net, .batch = batch, .training = training};
  for (int i = 0; i < net->value_count; i++) {
    const NetValue *v = &net->values[i];
    size_t count = net_count(v, batch);
    p->x[i] = ARENA_ARRAY(&p->arena, double, count + 1);
    const float *from = v->data ? v->data : i < net->input_count ? inputs[i] : NULL;
    for (size_t k = 0; from && k < count; k++)
      p->x[i][k] = (double)from[k] * (v->data ? 1 : 1 + (k % 2 ? nudge : -nudge));
  }
  for (int i = 0; i < net->step_count; i++) {
    const NetStep *s = &net->steps[i];
    Tensor in[5], out = tensor_of(p, s->out);
    for (int k = 0; k < s->in_count; k++) in[k] = tensor_of(p, s->in[k]);
    for (size_t k = 0; k < out.count; k++) {
      out.x[k] = output(p, s, in, &out, k) * (1 + rounding(nudge, i, k));
      if (!(fabs(out.x[k]) <= p->largest)) p->largest = isnan(out.x[k]) ? INFINITY : fabs(out.x[k]);
    }
  }
}

double plain_loss(const Plain *p, const int64_t *classes, const float *targets) {
  const double *scores = p->x[p->net->steps[p->net->step_count - 1].out];
  double sum = 0;
  for (int n = 0; n < p->batch; n++) {
    const double *row = scores + n * NET_CLASSES;
    double most = -INFINITY, exponents = 0;
    for (int k = 0; k < NET_CLASSES; k++) most = fmax(most, row[k]);
    for (int k = 0; k < NET_CLASSES; k++) exponents += exp(row[k] - most);
    if (classes) sum += most + log(exponents) - row[classes[n]];
    for (int k = 0; k < NET_CLASSES && !classes; k++) {
      double d = row[k] - (double)targets[n * NET_CLASSES + k];
      sum += d * d / NET_CLASSES;
    }
  }
  return sum / p->batch;
}
