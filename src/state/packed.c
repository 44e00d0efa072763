/* Packed: one entry for each weight, found by its address. */
#include "state/packed.h"

#include "budget.h"
#include "ops/ops.h"

/* Packing costs one walk over the weights, the product as many as y has pixels: with more pixels than this, packing no
 * longer matters. */
enum { PIXELS_MAX = 512 };
/* A second copy of what is large anyway: at most so much. */
static const double BYTES_MAX = 512 * 1024 * 1024;

static bool is_fixed(const Value *w) { return w->fixed || (w->kind == VALUE_CONSTANT && w->initializer); }

static bool is_conv(const Node *n) { return n->op == &op_conv || n->op == &op_fused_conv; }

static bool is_product(const Node *n) {
  return n->op == &op_gemm || n->op == &op_fused_gemm || n->op == &op_mat_mul || n->op == &op_fused_mat_mul;
}

static bool conv_pays(const Node *n) {
  const Conv *conv = n->params;
  /* Winograd's form is four times as large as the weights, so it is not kept. */
  return conv->batch * window_out(&conv->window) <= PIXELS_MAX && conv_packed_floats(conv) == in_count(n, 1);
}

/* One product, not one for each matrix of a batch. */
static bool product_pays(const Node *n) {
  const Gemm *g = n->params;
  bool single = n->in[1]->shape.rank == 2 && out_count(n, 0) == g->rows * g->columns;
  return single && n->in[1]->type == DTYPE_FLOAT32 && gemm_packing_pays(g);
}

static bool pays(const Node *n) { return is_conv(n) ? conv_pays(n) : is_product(n) && product_pays(n); }

/* The node's computation with its current weights. */
static PackedWeights of(const Node *n) {
  PackedWeights p = {.w = n->in[1]->data};
  if (is_conv(n)) p.conv = *(const Conv *)n->params;
  else p.gemm = *(const Gemm *)n->params; /* the params of products begin with it */
  return p;
}

static bool is_same(const PackedWeights *a, const PackedWeights *b) {
  const Conv *c = &a->conv, *d = &b->conv;
  const Gemm *g = &a->gemm, *h = &b->gemm;
  return a->w == b->w && c->groups == d->groups && c->features == d->features && c->channels == d->channels &&
         g->columns == h->columns && g->depth == h->depth && g->b.line_stride == h->b.line_stride;
}

static size_t floats_of(const PackedWeights *p) {
  return p->gemm.columns ? gemm_packed_b_floats(p->gemm.columns, p->gemm.depth) : conv_packed_floats(&p->conv);
}

static void pack(const PackedWeights *p) {
  GemmSource b = p->gemm.b;
  b.data = p->w;
  if (p->gemm.columns) gemm_pack_b(&b, p->gemm.columns, p->gemm.depth, p->data);
  else conv_pack_weights(&p->conv, p->w, p->data, NULL);
}

static PackedWeights *find(const PackedStore *s, const PackedWeights *wanted) {
  for (PackedWeights *p = s->first; p; p = p->next)
    if (is_same(p, wanted)) return p;
  return NULL;
}

static PackedWeights *add(PackedStore *s, const PackedWeights *wanted) {
  PackedWeights *p = ARENA_NEW(&s->arena, PackedWeights);
  float *data = p ? ARENA_ARRAY(&s->arena, float, floats_of(wanted)) : NULL;
  if (!data) return budget_forgive(), NULL; /* then the weights are packed in every run */
  *p = *wanted;
  p->data = data;
  p->next = s->first;
  pack(p);
  s->first = p;
  s->bytes += floats_of(p) * sizeof(float);
  return p;
}

void packed_take(PackedStore *s, Graph *g, double room) {
  size_t before = s->bytes;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (n->in_count < 2 || !n->in[1] || !is_fixed(n->in[1]) || !pays(n)) continue;
    PackedWeights wanted = of(n), *p = find(s, &wanted);
    double bytes = (double)floats_of(&wanted) * sizeof(float);
    bool fits = (double)(s->bytes - before) + bytes <= room && (double)s->bytes + bytes <= BYTES_MAX;
    if (!p && fits) p = add(s, &wanted);
    if (!p) continue;
    if (is_conv(n)) ((Conv *)n->params)->packed = p->data;
    else ((Gemm *)n->params)->packed_b = p->data;
  }
}

void packed_refresh(PackedStore *s) {
  for (PackedWeights *p = s->stale ? s->first : NULL; p; p = p->next) pack(p);
  s->stale = false;
}

void packed_free(PackedStore *s) {
  arena_free(&s->arena);
  *s = (PackedStore){0};
}
