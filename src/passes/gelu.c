/* Gelu: the pieces that exporters write for it become com.microsoft's Gelu (erf) or FastGelu (tanh):
 *   0.5 · x · (1 + erf(x / √2)),   0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))   with the products in any order
 */
#include <math.h>

#include "passes/rewrite.h"
#include "ops/ops.h"

static bool is_number(const Value *v, double wanted) {
  float number;
  return rewrite_number(v, &number) && fabs((double)number - wanted) <= 1e-6 * fabs(wanted);
}

/* The other operand, if one of the two of a commutative node is the number; NULL if none is. */
static Value *beside_number(const Node *n, double number) {
  return !n ? NULL : is_number(n->in[0], number) ? n->in[1] : is_number(n->in[1], number) ? n->in[0] : NULL;
}

/* v = x / √2 */
static bool is_scaled(const Value *v, const Value *x) {
  const Node *div = made_by(v, &op_div);
  if (div) return div->in[0] == x && is_number(div->in[1], sqrt(2));
  return beside_number(made_by(v, &op_mul), sqrt(0.5)) == x;
}

/* v = x³ */
static bool is_cube(const Value *v, const Value *x) {
  const Node *pow = made_by(v, &op_pow), *mul = made_by(v, &op_mul);
  if (pow) return pow->in[0] == x && is_number(pow->in[1], 3);
  for (int i = 0; mul && i < 2; i++) {
    const Node *square = made_by(mul->in[1 - i], &op_mul);
    const Node *power = made_by(mul->in[1 - i], &op_pow);
    if (mul->in[i] != x) continue;
    if ((square && square->in[0] == x && square->in[1] == x) ||
        (power && power->in[0] == x && is_number(power->in[1], 2)))
      return true;
  }
  return false;
}

/* v = √(2/π) · (x + 0.044715 · x³) */
static bool is_bent(const Value *v, const Value *x) {
  const Value *sum = beside_number(made_by(v, &op_mul), sqrt(2 / M_PI));
  const Node *add = sum ? made_by(sum, &op_add) : NULL;
  for (int i = 0; add && i < 2; i++) {
    const Value *cube = add->in[i] == x ? beside_number(made_by(add->in[1 - i], &op_mul), 0.044715) : NULL;
    if (cube && is_cube(cube, x)) return true;
  }
  return false;
}

/* The operator that v = 1 + erf(…) or 1 + tanh(…) makes of x, or NULL. */
static const Op *gate_of(const Value *v, const Value *x) {
  const Value *inner = beside_number(made_by(v, &op_add), 1);
  const Node *erf = inner ? made_by(inner, &op_erf) : NULL, *tanh = inner ? made_by(inner, &op_tanh) : NULL;
  if (erf && is_scaled(erf->in[0], x)) return &op_gelu_contrib;
  return tanh && is_bent(tanh->in[0], x) ? &op_fast_gelu : NULL;
}

/* The three factors of n = (a · b) · c; false unless there are exactly three. */
static bool factors_of(const Node *n, Value *factors[3]) {
  for (int i = 0; i < 2; i++) {
    const Node *inner = made_by(n->in[i], &op_mul);
    if (!inner) continue;
    factors[0] = inner->in[0], factors[1] = inner->in[1], factors[2] = n->in[1 - i];
    return true;
  }
  return false;
}

static bool rewrite(Graph *g, Node *n) {
  Value *f[3];
  if (n->op != &op_mul || !factors_of(n, f)) return false;
  for (int half = 0; half < 3; half++) {
    if (!is_number(f[half], 0.5)) continue;
    for (int i = 1; i < 3; i++) { /* the other two, either way round */
      Value *x = f[(half + i) % 3];
      const Op *op = gate_of(f[(half + 3 - i) % 3], x);
      if (!op || !shape_equal(&x->shape, &n->out[0]->shape)) continue;
      Node *gelu = graph_node(g, op, NULL, &x, 1, NULL, 1, NULL, 0);
      return rewrite_as(n, gelu ? gelu->out[0] : NULL);
    }
  }
  return false;
}

Status pass_gelu(Graph *g) { return rewrite_each(g, rewrite); }
