/* Products with constant or frozen weights of 8 or 16 bits, which were widened first, become WeightOnlyMatMul:
 *   A · DequantizeLinear(W) + bias,   A · Cast(W of float16) + bias,   with W or its Transpose */
#include "ops/ops.h"
#include "ops/quantize/weight_only_mat_mul.h"
#include "passes/product.h"

/* The scale of infinity and NaN is that of no number; the kernel does not know it. */
static bool is_finite(const Value *v) {
  const uint16_t *bits = v->data;
  for (size_t i = 0; bits && i < shape_elements(&v->shape); i++)
    if ((bits[i] & 0x7c00) == 0x7c00) return false;
  return bits;
}

static bool is_fixed(const Value *v) { return v && (v->kind == VALUE_CONSTANT || v->fixed); }

/* Reads what widens p's B; false when it is none of these. */
static bool widened(const Product *p, WeightOnlyInputs *to) {
  const Node *n = p->b->kind == VALUE_NODE ? p->b->producer : NULL;
  if (!n) return false;
  const Node *turned = made_by(n->in[0], &op_transpose);
  if (turned && *(const int *)turned->params != 1) return false;
  *to = (WeightOnlyInputs){.w = turned ? turned->in[0] : n->in[0], .trans_b = p->trans_b != !!turned, .axis = 1};
  if (!is_fixed(to->w)) return false;
  if (n->op == &op_cast) return to->w->type == DTYPE_FLOAT16 && is_finite(to->w);
  if (n->op != &op_dequantize_linear || !is_fixed(n->in[1])) return false;
  to->scale = n->in[1];
  to->point = has_in(n, 2) ? n->in[2] : NULL;
  to->block = node_int(n, "block_size", 0);
  to->axis = node_int(n, "axis", 1);
  if (to->axis < 0) to->axis += 2;
  if (turned) to->axis = !to->axis;
  return !(turned && to->block) && (!to->point || is_fixed(to->point));
}

/* A row, or a whole matrix. */
static Value *bias_of(const Product *p, const Shape *y) {
  if (!p->c) return EMIT_ABSENT;
  bool row = p->c->shape.rank == 1 && p->c->shape.dim[0] == y->dim[y->rank - 1];
  return p->beta == 1 && (row || shape_equal(&p->c->shape, y)) ? p->c : NULL;
}

static Value *or_absent(Value *v) { return v ? v : EMIT_ABSENT; }

static bool rewrite(Graph *g, Node *n) {
  Product p;
  WeightOnlyInputs in;
  if (!product_of(n, &p) || p.alpha != 1 || p.trans_a || p.b->shape.rank != 2) return false;
  Value *bias = bias_of(&p, &n->out[0]->shape);
  if (!bias || shape_elements(&p.a->shape) == 0 || !widened(&p, &in) || !weight_only_is_right(&in)) return false;
  Attr attrs[] = {attr_of_int("transB", in.trans_b), attr_of_int("axis", in.axis), attr_of_int("block_size", in.block)};
  Value *inputs[] = {p.a, in.w, or_absent(in.scale), or_absent(in.point), bias};
  return rewrite_as(n, emit_first(g, "WeightOnlyMatMul", (AttrList){attrs, 3}, inputs, 5));
}

Status pass_weight_only(Graph *g) { return rewrite_each(g, rewrite); }
