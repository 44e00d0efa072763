/* Attention in pieces: softmax(softcap · tanh(scale · Q Kᵀ / softcap) + bias) V, where each head of K and V serves the
 * same number of heads of Q. */
#include "ops/attention/attention_pieces.h"

#include "graph/dims.h"

#include <float.h>
#include <math.h>

static Value *transposed(Expansion *c, Value *x, int a, int b, int to_c, int d) {
  return emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){a, b, to_c, d}, 4)), x);
}

Value *attention_heads(Expansion *c, Value *x, int64_t heads) {
  return transposed(c, emit(c->graph, "Reshape", x, emit_ints(c->graph, (int64_t[]){0, 0, heads, -1}, 4)), 0, 2, 1, 3);
}

Value *attention_tokens(Expansion *c, Value *y) {
  return emit(c->graph, "Reshape", transposed(c, y, 0, 2, 1, 3), emit_ints(c->graph, (int64_t[]){0, 0, -1}, 3));
}

Value *attention_appended(Expansion *c, Value *past, Value *x) {
  return past ? emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", 2)), past, x) : x;
}

Value *attention_rows(Expansion *c, Value *q, Value *before) {
  Value *rows = q ? emit(c->graph, "Reshape", expand_range(c, expand_dim(c, q, 2, false)),
                         emit_ints(c->graph, (int64_t[]){-1, 1}, 2))
                  : NULL;
  return before ? emit(c->graph, "Add", rows, before) : rows;
}

Value *attention_columns(Expansion *c, Value *k) { return k ? expand_range(c, expand_dim(c, k, 2, false)) : NULL; }

Value *attention_either(Expansion *c, Value *a, Value *b) { return a ? emit(c->graph, "Or", a, b) : b; }

void attention_mask(Expansion *c, AttentionPieces *p, Value *mask) {
  if (mask && mask->type == DTYPE_BOOL) p->hidden = attention_either(c, p->hidden, emit(c->graph, "Not", mask));
  else if (mask) p->bias = p->bias ? emit(c->graph, "Add", p->bias, mask) : mask;
}

/* (N, H', S, D) as (N, H, S, D), each head followed by its copies. */
static Value *repeated(Expansion *c, Value *x, Value *q) {
  Graph *g = c->graph;
  int64_t d = x->shape.dim[3], heads = q->shape.dim[1], own = x->shape.dim[1];
  if (heads == own) return x;
  if (!dim_is_number(d) || !dim_is_number(heads) || !dim_is_number(own)) {
    Value *times = emit(g, "Div", expand_dim(c, q, 1, false), expand_dim(c, x, 1, false)),
          *from = emit(g, "Div", expand_range(c, expand_dim(c, q, 1, false)), times);
    return emit_with(g, "Gather", ATTRS(attr_of_int("axis", 1)), x, from);
  }
  int64_t times = heads / own;
  Value *apart = emit(g, "Reshape", x, emit_ints(g, (int64_t[]){0, 0, 1, -1, d}, 5));
  return emit(g, "Reshape", emit(g, "Expand", apart, emit_ints(g, (int64_t[]){1, 1, times, 1, 1}, 5)),
              emit_ints(g, (int64_t[]){0, heads, -1, d}, 4));
}

static Status check_heads(Expansion *c, const Shape *q, const Shape *k, const Shape *v) {
  bool fit = !dim_is_number(k->dim[1]) || dim_divides(q->dim[1], k->dim[1]);
  if (!fit || !dims_meet(v->dim[1], k->dim[1]))
    return node_invalid(c->node,
                        "%lld heads of Q must be a multiple of %lld of K, and V must have as many as K, it has %lld",
                        (long long)q->dim[1], (long long)k->dim[1], (long long)v->dim[1]);
  return STATUS_OK;
}

/* True where a query sees no key at all, with 1 in place of S. */
static Value *find_blind(Expansion *c, const AttentionPieces *p, Value *lowest) {
  Graph *g = c->graph;
  Value *closed = p->bias ? emit(g, "Less", p->bias, lowest) : NULL, *unseen = closed && p->hidden
                                                                                 ? emit(g, "Or", p->hidden, closed)
                                                                             : closed ? closed
                                                                                      : p->hidden;
  Value *seen = unseen ? expand_cast(c, emit(g, "Not", unseen), DTYPE_FLOAT32) : NULL;
  return seen
           ? emit(g, "Not", expand_cast(c, expand_reduce(c, "ReduceMax", seen, (int64_t[]){-1}, 1, true), DTYPE_BOOL))
           : NULL;
}

static Value *emptied(Expansion *c, Value *blind, Value *x) {
  return blind ? emit(c->graph, "Where", blind, expand_number(c, x, 0), x) : x;
}

static Value *scale_of(Expansion *c, const AttentionPieces *p) {
  Dim width = p->q->shape.dim[3];
  if (p->scale != 0 || dim_is_number(width))
    return expand_number(c, p->q, p->scale != 0 ? (double)p->scale : 1 / sqrt((double)width));
  Value *root = emit(c->graph, "Sqrt", expand_cast(c, expand_dim(c, p->q, 3, false), p->q->type));
  return emit(c->graph, "Div", expand_number(c, p->q, 1), root);
}

Value *attention_scores(Expansion *c, const AttentionPieces *p) {
  if (!p->q || !p->k || !p->v || check_heads(c, &p->q->shape, &p->k->shape, &p->v->shape) != STATUS_OK) return NULL;
  Value *x = emit(c->graph, "MatMul", p->q, transposed(c, repeated(c, p->k, p->q), 0, 1, 3, 2));
  return emit(c->graph, "Mul", x, scale_of(c, p));
}

Value *attention_product(Expansion *c, const AttentionPieces *p, Value *shares) {
  return shares ? emit(c->graph, "MatMul", shares, repeated(c, p->v, p->q)) : NULL;
}

Value *attention_pieces(Expansion *c, AttentionPieces *p) {
  Graph *g = c->graph;
  Value *x = p->stages[0] = attention_scores(c, p), *lowest = x ? expand_number(c, p->q, -(double)FLT_MAX) : NULL;
  if (!x) return NULL;
  if (p->softcap != 0) {
    Value *cap = expand_number(c, p->q, (double)p->softcap);
    x = emit(g, "Mul", emit(g, "Tanh", emit(g, "Div", x, cap)), cap);
  }
  p->stages[1] = x;
  Value *blind = p->blind ? find_blind(c, p, lowest) : NULL;
  if (blind && p->bias) p->bias = emit(g, "Max", p->bias, lowest); /* a row of -∞ alone has no softmax */
  if (p->bias) x = emit(g, "Add", x, p->hidden ? emit(g, "Where", p->hidden, lowest, p->bias) : p->bias);
  else if (p->hidden) x = emit(g, "Where", p->hidden, lowest, x);
  p->stages[2] = p->hidden ? emit(g, "Where", p->hidden, expand_number(c, x, -INFINITY), x) : x;
  p->stages[3] = x = emit_with(g, "Softmax", ATTRS(attr_of_int("axis", -1)), x);
  p->stages[3] = emptied(c, blind, x);
  return emptied(c, blind, attention_product(c, p, x));
}

Status attention_padding(Expansion *c, AttentionPieces *p, int input, float low) {
  Graph *g = c->graph;
  if (!has_in(c->node, input)) return STATUS_OK;
  Value *mask = expand_cast(c, c->node->in[input], DTYPE_INT64), *seen = NULL;
  if (!mask) return g->error->status;
  const Shape *s = &mask->shape;
  TRY(node_want_rank(c->node, input, 1, 3));
  if (s->rank == 1 && !dims_meet(s->dim[0], p->q->shape.dim[0]))
    return node_fail(c->node, STATUS_UNSUPPORTED_OP,
                     "input %d, a mask of one dimension, must have one length for each of the batch", input);
  if (s->rank == 1)
    seen = emit(g, "Less", attention_columns(c, p->k),
                emit(g, "Reshape", mask, emit_ints(g, (int64_t[]){-1, 1, 1, 1}, 4)));
  else
    seen = emit(g, "Greater",
                expand_reshape(c, mask,
                               (Size[]){SIZE_NUMBER(0), SIZE_NUMBER(1),
                                        s->rank == 2 ? SIZE_NUMBER(1) : SIZE_DIM(mask, 1), SIZE_NUMBER(-1)},
                               4),
                emit_ints(g, (int64_t[]){0}, 1));
  attention_mask(c, p, emit(g, "Where", seen, expand_number(c, p->q, 0), expand_number(c, p->q, (double)low)));
  return STATUS_OK;
}

Status attention_refuse(const Expansion *c, const char *const *attributes) {
  for (; *attributes; attributes++)
    if (node_int(c->node, *attributes, 0) > 0)
      return node_fail(c->node, STATUS_UNSUPPORTED_OP, "%s is not supported", *attributes);
  return STATUS_OK;
}
