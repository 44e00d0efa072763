/* Scatter: reductions of rows, and the gradient that both operators share. */
#include "ops/index/scatter_reduction.h"

#include <string.h>

#include "kernels/number.h"
#include "kernels/rows.h"

/* A scatter whose gradient is being written, and how its places are read again. */
typedef struct Picks {
  Grad *grad;
  const char *gather;
  Value *at;
  AttrList attrs;
} Picks;

static const char *const names[SCATTER_KINDS] = {"none", "add", "mul", "max", "min"};

ScatterKind scatter_kind(const Node *n) {
  const char *reduction = node_string(n, "reduction", "none");
  int kind = 0;
  while (kind < SCATTER_KINDS && strcmp(names[kind], reduction) != 0) kind++;
  return (ScatterKind)kind;
}

Status scatter_infer(const Node *n, ScatterKind *out) {
  DType type = n->in[0]->type;
  *out = scatter_kind(n);
  if (*out == SCATTER_KINDS)
    return node_invalid(n, "reduction is '%.40s', not none, add, mul, max or min", node_string(n, "reduction", ""));
  if (n->in[2]->type != type)
    return node_invalid(n, "data are %s, updates %s", dtype_name(type), dtype_name(n->in[2]->type));
  if (dtype_bytes(type) == 0) return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not scatter %s", dtype_name(type));
  if (*out == SCATTER_NONE || dtype_is_number(type)) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not reduce %s", dtype_name(type));
}

bool scatter_expands(const Added *a) {
  const Node with = {.attrs = (Attr *)(uintptr_t)a->attrs, .attr_count = a->attr_count};
  const Value *x = a->in_count ? a->in[0] : NULL;
  return x && dtype_is_float(x->type) && dtype_bytes(x->type) < 4 && scatter_kind(&with) != SCATTER_NONE;
}

Status scatter_in_float(Expansion *c) {
  const Node *n = c->node;
  DType type = n->in[0]->type;
  AttrList attrs = {n->attrs, n->attr_count};
  TRY(node_want_type(n, 2, type));
  Value *x = expand_cast(c, n->in[0], DTYPE_FLOAT32), *updates = expand_cast(c, n->in[2], DTYPE_FLOAT32);
  Value *y = emit_with(c->graph, n->op->name, attrs, x, n->in[1], updates);
  return expand_done(c, expand_cast(c, y, type));
}

static double reduce_floats(ScatterKind kind, double a, double b) {
  if (kind == SCATTER_ADD) return a + b;
  if (kind == SCATTER_MUL) return a * b;
  return kind == SCATTER_MAX ? (b > a ? b : a) : b < a ? b : a;
}

/* `flip` turns unsigned integers into signed ones of the same order. */
static int64_t reduce_ints(ScatterKind kind, int64_t a, int64_t b, int64_t flip) {
  if (kind == SCATTER_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (kind == SCATTER_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  return ((b ^ flip) > (a ^ flip)) == (kind == SCATTER_MAX) ? b : a;
}

static void reduce_other(ScatterKind kind, DType type, void *to, const void *from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Numbers a, b;
    numbers_load(&a, to, type, i, 1, 1);
    numbers_load(&b, from, type, i, 1, 1);
    if (dtype_is_float(type)) {
      a.floats[0] = reduce_floats(kind, a.floats[0], b.floats[0]);
      numbers_store_floats(&a, to, type, i, 1);
    } else {
      a.ints[0] = reduce_ints(kind, a.ints[0], b.ints[0], type == DTYPE_UINT64 ? INT64_MIN : 0);
      numbers_store_ints(&a, to, type, i, 1);
    }
  }
}

void scatter_row(ScatterKind kind, DType type, void *to_, const void *from_, size_t count) {
  float *to = to_;
  const float *from = from_;
  if (kind == SCATTER_NONE) {
    memcpy(to_, from_, count * dtype_bytes(type));
    return;
  }
  if (type != DTYPE_FLOAT32) {
    reduce_other(kind, type, to_, from_, count);
    return;
  }
  if (kind == SCATTER_ADD) {
    row_add(to, from, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    float a = to[i], b = from[i];
    to[i] = kind == SCATTER_MUL ? a * b : kind == SCATTER_MAX ? (b > a ? b : a) : b < a ? b : a;
  }
}

/* ---- gradients ---- */

static Value *gather(const Picks *p, Value *x) { return emit_with(p->grad->graph, p->gather, p->attrs, x, p->at); }

static Value *scatter(const Picks *p, Value *data, Value *updates, const char *reduction) {
  const Node *n = p->grad->node;
  Attr attrs[2] = {attr_of_string("reduction", reduction)};
  for (int i = 0; i < p->attrs.count; i++) attrs[1 + i] = p->attrs.items[i];
  AttrList all = {attrs, 1 + p->attrs.count};
  return emit_with(p->grad->graph, n->op->name, all, data, p->at, updates);
}

static Value *as_float(Graph *g, Value *truths) {
  return emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), truths);
}

/* The elements that are y share dy equally: N = how many of data and updates they are, share = dy / N. */
static Status extreme_grad(const Picks *p) {
  Grad *grad = p->grad;
  Graph *g = grad->graph;
  Value *const *in = grad->node->in, *y = grad->node->out[0], *zero = emit_float(g, 0);
  Value *kept = emit(g, "Equal", in[0], y), *hit = emit(g, "Equal", in[2], gather(p, y));
  Value *share = emit(g, "Div", grad->dy[0], scatter(p, as_float(g, kept), as_float(g, hit), "add"));
  if (grad->want[0]) grad->dx[0] = emit(g, "Where", kept, share, zero);
  if (grad->want[2]) grad->dx[2] = emit(g, "Where", hit, gather(p, share), zero);
  return STATUS_OK;
}

/* dx of factor x: dy·P / x, P = the product of all factors that are not 0, in a place without zeros; dy·P of a 0 that
 * is the only one there; else 0. */
static Status product_grad(const Picks *p) {
  Grad *grad = p->grad;
  Graph *g = grad->graph;
  Value *const *in = grad->node->in, *zero = emit_float(g, 0), *one = emit_float(g, 1);
  Value *none[] = {emit(g, "Equal", in[0], zero), emit(g, "Equal", in[2], zero)};
  Value *factors[] = {emit(g, "Where", none[0], one, in[0]), emit(g, "Where", none[1], one, in[2])};
  Value *dp = emit(g, "Mul", grad->dy[0], scatter(p, factors[0], factors[1], "mul"));
  Value *zeros = scatter(p, as_float(g, none[0]), as_float(g, none[1]), "add");
  Value *plain = emit(g, "Where", emit(g, "Equal", zeros, zero), dp, zero);
  Value *alone = emit(g, "Where", emit(g, "Equal", zeros, one), dp, zero);
  if (grad->want[0]) grad->dx[0] = emit(g, "Where", none[0], alone, emit(g, "Div", plain, factors[0]));
  if (grad->want[2])
    grad->dx[2] = emit(g, "Where", none[1], gather(p, alone), emit(g, "Div", gather(p, plain), factors[1]));
  return STATUS_OK;
}

Status scatter_grad(Grad *g, const char *gather_op, Value *at, AttrList attrs) {
  Node *n = g->node;
  Value *dy = g->dy[0];
  ScatterKind kind = scatter_kind(n);
  Picks p = {g, gather_op, at, attrs};
  if (kind == SCATTER_MUL) return product_grad(&p);
  if (kind > SCATTER_MUL) return extreme_grad(&p);
  if (g->want[0] && kind == SCATTER_ADD) g->dx[0] = dy;
  else if (g->want[0]) {
    Value *zeros = emit(g->graph, "ConstantOfShape", emit_shape(g->graph, n->in[2]));
    g->dx[0] = emit_with(g->graph, n->op->name, attrs, dy, at, zeros);
  }
  if (g->want[2]) g->dx[2] = gather(&p, dy);
  return STATUS_OK;
}
