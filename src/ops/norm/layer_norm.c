/* Layer norm: one row at a time, first the statistics, then one pass that writes; sums over rows in parts that depend
 * only on the problem. */
#include "ops/norm/layer_norm.h"

#include "graph/dims.h"
#include "ops/reduce/reduce.h"
#include "kernels/scratch.h"
#include "kernels/vector_math.h"
#include "threads.h"

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
      return node_invalid(n, "input %d is %s, it must have the dims of X %s from axis %d on", i,
                          shape_print(&n->in[i]->shape, ts), shape_print(shape, tx), p->axis);
  *statistics = *shape;
  for (int i = p->axis; i < shape->rank; i++) statistics->dim[i] = 1;
  return STATUS_OK;
}

Status layer_norm_want_statistics(const Node *n, const Shape *statistics, int first, int last) {
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  for (int i = first; i <= last; i++) {
    if (!is_row(&n->in[i]->shape, statistics, 0))
      return node_invalid(n, "input %d is %s, it must be %s", i, shape_print(&n->in[i]->shape, came),
                          shape_print(statistics, wanted));
  }
  return STATUS_OK;
}

/* ---- forward ---- */

enum { GRAIN = 8192 }; /* the fewest elements that are worth waking a thread */

/* Σ (x - mean)²; as reduce_sum_row adds up. */
static double row_squares(const float *x, float mean, size_t n) {
  enum { BLOCK = 512 };
  double sum = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t end = n - at < BLOCK ? n : at + BLOCK, i = at;
    f32x4 lanes[4] = {{0}};
    for (; i + 16 <= end; i += 16)
      for (size_t k = 0; k < 4; k++) {
        f32x4 v = f32x4_load(x + i + 4 * k) - mean;
        lanes[k] += v * v;
      }
    float rest = f32x4_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
    for (; i < end; i++) rest += (x[i] - mean) * (x[i] - mean);
    sum += rest;
  }
  return sum;
}

static void row_normalize(const float *x, float mean, float inv_std, const float *scale, const float *shift, float *y,
                          size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    f32x4 v = (f32x4_load(x + i) - mean) * inv_std * f32x4_load(scale + i);
    f32x4_store(y + i, shift ? v + f32x4_load(shift + i) : v);
  }
  for (; i < n; i++) {
    float v = (x[i] - mean) * inv_std * scale[i];
    y[i] = shift ? v + shift[i] : v;
  }
}

typedef struct Forward {
  const float *x, *scale, *shift;
  float *y, *means, *inv_stds;
  float epsilon;
  bool simplified;
  size_t count; /* elements of a row */
} Forward;

static void forward_rows(void *context, size_t from, size_t to) {
  const Forward *f = context;
  size_t n = f->count;
  for (size_t r = from; r < to; r++) {
    const float *x = f->x + r * n;
    float mean = f->simplified ? 0 : (float)(reduce_sum_row(x, n) / (double)n);
    float variance = (float)(row_squares(x, mean, n) / (double)n), inv_std = 1 / sqrtf(variance + f->epsilon);
    if (f->y) row_normalize(x, mean, inv_std, f->scale, f->shift, f->y + r * n, n);
    if (f->means) f->means[r] = mean;
    if (f->inv_stds) f->inv_stds[r] = inv_std;
  }
}

void layer_norm_run(const Node *n, bool simplified, float *y, float *means, float *inv_stds) {
  const LayerNorm *p = n->params;
  const Shape *shape = &n->in[0]->shape;
  size_t count = shape_span(shape, p->axis, shape->rank);
  Forward f = {in_f32(n, 0), in_f32(n, 1), has_in(n, 2) ? in_f32(n, 2) : NULL, y, means, inv_stds, p->epsilon,
               simplified,   count};
  threads_split(shape_span(shape, 0, p->axis), GRAIN / (count + 1) + 1, forward_rows, &f);
}

/* ---- gradient ---- */

enum { ROWS = 64, PARTS_MAX = 32 }; /* rows added up before they join their part's total, to keep it accurate */

typedef struct Gradient {
  const float *dy, *x, *scale, *means, *inv_stds;
  float *dx; /* NULL where not wanted */
  size_t rows, count, parts;
  float *sums; /* one for each part: totals and running sums of dy · x̂ and of dy */
} Gradient;

static size_t part_count(size_t rows) {
  return rows / ROWS == 0 ? 1 : rows / ROWS < PARTS_MAX ? rows / ROWS : PARTS_MAX;
}

static float *lay_out(Scratch *s, size_t rows, size_t count) {
  return scratch_take(s, part_count(rows), count, 4 * sizeof(float));
}

bool layer_norm_gradient_bytes(const Node *n, int scale, size_t *bytes) {
  const LayerNorm *p = n->params;
  const Shape *x = &n->in[1]->shape;
  Scratch s = {0};
  lay_out(&s, shape_span(x, 0, p->axis), shape_elements(&n->in[scale]->shape));
  *bytes = s.used;
  return !s.overflow;
}

/* Σ g and Σ g·(x - mean) of a row, g = dy · scale; on the way sums[0 … n] += dy · x̂ and sums[n … 2n] += dy. */
static void row_sums(const Gradient *g, const float *dy, const float *x, float mean, float inv_std, float *sums,
                     float *sum, float *product) {
  f32x4 all = f32x4_splat(0), products = all;
  const float *scale = g->scale;
  size_t n = g->count, i = 0;
  for (; i + 4 <= n; i += 4) {
    f32x4 d = f32x4_load(dy + i), centred = f32x4_load(x + i) - mean, slope = d * f32x4_load(scale + i);
    all += slope;
    products += slope * centred;
    f32x4_store(sums + i, f32x4_load(sums + i) + d * (centred * inv_std));
    f32x4_store(sums + n + i, f32x4_load(sums + n + i) + d);
  }
  *sum = f32x4_sum(all);
  *product = f32x4_sum(products);
  for (; i < n; i++) {
    float centred = x[i] - mean, slope = dy[i] * scale[i];
    *sum += slope;
    *product += slope * centred;
    sums[i] += dy[i] * (centred * inv_std);
    sums[n + i] += dy[i];
  }
}

/* dx = inv_std · (g - Σ g / n - x̂ · Σ g·x̂ / n); the term Σ g / n is the mean's and missing where simplified. */
static void row_dx(const Gradient *g, const float *dy, const float *x, float mean, float inv_std, float sum,
                   float product, float *dx) {
  size_t n = g->count, i = 0;
  const float *scale = g->scale;
  float shift = g->means ? sum / (float)n : 0, slope = product * inv_std * inv_std / (float)n;
  for (; i + 4 <= n; i += 4) {
    f32x4 v = f32x4_load(dy + i) * f32x4_load(scale + i) - shift - (f32x4_load(x + i) - mean) * slope;
    f32x4_store(dx + i, v * inv_std);
  }
  for (; i < n; i++) dx[i] = (dy[i] * scale[i] - shift - (x[i] - mean) * slope) * inv_std;
}

/* to += from, from = 0 */
static void join(float *to, float *from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    to[i] += from[i];
    from[i] = 0;
  }
}

static void gradient_part(void *context, size_t part, int thread) {
  const Gradient *g = context;
  size_t n = g->count, end = g->rows * (part + 1) / g->parts;
  float *totals = g->sums + part * 4 * n, *running = totals + 2 * n;
  memset(totals, 0, 4 * n * sizeof *totals);
  for (size_t r = g->rows * part / g->parts, since = 1; r < end;
       r++, since++) { /* dx may overwrite dy or x: their sums come first */
    const float *dy = g->dy + r * n, *x = g->x + r * n;
    float mean = g->means ? g->means[r] : 0, sum, product;
    row_sums(g, dy, x, mean, g->inv_stds[r], running, &sum, &product);
    if (g->dx) row_dx(g, dy, x, mean, g->inv_stds[r], sum, product, g->dx + r * n);
    if (since % ROWS == 0 || r + 1 == end) join(totals, running, 2 * n);
  }
}

static void add_parts(const Gradient *g, size_t at, float *to) {
  if (!to) return;
  memcpy(to, g->sums + at, g->count * sizeof *to);
  for (size_t part = 1; part < g->parts; part++)
    for (size_t i = 0; i < g->count; i++) to[i] += g->sums[part * 4 * g->count + at + i];
}

void layer_norm_gradient_run(const Node *n, const float *means, const float *inv_stds, float *dx, float *dscale,
                             float *dshift) {
  const LayerNorm *p = n->params;
  const Shape *shape = &n->in[1]->shape;
  Gradient g = {in_f32(n, 0), in_f32(n, 1), in_f32(n, 2), means, inv_stds, dx};
  g.rows = shape_span(shape, 0, p->axis);
  g.count = shape_span(shape, p->axis, shape->rank);
  g.parts = part_count(g.rows);
  if (g.count == 0) return;
  g.sums = lay_out(&(Scratch){.base = n->scratch}, g.rows, g.count);
  threads_run(g.parts, gradient_part, &g);
  add_parts(&g, 0, dscale);
  add_parts(&g, g.count, dshift);
}
