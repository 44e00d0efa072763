/* Narrow: few rows times constant weights of 8 or 16 bits, which were widened first, become NarrowMatMul:
 *   A · DequantizeLinear(W) + bias,   A · Cast(W of float16) + bias */
#include "ops/ops.h"
#include "ops/quantize/narrow_mat_mul.h"
#include "passes/product.h"

/* The scale of infinity and NaN is that of no number; the kernel does not know it. */
static bool is_finite(const Value *v) {
  const uint16_t *bits = v->data;
  for (size_t i = 0; i < shape_elements(&v->shape); i++)
    if ((bits[i] & 0x7c00) == 0x7c00) return false;
  return true;
}

static bool is_constant(const Value *v) { return v && v->kind == VALUE_CONSTANT; }

typedef struct Widened {
  Value *w, *scale, *point;
  int64_t block;
} Widened;

/* Reads what widens b (depth × columns, or turned); false when it is none of these. */
static bool widened(const Value *b, bool turned, Widened *to) {
  const Node *n = b->kind == VALUE_NODE ? b->producer : NULL;
  if (!n || !is_constant(n->in[0])) return false;
  *to = (Widened){.w = n->in[0]};
  if (n->op == &op_cast) return to->w->type == DTYPE_FLOAT16 && is_finite(to->w);
  if (n->op != &op_dequantize_linear || !is_constant(n->in[1])) return false;
  int64_t axis = node_int(n, "axis", 1);
  to->scale = n->in[1];
  to->point = has_in(n, 2) ? n->in[2] : NULL;
  to->block = node_int(n, "block_size", 0);
  if (to->point && !is_constant(to->point)) return false;
  if (axis < 0) axis += 2;
  return shape_elements(&to->scale->shape) == 1 || (to->block ? axis == turned : axis == !turned);
}

static Value *bias_of(const Product *p, Dim columns) {
  if (!p->c) return EMIT_ABSENT;
  bool row = p->beta == 1 && p->c->shape.rank == 1 && p->c->shape.dim[0] == columns;
  return row ? p->c : NULL;
}

static bool rewrite(Graph *g, Node *n) {
  Product p;
  Widened to;
  if (!product_of(n, &p) || p.alpha != 1 || p.trans_a || p.b->shape.rank != 2) return false;
  const Shape *a = &p.a->shape, *b = &p.b->shape;
  size_t rows = shape_span(a, 0, a->rank - 1);
  Value *bias = bias_of(&p, b->dim[!p.trans_b]);
  if (rows < 1 || rows > NARROW_ROWS || !bias || !widened(p.b, p.trans_b, &to)) return false;
  NarrowInputs in = {to.w, to.scale, to.point};
  if (!narrow_is_right(&in, p.trans_b, (size_t)to.block)) return false;
  Narrow w = narrow_of(&in, p.trans_b, (size_t)to.block);
  if (!narrow_fits(&w)) return false;
  Attr attrs[] = {attr_of_int("transB", p.trans_b), attr_of_int("block_size", to.block)};
  Value *inputs[] = {p.a, to.w, to.scale ? to.scale : EMIT_ABSENT, to.point ? to.point : EMIT_ABSENT, bias};
  return rewrite_as(n, emit_first(g, "NarrowMatMul", (AttrList){attrs, 2}, inputs, 5));
}

Status pass_narrow(Graph *g) { return rewrite_each(g, rewrite); }
