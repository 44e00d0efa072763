/* Attention in blocks of queries: scores, shares and their gradient stay in the second-level cache. */
#include "kernels/attention.h"

#include "kernels/gemm.h"
#include "kernels/scratch.h"
#include "kernels/vector_math.h"
#include "size.h"
#include "threads.h"

enum {
  BLOCK = 64
}; /* the most queries of a block; half as many for short sequences, because a causal block also computes scores that it
      does not need */

static size_t block_size(const Attention *a) { return a->queries > 2 * BLOCK ? BLOCK : BLOCK / 2; }
static size_t block_count(const Attention *a) { return (a->queries + block_size(a) - 1) / block_size(a); }
static size_t image_at(const AttentionStrides *s, size_t image, size_t head) {
  return image * s->image + head * s->head;
}

/* Scores of a query begin at a multiple of 4 floats. */
static size_t score_stride(const Attention *a) { return (a->keys + 3) & ~(size_t)3; }

/* ---- scratch of one thread ---- */

typedef struct Work {
  float *shares, *dshares; /* (BLOCK, keys) */
  void *gemm;
  size_t bytes;
} Work;

static bool work_plan(const Attention *a, bool gradient, char *base, Work *w) {
  Scratch s = {.base = base};
  size_t width = size_max(a->width, a->value_width), block = size_min(a->queries, block_size(a));
  size_t gemm = size_max(gemm_alone_bytes(block, a->keys, width), gemm_alone_bytes(block, width, a->keys));
  if (gradient)
    gemm = size_max(gemm, size_max(gemm_alone_bytes(a->keys, width, block), gemm_alone_bytes(width, a->keys, block)));
  w->shares = scratch_take(&s, block, score_stride(a), sizeof(float));
  w->dshares = scratch_take(&s, gradient ? block : 0, score_stride(a), sizeof(float));
  w->gemm = scratch_take(&s, 1, 1, gemm);
  w->bytes = s.used;
  return !s.overflow;
}

static bool all_bytes(const Attention *a, bool gradient, size_t *bytes) {
  Work w;
  return work_plan(a, gradient, NULL, &w) && size_multiply(w.bytes, (size_t)threads_count(), bytes);
}

bool attention_bytes(const Attention *a, size_t *bytes) { return all_bytes(a, false, bytes); }
bool attention_gradient_bytes(const Attention *a, size_t *bytes) { return all_bytes(a, true, bytes); }

/* ---- one block of one head ---- */

typedef struct Span {
  const Attention *a;
  size_t image, head, first, queries;
  size_t keys; /* that its last query sees */
} Span;

static Span block_of(const Attention *a, size_t head, size_t index) {
  Span b = {.a = a, .image = head / a->heads, .head = head % a->heads, .first = index * block_size(a)};
  b.queries = size_min(block_size(a), a->queries - b.first);
  b.keys = a->causal ? b.first + b.queries + a->keys - a->queries : a->keys;
  return b;
}

/* Keys that query i of the block sees. */
static size_t seen_keys(const Span *b, size_t i) { return b->a->causal ? b->keys - (b->queries - 1 - i) : b->keys; }

static size_t line_at(const AttentionStrides *s, const Span *b) {
  return image_at(s, b->image, b->head) + b->first * s->line;
}
static size_t head_at(const AttentionStrides *s, const Span *b) { return image_at(s, b->image, b->head); }

static GemmSource lines(const float *data, const AttentionStrides *s) {
  return (GemmSource){data, .line_stride = s->line, .k_stride = s->d};
}
static GemmSource columns(const float *data, const AttentionStrides *s) {
  return (GemmSource){data, .line_stride = s->d, .k_stride = s->line};
}

/* scores (queries, keys) = scale · q kᵀ + mask */
static void block_scores(const Span *b, const float *q, const float *k, const float *mask, const Work *w) {
  const Attention *a = b->a;
  Gemm g = {.rows = b->queries,
            .columns = b->keys,
            .depth = a->width,
            .alpha = a->scale,
            .c = w->shares,
            .c_row_stride = score_stride(a)};
  g.a = lines(q + line_at(&a->q, b), &a->q);
  g.b = lines(k + head_at(&a->k, b), &a->k);
  if (mask) {
    g.beta = 1;
    g.d = mask + b->image * a->mask.image + b->head * a->mask.head + b->first * a->mask.query;
    g.d_row_stride = a->mask.query;
    g.d_column_stride = a->mask.key;
  }
  gemm_run_alone(&g, w->gemm);
}

/* C (queries, width) = A (queries, keys) · B, B the rows of k or v */
static void block_times_keys(const Span *b, const float *scores, const float *rows, const AttentionStrides *rows_at,
                             size_t width, float *c, size_t c_stride, void *scratch) {
  Gemm g = {.rows = b->queries, .columns = width, .depth = b->keys, .alpha = 1, .c = c, .c_row_stride = c_stride};
  g.a = gemm_a(scores, score_stride(b->a), false);
  g.b = columns(rows, rows_at);
  gemm_run_alone(&g, scratch);
}

/* ---- forward ---- */

/* x = e^(x - norm) or 0 from `seen` to `count`; gives Σ. */
static float row_exp(float *x, float norm, size_t seen, size_t count) {
  f32x4 sum = f32x4_splat(0);
  size_t i = 0;
  for (; i + 4 <= seen; i += 4) {
    f32x4 e = f32x4_exp_below_0(f32x4_load(x + i) - norm);
    f32x4_store(x + i, e);
    sum += e;
  }
  float total = f32x4_sum(sum);
  if (i < seen) {
    f32x4 e = f32x4_exp_below_0(f32x4_load_up_to(x + i, seen - i) - norm);
    f32x4_store_up_to(x + i, e, seen - i);
    for (size_t k = 0; k < seen - i; k++) total += e[k];
  }
  for (i = seen; i < count; i++) x[i] = 0;
  return total;
}

static float row_max(const float *x, size_t count) {
  f32x4 max = f32x4_splat(-INFINITY);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) max = f32x4_max(f32x4_load(x + i), max);
  float top = f32x4_max_lane(max);
  for (; i < count; i++) top = x[i] > top ? x[i] : top;
  return top;
}

static void row_scale(float *y, float scale, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) f32x4_store(y + i, f32x4_load(y + i) * scale);
  for (; i < count; i++) y[i] *= scale;
}

typedef struct Forward {
  const Attention *a;
  const float *q, *k, *v, *mask;
  float *y, *norm;
  char *scratch;
  size_t thread_bytes;
} Forward;

static void run_block(void *context, size_t chunk, int thread) {
  const Forward *f = context;
  const Attention *a = f->a;
  size_t blocks = block_count(a), head = chunk / blocks;
  Span b = block_of(a, head, chunk % blocks);
  Work w;
  float sum[BLOCK];
  work_plan(a, false, f->scratch + (size_t)thread * f->thread_bytes, &w);
  block_scores(&b, f->q, f->k, f->mask, &w);
  for (size_t i = 0; i < b.queries; i++) {
    float *row = w.shares + i * score_stride(a), max = row_max(row, seen_keys(&b, i));
    sum[i] = row_exp(row, max, seen_keys(&b, i), b.keys);
    if (f->norm) f->norm[head * a->queries + b.first + i] = max + f32x4_log(f32x4_splat(sum[i]))[0];
  }
  float *y = f->y + line_at(&a->y, &b);
  block_times_keys(&b, w.shares, f->v + head_at(&a->v, &b), &a->v, a->value_width, y, a->y.line, w.gemm);
  for (size_t i = 0; i < b.queries; i++) row_scale(y + i * a->y.line, 1 / sum[i], a->value_width);
}

void attention_run(const Attention *a, const float *q, const float *k, const float *v, const float *mask, float *y,
                   float *norm, void *scratch) {
  Work w;
  work_plan(a, false, NULL, &w);
  Forward f = {a, q, k, v, mask, y, norm, scratch, w.bytes};
  threads_run(a->images * a->heads * block_count(a), run_block, &f);
}

/* ---- backward: one head at a time, with dk and dv added up over its blocks ---- */

typedef struct Backward {
  const Attention *a;
  const float *dy, *q, *k, *v, *y, *norm, *mask;
  float *dq, *dk, *dv;
  char *scratch;
  size_t thread_bytes;
} Backward;

static float dot(const float *a, const float *b, size_t count) {
  f32x4 sum = f32x4_splat(0);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) sum += f32x4_load(a + i) * f32x4_load(b + i);
  float total = f32x4_sum(sum);
  for (; i < count; i++) total += a[i] * b[i];
  return total;
}

/* d = shares · (d - inner) · scale */
static void row_gradient(const float *shares, float *d, float inner, float scale, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) f32x4_store(d + i, f32x4_load(shares + i) * (f32x4_load(d + i) - inner) * scale);
  for (; i < count; i++) d[i] = shares[i] * (d[i] - inner) * scale;
}

/* C (keys, width) += scoresᵀ · rows of q or dy; C is transposed if it lies as (width, keys). */
static void add_keys(const Span *b, const float *scores, const float *rows, const AttentionStrides *rows_at,
                     size_t width, float *c, const AttentionStrides *c_at, bool first, void *scratch) {
  bool turned = c_at->line == 1 && c_at->d != 1;
  Gemm g = {.rows = b->keys,
            .columns = width,
            .depth = b->queries,
            .alpha = 1,
            .beta = 1,
            .c = c,
            .c_row_stride = c_at->line};
  g.a = gemm_a(scores, score_stride(b->a), true);
  g.b = columns(rows, rows_at);
  if (turned) {
    g.rows = width;
    g.columns = b->keys;
    g.a = columns(rows, rows_at);
    g.b = gemm_b(scores, score_stride(b->a), false);
    g.c_row_stride = c_at->d;
  }
  g.d = first ? NULL : c;
  g.d_row_stride = g.c_row_stride;
  g.d_column_stride = 1;
  gemm_run_alone(&g, scratch);
}

static void gradient_block(const Backward *f, const Span *b, bool first, const Work *w) {
  const Attention *a = f->a;
  const float *dy = f->dy + line_at(&a->y, b), *y = f->y + line_at(&a->y, b);
  const float *norm = f->norm + (b->image * a->heads + b->head) * a->queries + b->first;
  size_t stride = score_stride(a);
  block_scores(b, f->q, f->k, f->mask, w);
  for (size_t i = 0; i < b->queries; i++) row_exp(w->shares + i * stride, norm[i], seen_keys(b, i), b->keys);
  if (f->dv) add_keys(b, w->shares, dy, &a->y, a->value_width, f->dv + head_at(&a->v, b), &a->v, first, w->gemm);
  Gemm g = {.rows = b->queries,
            .columns = b->keys,
            .depth = a->value_width,
            .alpha = 1,
            .c = w->dshares,
            .c_row_stride = stride};
  g.a = lines(dy, &a->y);
  g.b = lines(f->v + head_at(&a->v, b), &a->v);
  gemm_run_alone(&g, w->gemm);
  for (size_t i = 0; i < b->queries; i++)
    row_gradient(w->shares + i * stride, w->dshares + i * stride,
                 dot(dy + i * a->y.line, y + i * a->y.line, a->value_width), a->scale, b->keys);
  if (f->dq)
    block_times_keys(b, w->dshares, f->k + head_at(&a->k, b), &a->k, a->width, f->dq + line_at(&a->q, b), a->q.line,
                     w->gemm);
  if (f->dk)
    add_keys(b, w->dshares, f->q + line_at(&a->q, b), &a->q, a->width, f->dk + head_at(&a->k, b), &a->k, first,
             w->gemm);
}

/* Begins with the last block, which sees all keys and so writes all of dk and dv. */
static void run_head(void *context, size_t head, int thread) {
  const Backward *f = context;
  Work w;
  work_plan(f->a, true, f->scratch + (size_t)thread * f->thread_bytes, &w);
  for (size_t i = block_count(f->a); i-- > 0;) {
    Span b = block_of(f->a, head, i);
    gradient_block(f, &b, i + 1 == block_count(f->a), &w);
  }
}

void attention_gradient_run(const Attention *a, const float *dy, const float *q, const float *k, const float *v,
                            const float *y, const float *norm, const float *mask, float *dq, float *dk, float *dv,
                            void *scratch) {
  Work w;
  work_plan(a, true, NULL, &w);
  Backward f = {a, dy, q, k, v, y, norm, mask, dq, dk, dv, scratch, w.bytes};
  threads_run(a->images * a->heads, run_head, &f);
}
