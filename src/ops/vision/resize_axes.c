/* The sums of Resize by its tables, axis by axis. */
#include "ops/vision/resize_axes.h"

#include <string.h>

#include "simd.h"
#include "threads.h"

typedef struct Step {
  const Resize *r;
  const ResizeAxis *axis;
  size_t inner;
  const float *from;
  float *to;
} Step;

/* Lines from … to - 1 along the last dim that changes, whose numbers lie side by side. */
static void step_lines(void *context, size_t from, size_t to) {
  const Step *s = context;
  const ResizeAxis *t = s->axis;
  for (size_t line = from; line < to; line++) {
    const float *x = s->from + line * t->in, *weight = t->weight;
    const int32_t *index = t->index;
    float *y = s->to + line * t->out;
    size_t o = 0;
    for (; t->taps == 2 && t->inside && o < t->out; o++, index += 2, weight += 2)
      y[o] = weight[0] * x[index[0]] + weight[1] * x[index[1]];
    for (; o < t->out; o++, index += t->taps, weight += t->taps) {
      float sum = index[0] < 0 ? s->r->outside : weight[0] * x[index[0]];
      for (size_t k = 1; k < t->taps && index[0] >= 0; k++) sum += weight[k] * x[index[k]];
      y[o] = sum;
    }
  }
}

/* Rows from … to - 1 of (outer, out); a row is `inner` numbers. */
static void step_forward(void *context, size_t from, size_t to) {
  const Step *s = context;
  const ResizeAxis *t = s->axis;
  for (size_t row = from; row < to; row++) {
    const int32_t *index = t->index + row % t->out * t->taps;
    const float *weight = t->weight + row % t->out * t->taps, *x = s->from + row / t->out * t->in * s->inner;
    float *y = s->to + row * s->inner;
    if (index[0] < 0) {
      for (size_t i = 0; i < s->inner; i++) y[i] = s->r->outside;
      continue;
    }
    for (size_t i = 0; i < s->inner; i++) y[i] = weight[0] * x[(size_t)index[0] * s->inner + i];
    for (size_t k = 1; k < t->taps; k++)
      for (size_t i = 0; i < s->inner; i++) y[i] += weight[k] * x[(size_t)index[k] * s->inner + i];
  }
}

/* Adds to each element of dx the two of dy that belong to it, four at a time. Returns the number of elements of dx that
 * are done. */
static size_t add_twice(const float *dy, size_t count, float *dx) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    f32x4 a = f32x4_load(dy + 2 * i), b = f32x4_load(dy + 2 * i + 4);
    f32x4 sum = f32x4_load(dx + i) + __builtin_shufflevector(a, b, 0, 2, 4, 6);
    f32x4_store(dx + i, sum + __builtin_shufflevector(a, b, 1, 3, 5, 7));
  }
  return i;
}

/* A line along the last dim that changes, whose numbers lie side by side. */
static void line_gradient(const ResizeAxis *t, const float *dy, float *dx) {
  size_t taps = t->taps, out = t->out, o = t->twice ? 2 * add_twice(dy, t->in, dx) : 0;
  const int32_t *index = t->index + o * taps;
  const float *weight = t->weight + o * taps;
  for (; o < out; o++, index += taps, weight += taps)
    for (size_t k = 0; k < taps && index[0] >= 0; k++) dx[index[k]] += weight[k] * dy[o];
}

/* Blocks from … to - 1 of (outer). */
static void step_gradient(void *context, size_t from, size_t to) {
  const Step *s = context;
  const ResizeAxis *t = s->axis;
  memset(s->to + from * t->in * s->inner, 0, (to - from) * t->in * s->inner * sizeof(float));
  if (s->inner == 1) {
    for (size_t line = from; line < to; line++) line_gradient(t, s->from + line * t->out, s->to + line * t->in);
    return;
  }
  for (size_t row = from * t->out; row < to * t->out; row++) {
    const int32_t *index = t->index + row % t->out * t->taps;
    const float *weight = t->weight + row % t->out * t->taps, *dy = s->from + row * s->inner;
    float *dx = s->to + row / t->out * t->in * s->inner;
    for (size_t k = 0; k < t->taps && index[0] >= 0; k++)
      for (size_t i = 0; i < s->inner; i++) dx[(size_t)index[k] * s->inner + i] += weight[k] * dy[i];
  }
}

/* Numbers before axis a when the axes before it are resized, those behind not; and behind it. */
static void around(const Resize *r, int a, size_t *outer, size_t *inner) {
  *outer = *inner = 1;
  for (int i = 0; i < r->rank; i++)
    if (i != a) *(i < a ? outer : inner) *= i < a ? r->axis[i].out : r->axis[i].in;
}

/* The steps change between two buffers, of the largest value between two steps. */
static bool between(const Resize *r, size_t *floats) {
  size_t largest = 0;
  for (int end = 1; end < r->rank; end++) {
    size_t count = 1;
    for (int i = 0; i < r->rank; i++)
      if (!size_multiply(count, i < end ? r->axis[i].out : r->axis[i].in, &count)) return false;
    if (count > largest) largest = count;
  }
  return *floats = (largest + 15) / 16 * 16, true;
}

Status resize_bytes(Node *n, const Resize *r) {
  size_t floats;
  if (!r) return STATUS_OK;
  if (!between(r, &floats) || !size_multiply(floats, 2 * sizeof(float), &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its output does not fit");
  return STATUS_OK;
}

static void run(const Resize *r, const float *from, float *to, float *scratch, bool gradient) {
  int axes[RANK_MAX], count = 0;
  size_t floats = 0, outer, inner, all = 1;
  between(r, &floats);
  for (int i = 0; i < r->rank; i++) {
    int a = gradient ? r->rank - 1 - i : i;
    if (!r->axis[a].same) axes[count++] = a;
    all *= r->axis[i].in;
  }
  if (!count) memcpy(to, from, all * sizeof *to);
  for (int i = 0; i < count; i++) {
    around(r, axes[i], &outer, &inner);
    const ResizeAxis *t = &r->axis[axes[i]];
    Step s = {r, t, inner, from, i == count - 1 ? to : scratch + (i & 1 ? floats : 0)};
    if (gradient) threads_split(outer, threads_grain(t->taps * t->out * inner), step_gradient, &s);
    else if (inner == 1) threads_split(outer, threads_grain(t->taps * t->out), step_lines, &s);
    else threads_split(outer * t->out, threads_grain(t->taps * inner), step_forward, &s);
    from = s.to;
  }
}
void resize_forward(const Resize *r, const float *x, float *y, void *scratch) {
  if (r->picks && r->rank) resize_pick(r, x, y);
  else run(r, x, y, scratch, false);
}
void resize_gradient(const Resize *r, const float *dy, float *dx, void *scratch) { run(r, dy, dx, scratch, true); }

/* ---- operators ---- */

Status resize_op_infer(Node *n) {
  Shape y;
  Resize *r;
  TRY(node_want_float(n, 0));
  TRY(resize_read(n, &n->in[0]->shape, 1, &y, &r));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return r && r->picks ? STATUS_OK : resize_bytes(n, r);
}

void resize_op_run(const Node *n) { resize_forward(n->params, in_f32(n, 0), out_f32(n, 0), n->scratch); }

Status resize_op_grad(Grad *g) {
  Node *n = g->node;
  Value *in[5] = {g->dy[0], emit_shape(g->graph, n->in[0])};
  for (int i = 1; i < n->in_count; i++) in[i + 1] = n->in[i] ? n->in[i] : EMIT_ABSENT;
  g->dx[0] = emit_first(g->graph, "ResizeGrad", (AttrList){n->attrs, n->attr_count}, in, n->in_count + 1);
  return STATUS_OK;
}

/* Axis by axis: what lies across it is taken at its largest. */
double resize_work(const Node *n) {
  const Resize *r = n->params;
  double largest = 1, work = 0;
  for (int a = 0; a < r->rank; a++)
    largest *= (double)(r->axis[a].in > r->axis[a].out ? r->axis[a].in : r->axis[a].out);
  for (int a = 0; a < r->rank; a++)
    if (!r->axis[a].same) work += largest * (double)r->axis[a].taps;
  return work;
}
