/* Attention in pieces: softmax(softcap · tanh(scale · Q Kᵀ / softcap) + bias) V, where each head of K and V serves the
 * same number of heads of Q. */
#include "ops/attention/attention_pieces.h"

#include <float.h>
#include <math.h>

static Value *transposed(Compose *c, Value *x, int a, int b, int to_c, int d) {
  return emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){a, b, to_c, d}, 4)), x);
}

Value *attention_heads(Compose *c, Value *x, int64_t heads) {
  return transposed(c, emit(c->graph, "Reshape", x, emit_ints(c->graph, (int64_t[]){0, 0, heads, -1}, 4)), 0, 2, 1, 3);
}

Value *attention_tokens(Compose *c, Value *y) {
  return emit(c->graph, "Reshape", transposed(c, y, 0, 2, 1, 3), emit_ints(c->graph, (int64_t[]){0, 0, -1}, 3));
}

Value *attention_appended(Compose *c, Value *past, Value *x) {
  return past ? emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", 2)), past, x) : x;
}

Value *attention_rows(Compose *c, Value *q, Value *before) {
  Value *rows = q ? emit(c->graph, "Reshape", compose_range(c, compose_dim(c, q, 2, false)),
                         emit_ints(c->graph, (int64_t[]){-1, 1}, 2))
                  : NULL;
  return before ? emit(c->graph, "Add", rows, before) : rows;
}

Value *attention_columns(Compose *c, Value *k) { return k ? compose_range(c, compose_dim(c, k, 2, false)) : NULL; }

Value *attention_either(Compose *c, Value *a, Value *b) { return a ? emit(c->graph, "Or", a, b) : b; }

void attention_mask(Compose *c, AttentionPieces *p, Value *mask) {
  if (mask && mask->type == DTYPE_BOOL) p->hidden = attention_either(c, p->hidden, emit(c->graph, "Not", mask));
  else if (mask) p->bias = p->bias ? emit(c->graph, "Add", p->bias, mask) : mask;
}

/* (N, H', S, D) as (N, H' · times, S, D), each head followed by its copies. */
static Value *repeated(Compose *c, Value *x, int64_t times) {
  if (times == 1) return x;
  Graph *g = c->graph;
  int64_t d = x->shape.dim[3], heads = x->shape.dim[1] * times;
  Value *apart = emit(g, "Reshape", x, emit_ints(g, (int64_t[]){0, 0, 1, -1, d}, 5));
  return emit(g, "Reshape", emit(g, "Expand", apart, emit_ints(g, (int64_t[]){1, 1, times, 1, 1}, 5)),
              emit_ints(g, (int64_t[]){0, heads, -1, d}, 4));
}

static Status check_heads(Compose *c, const Shape *q, const Shape *k, const Shape *v) {
  for (int i = 1; i < 4; i += 2)
    if (!dim_is_number(q->dim[i]) || !dim_is_number(k->dim[i]) || !dim_is_number(v->dim[i]))
      return node_fail(c->node, STATUS_UNSUPPORTED_OP, "the number of heads and their sizes must be known");
  if (!k->dim[1] || q->dim[1] % k->dim[1] || v->dim[1] != k->dim[1])
    return node_invalid(c->node,
                        "%lld heads of Q must be a multiple of %lld of K, and V must have as many as K, it has %lld",
                        (long long)q->dim[1], (long long)k->dim[1], (long long)v->dim[1]);
  return STATUS_OK;
}

/* True where a query sees no key at all, with 1 in place of S. */
static Value *find_blind(Compose *c, const AttentionPieces *p, Value *lowest) {
  Graph *g = c->graph;
  Value *closed = p->bias ? emit(g, "Less", p->bias, lowest) : NULL, *unseen = closed && p->hidden
                                                                                 ? emit(g, "Or", p->hidden, closed)
                                                                             : closed ? closed
                                                                                      : p->hidden;
  Value *seen = unseen ? compose_cast(c, emit(g, "Not", unseen), DTYPE_FLOAT32) : NULL;
  return seen
           ? emit(g, "Not", compose_cast(c, compose_reduce(c, "ReduceMax", seen, (int64_t[]){-1}, 1, true), DTYPE_BOOL))
           : NULL;
}

static Value *emptied(Compose *c, Value *blind, Value *x) {
  return blind ? emit(c->graph, "Where", blind, compose_number(c, x, 0), x) : x;
}

static int64_t times(const AttentionPieces *p) { return p->q->shape.dim[1] / p->k->shape.dim[1]; }

Value *attention_scores(Compose *c, const AttentionPieces *p) {
  if (!p->q || !p->k || !p->v || check_heads(c, &p->q->shape, &p->k->shape, &p->v->shape) != STATUS_OK) return NULL;
  double scale = p->scale != 0 ? (double)p->scale : 1 / sqrt((double)p->q->shape.dim[3]);
  Value *x = emit(c->graph, "MatMul", p->q, transposed(c, repeated(c, p->k, times(p)), 0, 1, 3, 2));
  return emit(c->graph, "Mul", x, compose_number(c, p->q, scale));
}

Value *attention_product(Compose *c, const AttentionPieces *p, Value *shares) {
  return shares ? emit(c->graph, "MatMul", shares, repeated(c, p->v, times(p))) : NULL;
}

Value *attention_pieces(Compose *c, AttentionPieces *p) {
  Graph *g = c->graph;
  Value *x = p->stages[0] = attention_scores(c, p), *lowest = x ? compose_number(c, p->q, -(double)FLT_MAX) : NULL;
  if (!x) return NULL;
  if (p->softcap != 0) {
    Value *cap = compose_number(c, p->q, (double)p->softcap);
    x = emit(g, "Mul", emit(g, "Tanh", emit(g, "Div", x, cap)), cap);
  }
  p->stages[1] = x;
  Value *blind = p->blind ? find_blind(c, p, lowest) : NULL;
  if (blind && p->bias) p->bias = emit(g, "Max", p->bias, lowest); /* a row of -∞ alone has no softmax */
  if (p->bias) x = emit(g, "Add", x, p->hidden ? emit(g, "Where", p->hidden, lowest, p->bias) : p->bias);
  else if (p->hidden) x = emit(g, "Where", p->hidden, lowest, x);
  p->stages[2] = p->hidden ? emit(g, "Where", p->hidden, compose_number(c, x, -INFINITY), x) : x;
  p->stages[3] = x = emit_with(g, "Softmax", ATTRS(attr_of_int("axis", -1)), x);
  p->stages[3] = emptied(c, blind, x);
  return emptied(c, blind, attention_product(c, p, x));
}

Status attention_padding(Compose *c, AttentionPieces *p, int input, float low) {
  Graph *g = c->graph;
  if (!has_in(c->node, input)) return STATUS_OK;
  Value *mask = compose_cast(c, c->node->in[input], DTYPE_INT64), *seen = NULL;
  if (!mask) return g->error->status;
  const Shape *s = &mask->shape;
  TRY(node_want_rank(c->node, input, 1, 3));
  if (s->rank == 3 && !dim_is_number(s->dim[1]))
    return node_fail(c->node, STATUS_UNSUPPORTED_OP, "the number of queries in input %d must be known", input);
  if (s->rank == 1 && s->dim[0] != p->q->shape.dim[0])
    return node_fail(c->node, STATUS_UNSUPPORTED_OP,
                     "input %d, a mask of one dimension, must have one length for each of the batch", input);
  if (s->rank == 1)
    seen = emit(g, "Less", attention_columns(c, p->k),
                emit(g, "Reshape", mask, emit_ints(g, (int64_t[]){-1, 1, 1, 1}, 4)));
  else
    seen = emit(g, "Greater",
                emit(g, "Reshape", mask,
                     emit_ints(g, s->rank == 2 ? (int64_t[]){0, 1, 1, -1} : (int64_t[]){0, 1, s->dim[1], -1}, 4)),
                emit_ints(g, (int64_t[]){0}, 1));
  attention_mask(c, p, emit(g, "Where", seen, compose_number(c, p->q, 0), compose_number(c, p->q, (double)low)));
  return STATUS_OK;
}

Status attention_refuse(const Compose *c, const char *const *attributes) {
  for (; *attributes; attributes++)
    if (node_int(c->node, *attributes, 0) > 0)
      return node_fail(c->node, STATUS_UNSUPPORTED_OP, "%s is not supported", *attributes);
  return STATUS_OK;
}
