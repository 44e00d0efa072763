/* LRN: y = x·b^-beta, b = bias + alpha / size·Σ x² over `size` channels around.
 * dx = dy·b^-beta - 2·alpha·beta / size·x·Σ dy·y / b over the channels around which x lies. */
#include "kernels/float_power.h"
#include "kernels/vector_math.h"
#include "graph/expansion.h"
#include "graph/work.h"
#include "threads.h"

typedef struct Lrn {
  int64_t size;
  float alpha, beta, bias;
} Lrn;

static Status lrn_infer(Node *n) {
  Lrn *p = NODE_PARAMS(n, Lrn);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Lrn){node_int(n, "size", 0), node_float(n, "alpha", 1e-4f), node_float(n, "beta", 0.75f),
             node_float(n, "bias", 1)};
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  if (p->size < 1) return node_invalid(n, "size is %lld", (long long)p->size);
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

/* ---- run: a block of pixels channel by channel, so that what a window sees is still in the nearest cache ---- */

enum { BLOCK = 64 };

typedef struct Pictures {
  const Lrn *p;
  const float *x;
  float *y;
  size_t channels, pixels, blocks; /* sizes of a picture */
} Pictures;

/* Channel c of `count` pixels; x and y point to its first. */
static void scale_channel(const Pictures *s, size_t c, const float *x, float *y, size_t count) {
  const Lrn p = *s->p;
  size_t before = (size_t)(p.size - 1) / 2, after = (size_t)p.size / 2, left = s->channels - 1 - c;
  ptrdiff_t from = -(ptrdiff_t)(before < c ? before : c), to = (ptrdiff_t)(after < left ? after : left),
            step = (ptrdiff_t)s->pixels;
  float b[BLOCK];
  for (size_t i = 0; i < count; i += 4) {
    f32x4 sum = f32x4_splat(0);
    for (ptrdiff_t k = from; k <= to; k++) {
      f32x4 v = f32x4_load_up_to(x + (ptrdiff_t)i + k * step, count - i);
      sum += v * v;
    }
    f32x4_store(b + i, sum / (float)p.size * p.alpha + p.bias);
  }
  float_powers_by(b, b, -p.beta, count);
  for (size_t i = 0; i < count; i++) y[i] = x[i] * b[i];
}

static void scale_blocks(void *context, size_t from, size_t to) {
  const Pictures *s = context;
  for (size_t block = from; block < to; block++) {
    size_t pixel = block % s->blocks * BLOCK, at = block / s->blocks * s->channels * s->pixels + pixel;
    size_t count = s->pixels - pixel < BLOCK ? s->pixels - pixel : BLOCK;
    for (size_t c = 0; c < s->channels; c++, at += s->pixels) scale_channel(s, c, s->x + at, s->y + at, count);
  }
}

static void lrn_run(const Node *n) {
  const Shape *x = &n->in[0]->shape;
  Pictures s = {n->params, in_f32(n, 0), out_f32(n, 0), (size_t)x->dim[1], shape_span(x, 2, x->rank), 0};
  s.blocks = (s.pixels + BLOCK - 1) / BLOCK;
  threads_split((size_t)x->dim[0] * s.blocks, threads_grain(s.channels * BLOCK), scale_blocks, &s);
}

static double lrn_work(const Node *n) {
  double channels = (double)n->in[0]->shape.dim[1], size = (double)((const Lrn *)n->params)->size;
  return work_elements(n->out[0]) * (size < channels ? size : channels);
}

/* ---- gradient ---- */

/* The mean of `size` channels of v, which has x's shape, `before` of them before each, as ONNX's pool along them. */
static Value *mean_around(Graph *g, const Lrn *p, Value *x, Value *v, int64_t before) {
  int64_t pads[] = {before, 0, p->size - 1 - before, 0}, window[] = {p->size, 1};
  AttrList pool = ATTRS(attr_of_ints("kernel_shape", window, 2), attr_of_ints("pads", pads, 4),
                        attr_of_int("count_include_pad", 1));
  Size sizes[] = {SIZE_NUMBER(0), SIZE_NUMBER(1), SIZE_DIM(x, 1), SIZE_NUMBER(-1)};
  Value *flat = expand_reshape(&(Expansion){.graph = g}, v, sizes, 4);
  return emit(g, "Reshape", emit_with(g, "AveragePool", pool, flat), emit_shape(g, x));
}

static Status lrn_grad(Grad *grad) {
  Graph *g = grad->graph;
  const Lrn *p = grad->node->params;
  Value *x = grad->node->in[0], *y = grad->node->out[0], *dy = grad->dy[0];
  Value *mean = mean_around(g, p, x, emit(g, "Mul", x, x), (p->size - 1) / 2);
  Value *b = emit(g, "Add", emit(g, "Mul", mean, emit_float(g, p->alpha)), emit_float(g, p->bias));
  Value *around = mean_around(g, p, x, emit(g, "Div", emit(g, "Mul", dy, y), b), p->size / 2);
  Value *other = emit(g, "Mul", emit(g, "Mul", x, emit_float(g, 2 * p->alpha * p->beta)), around);
  grad->dx[0] = emit(g, "Sub", emit(g, "Mul", dy, emit(g, "Pow", b, emit_float(g, -p->beta))), other);
  return STATUS_OK;
}

OPERATOR(lrn) = {
    .name = "LRN",
    .since = {1, 13},
    .inputs = {1, 1},
    .infer = lrn_infer,
    .run = lrn_run,
    .grad = GRADIENT(lrn_grad),
    .work = lrn_work,
    .cases = CASES({"f32[2,5,3,2]", "size=3 alpha=0.5 bias=2.0"}, {"f32[1,4,3]", "size=2 alpha=0.9 beta=0.5"},
                   {"f32[1,3,70]", "size=5 alpha=2.0"}),
};
