/* Packed: one entry for each weight, found by its address. */
#include "run/packed.h"

#include "budget.h"
#include "ops/ops.h"

/* Packing costs one walk over the weights, the product as many as y has pixels: with more pixels than this, packing no
 * longer matters. */
enum { PIXELS_MAX = 512 };

static bool is_fixed(const Value *w) { return w->fixed || (w->kind == VALUE_CONSTANT && w->initializer); }

static bool pays(const Node *n) {
  const Conv *conv = n->params;
  /* Winograd's form is four times as large as the weights, so it is not kept. */
  return is_fixed(n->in[1]) && conv->batch * window_out(&conv->window) <= PIXELS_MAX &&
         conv_packed_floats(conv) == in_count(n, 1);
}

static PackedWeights *find(const PackedStore *s, const Node *n) {
  const Conv *conv = n->params;
  for (PackedWeights *p = s->first; p; p = p->next)
    if (p->w == n->in[1]->data && p->conv.groups == conv->groups && p->conv.features == conv->features &&
        p->conv.channels == conv->channels)
      return p;
  return NULL;
}

static PackedWeights *add(PackedStore *s, const Node *n) {
  const Conv *conv = n->params;
  size_t floats = conv_packed_floats(conv);
  PackedWeights *p = ARENA_NEW(&s->arena, PackedWeights);
  float *data = p ? ARENA_ARRAY(&s->arena, float, floats) : NULL;
  if (!data) return budget_forgive(), NULL; /* then the weights are packed in every run */
  *p = (PackedWeights){.conv = *conv, .w = n->in[1]->data, .data = data, .next = s->first};
  conv_pack_weights(conv, p->w, data, NULL);
  s->first = p;
  s->bytes += floats * sizeof(float);
  return p;
}

void packed_take(PackedStore *s, Graph *g, double room) {
  size_t before = s->bytes;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if ((n->op != &op_conv && n->op != &op_fused_conv) || !pays(n)) continue;
    PackedWeights *p = find(s, n);
    double floats = (double)conv_packed_floats(n->params);
    if (!p && (double)(s->bytes - before) + floats * sizeof(float) <= room) p = add(s, n);
    if (p) ((Conv *)n->params)->packed = p->data;
  }
}

void packed_refresh(PackedStore *s) {
  for (PackedWeights *p = s->stale ? s->first : NULL; p; p = p->next) conv_pack_weights(&p->conv, p->w, p->data, NULL);
  s->stale = false;
}

void packed_free(PackedStore *s) {
  arena_free(&s->arena);
  *s = (PackedStore){0};
}
