/* Attention: softmax(scale · Q Kᵀ + mask) · V in pieces becomes Attention, and its gradient in pieces AttentionGrad, so
 * that the matrix of all scores is never kept. Transposes of heads and tokens around them become part of the layout.
 *
 *   Q ─▶ product ─▶ Mul ─▶ Where or Add ─▶ Softmax ─▶ product ─▶ Y
 *   K ──▶                                             ▲
 *                                                     V
 *
 *   dQ ◀─ product ◀─ Mul ◀─ Where ◀─ SoftmaxGrad ◀─ product ◀─ dY
 *   dK ◀─ product ◀─┘                  │             ▲
 *   dV ◀─ product ◀────────────────────┴── Softmax   V
 */
#include <math.h>

#include "passes/product.h"
#include "ops/ops.h"

enum { HEADS, TOKENS, TURNED }; /* Attention's layouts: (N, H, T, D), (N, T, H, D), (N, H, D, T) */

typedef struct Match {
  Value *q, *k, *v, *y;      /* operands and result of the products */
  bool turned;               /* K is (N, H, D, T) */
  Value *condition, *hidden; /* Where: the score is `hidden` where the condition is `hides` */
  bool hides;
  Value *mask;            /* Add */
  Value *scores, *shares; /* into and out of Softmax */
  bool causal;
  Value *factor; /* operand of Mul, or of Div if `divides`; NULL: none */
  bool divides;
  float alpha; /* factor of the product Q Kᵀ */
  bool trains;
  Node *last, *first_back,
      *products[4]; /* the product with V; the first of the gradient's, which are those of dS, dV, dQ and dK */
  Value *dy;
} Match;

/* The nodes that read v, up to `most`; how many there are. */
static int readers_of(const Graph *g, const Value *v, Node **readers, int most) {
  int count = 0;
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++)
      if (g->nodes[i]->in[k] == v && count++ < most) readers[count - 1] = g->nodes[i];
  return count;
}

static Node *only_reader(const Graph *g, const Value *v) {
  Node *reader = NULL;
  return v->readers == 1 && readers_of(g, v, &reader, 1) == 1 ? reader : NULL;
}

static bool is_plain_product(const Node *n, Product *p, bool trans_a, bool trans_b) {
  return n && product_of(n, p) && !p->c && p->trans_a == trans_a && p->trans_b == trans_b && p->a->shape.rank == 4 &&
         p->b->shape.rank == 4;
}

/* Softmax and its gradient over the last dim. */
static bool is_over_last(const Node *n) {
  int64_t axis = node_int(n, "axis", -1);
  return axis == -1 || axis == n->in[0]->shape.rank - 1;
}

/* ---- the mask ---- */

/* Greater(one number for each key, one for each query), which is not folded where there are many. */
static const Node *comparison(const Value *v) {
  const Node *n = made_by(v, &op_greater);
  for (int i = 0; n && i < 2; i++)
    if (n->in[i]->kind != VALUE_CONSTANT || n->in[i]->type != DTYPE_INT64) return NULL;
  return n && n->in[0]->shape.rank == 1 && n->in[1]->shape.rank == 2 && n->in[1]->shape.dim[1] == 1 ? n : NULL;
}

/* True if score (i, j), which is element `at`, is hidden by a comparison, a condition or a float that is added. */
static bool hides_at(const Match *m, const Node *greater, Dim i, Dim j, size_t at) {
  if (greater)
    return (((const int64_t *)greater->in[0]->data)[j] > ((const int64_t *)greater->in[1]->data)[i]) == m->hides;
  if (m->condition) return (((const uint8_t *)m->condition->data)[at] != 0) == m->hides;
  return ((const float *)m->mask->data)[at] <= -1e4f;
}

/* True if key j is known to be hidden from query i exactly if j - i > keys - queries, and nothing is added elsewhere.
 */
static bool is_causal(const Match *m) {
  const Value *v = m->condition ? m->condition : m->mask;
  const Node *greater = comparison(v);
  const Shape *s = &v->shape;
  Dim queries = m->scores->shape.dim[2], keys = m->scores->shape.dim[3];
  if ((v->kind != VALUE_CONSTANT && !greater) || s->rank < 2 || s->dim[s->rank - 2] != queries ||
      s->dim[s->rank - 1] != keys || queries > keys)
    return false;
  if (shape_elements(s) != (size_t)(queries * keys)) return false;
  for (Dim i = 0; i < queries; i++)
    for (Dim j = 0; j < keys; j++) {
      size_t at = (size_t)(i * keys + j);
      if (hides_at(m, greater, i, j, at) != (j - i > keys - queries)) return false;
      if (!m->condition && !hides_at(m, greater, i, j, at) && ((const float *)m->mask->data)[at] != 0) return false;
    }
  return true;
}

/* Reads x = Where(condition, hidden, rest), Where(condition, rest, hidden) or rest + mask; returns rest. A hidden score
 * must be so low that adding a score does not change it. */
static Value *take_mask(Match *m, Value *x) {
  const Node *where = made_by(x, &op_where), *add = made_by(x, &op_add);
  float hidden;
  m->scores = x;
  for (int i = 1; where && i < 3; i++) {
    if (!rewrite_number(where->in[i], &hidden) || hidden > -1e4f || !shape_equal(&where->in[3 - i]->shape, &x->shape))
      continue;
    m->condition = where->in[0], m->hidden = where->in[i], m->hides = i == 1;
    m->causal = is_causal(m);
    return m->causal || hidden <= -1e30f ? where->in[3 - i] : NULL;
  }
  for (int i = 0; add && i < 2; i++) {
    const Value *rest = add->in[i];
    if (!shape_equal(&rest->shape, &x->shape) || !(made_by(rest, &op_mul) || made_by(rest, &op_div) ||
                                                   made_by(rest, &op_mat_mul) || made_by(rest, &op_fused_mat_mul)))
      continue;
    m->mask = add->in[1 - i];
    m->causal = is_causal(m);
    return m->mask->type == DTYPE_FLOAT32 && m->mask->shape.rank <= 4 ? add->in[i] : NULL;
  }
  return where || add ? NULL : x;
}

/* Reads x = rest · factor or rest / factor; returns rest. */
static Value *take_scale(Match *m, Value *x) {
  const Node *mul = made_by(x, &op_mul), *div = made_by(x, &op_div);
  float number;
  for (int i = 0; mul && i < 2; i++)
    if (rewrite_number(mul->in[i], &number)) return m->factor = mul->in[i], mul->in[1 - i];
  if (div && rewrite_number(div->in[1], &number)) return m->factor = div->in[1], m->divides = true, div->in[0];
  return x;
}

/* ---- forward ---- */

static bool same_batch(const Value *a, const Value *b) {
  return a->shape.dim[0] == b->shape.dim[0] && a->shape.dim[1] == b->shape.dim[1];
}

static bool match_forward(Match *m, Node *n) {
  Product p;
  if (!is_plain_product(n, &p, false, false) || p.alpha != 1) return false;
  *m = (Match){.last = n, .shares = p.a, .v = p.b, .y = n->out[0]};
  const Node *softmax = made_by(m->shares, &op_softmax);
  if (!softmax || !is_over_last(softmax)) return false;
  Value *masked = softmax->in[0], *scaled = take_mask(m, masked), *scores = scaled ? take_scale(m, scaled) : NULL;
  if (!scores || masked->readers != 1 || scaled->readers != 1 || scores->readers != 1 || scores->kind != VALUE_NODE)
    return false;
  m->turned = scores->producer && is_plain_product(scores->producer, &p, false, false);
  if (!scores->producer || (!m->turned && !is_plain_product(scores->producer, &p, false, true))) return false;
  m->q = p.a, m->k = p.b, m->alpha = p.alpha;
  return same_batch(m->q, m->k) && same_batch(m->q, m->v);
}

/* ---- backward ---- */

/* Follows the gradient back through the node of the mask or the scale: x is the gradient that arrives, NULL when that
 * node is not there. */
static Value *back_through_where(const Graph *g, const Match *m, Value *x) {
  if (!m->condition) return x;
  const Node *where = only_reader(g, x);
  float zero;
  int from = m->hides ? 2 : 1;
  if (!where || where->op != &op_where || where->in[0] != m->condition || where->in[from] != x) return NULL;
  return rewrite_number(where->in[3 - from], &zero) && zero == 0 ? where->out[0] : NULL;
}

static Value *back_through_scale(const Graph *g, const Match *m, Value *x) {
  if (!m->factor) return x;
  const Node *n = x ? only_reader(g, x) : NULL;
  float number, wanted;
  if (!n || n->op != (m->divides ? &op_div : &op_mul)) return NULL;
  const Value *factor = n->in[0] == x ? n->in[1] : m->divides ? NULL : n->in[0];
  return factor && rewrite_number(factor, &number) && rewrite_number(m->factor, &wanted) && number == wanted ? n->out[0]
                                                                                                             : NULL;
}

/* dS = dY · Vᵀ, and dV = Sᵀ · dY, of the two other readers of S. */
static Node *match_shares(const Graph *g, Match *m) {
  Node *readers[3], *softmax_grad = NULL;
  Product p;
  if (m->shares->readers != 3 || readers_of(g, m->shares, readers, 3) != 3) return NULL;
  for (int i = 0; i < 3; i++) {
    if (readers[i]->op == &op_softmax_grad_13 && readers[i]->in[1] == m->shares && is_over_last(readers[i]))
      softmax_grad = readers[i];
    if (is_plain_product(readers[i], &p, true, false) && p.a == m->shares && p.alpha == 1)
      m->products[1] = readers[i], m->dy = p.b;
  }
  if (!softmax_grad || !m->dy || softmax_grad->in[0]->readers != 1 || softmax_grad->in[0]->kind != VALUE_NODE)
    return NULL;
  m->products[0] = softmax_grad->in[0]->producer;
  bool fits = is_plain_product(m->products[0], &p, false, true) && p.a == m->dy && p.b == m->v && p.alpha == 1;
  return fits ? softmax_grad : NULL;
}

/* dQ = dscores · K, dK = dscoresᵀ · Q, or (Qᵀ · dscores) where K is turned. */
static bool match_backward(const Graph *g, Match *m) {
  Node *softmax_grad = match_shares(g, m), *readers[2];
  Value *d = softmax_grad ? back_through_where(g, m, softmax_grad->out[0]) : NULL;
  Product p;
  if (!d || !(d = back_through_scale(g, m, d)) || d->readers != 2 || readers_of(g, d, readers, 2) != 2) return false;
  for (int i = 0; i < 2; i++) {
    bool is_q = is_plain_product(readers[i], &p, false, m->turned) && p.a == d && p.b == m->k;
    if (is_q && p.alpha == m->alpha) m->products[2] = readers[i];
    bool is_k = is_plain_product(readers[i], &p, true, false) &&
                (m->turned ? p.a == m->q && p.b == d : p.a == d && p.b == m->q);
    if (is_k && p.alpha == m->alpha) m->products[3] = readers[i];
  }
  return m->products[2] && m->products[3];
}

/* ---- what takes its place ---- */

static bool has_perm(const Node *n, int a, int b, int c, int d) {
  const int *perm = n && n->op == &op_transpose ? n->params : NULL;
  return perm && n->in[0]->shape.rank == 4 && perm[0] == a && perm[1] == b && perm[2] == c && perm[3] == d;
}

/* Operand `v` without the Transpose that put its heads before its tokens, provided that its gradient `*dv` (or NULL)
 * goes back through one, too. */
static Value *absorb(const Graph *g, Value *v, bool turned, Value **dv, int64_t *layout) {
  *layout = turned ? TURNED : HEADS;
  const Node *before = made_by(v, &op_transpose), *after = *dv ? only_reader(g, *dv) : NULL;
  if (turned ? !has_perm(before, 0, 2, 3, 1) : !has_perm(before, 0, 2, 1, 3)) return v;
  if (*dv && (turned ? !has_perm(after, 0, 3, 1, 2) : !has_perm(after, 0, 2, 1, 3))) return v;
  *layout = TOKENS;
  if (*dv) *dv = after->out[0];
  return before->in[0];
}

/* Absorbs the Transpose of Y if nothing else reads Y and dY comes through a Transpose, too. */
static void absorb_output(const Graph *g, Match *m, int64_t *layout) {
  const Node *after = only_reader(g, m->y), *before = m->trains ? made_by(m->dy, &op_transpose) : NULL;
  *layout = HEADS;
  if (!has_perm(after, 0, 2, 1, 3) || (m->trains && !has_perm(before, 0, 2, 1, 3))) return;
  *layout = TOKENS;
  m->y = after->out[0];
  if (m->trains) m->dy = before->in[0];
}

static Value *mask_of(Graph *g, const Match *m) {
  if (m->causal || (!m->condition && !m->mask)) return EMIT_ABSENT;
  if (m->mask) return m->mask;
  Value *none = emit_float(g, 0);
  return m->hides ? emit(g, "Where", m->condition, m->hidden, none) : emit(g, "Where", m->condition, none, m->hidden);
}

static void take(Node *n, int i, Value *v) {
  n->out[i] = v;
  v->producer = n;
}

static float scale_of(const Match *m) {
  float factor = 1;
  if (m->factor) rewrite_number(m->factor, &factor);
  return m->divides ? m->alpha / factor : m->alpha * factor;
}

static void emit_attention(Graph *g, Match *m, Node **forward, Node **backward) {
  Value *d[3] = {NULL};
  int64_t layout[4];
  for (int i = 0; m->trains && i < 3; i++) d[i] = m->products[i == 2 ? 1 : 2 + i]->out[0];
  Value *q = absorb(g, m->q, false, &d[0], &layout[0]), *k = absorb(g, m->k, m->turned, &d[1], &layout[1]),
        *v = absorb(g, m->v, false, &d[2], &layout[2]);
  absorb_output(g, m, &layout[3]);
  AttrList attrs = ATTRS(attr_of_float("scale", scale_of(m)), attr_of_int("causal", m->causal),
                         attr_of_ints("layout", layout, 4));
  Value *mask = mask_of(g, m);
  *forward = emit_node(g, "com.trainlet.Attention", attrs, (Value *[]){q, k, v, mask}, 4, m->trains ? 2 : 1, NULL);
  if (!*forward) return;
  take(*forward, 0, m->y);
  if (!m->trains) return;
  *backward = emit_node(g, "AttentionGrad", attrs, (Value *[]){m->dy, q, k, v, m->y, (*forward)->out[1], mask}, 7, 3,
                        NULL);
  for (int i = 0; *backward && i < 3; i++) take(*backward, i, d[i]);
}

/* ---- the pass ---- */

static int index_of(const Graph *g, const Node *n) {
  int i = 0;
  while (g->nodes[i] != n) i++;
  return i;
}

/* A list of nodes beside the graph's own, to be exchanged with it. */
typedef struct Spare {
  Node **nodes;
  int capacity;
} Spare;

static Node **room_for(Graph *g, Spare *s, int count) {
  if (s->capacity >= count) return s->nodes;
  s->capacity = 2 * count;
  return s->nodes = ARENA_ARRAY(g->arena, Node *, s->capacity);
}

/* Moves the nodes emitted for the match (mask, Attention, AttentionGrad) from the end to node `at`. Nothing reads the
 * nodes that they replace any more, so those are dead. */
static bool replace(Graph *g, Match *m, int at, Spare *spare) {
  Node *forward = NULL, *backward = NULL;
  int count = g->node_count, first = count;
  if (m->trains) {
    int shares = index_of(g, m->products[0]), v = index_of(g, m->products[1]);
    first = shares < v ? shares : v;
  }
  emit_attention(g, m, &forward, &backward);
  int made = g->node_count - count;
  Node **nodes = room_for(g, spare, g->node_count);
  if (!forward || (m->trains && !backward) || !nodes) return false;
  int to = 0;
  for (int i = 0; i < count; i++) {
    for (int k = count; i == at && k < count + made - m->trains; k++) nodes[to++] = g->nodes[k];
    if (i == first) nodes[to++] = backward;
    Node *n = g->nodes[i];
    bool replaced = n == m->last;
    for (int k = 0; m->trains && k < 4; k++) replaced |= n == m->products[k];
    for (int k = 0; k < n->out_count; k++) replaced |= n->out[k] && n->out[k]->producer != n;
    if (!replaced) nodes[to++] = n;
  }
  Spare before = {g->nodes, g->node_capacity};
  g->nodes = nodes;
  g->node_count = to;
  g->node_capacity = spare->capacity;
  *spare = before;
  return true;
}

/* Each match walks the graph several times: once this many nodes have been walked, whatever is left stays in pieces. */
enum { WALK_MAX = 1 << 25 };

Status pass_attention(Graph *g) {
  Spare spare = {0};
  for (int i = 0, walked = 0; i < g->node_count && walked < WALK_MAX; i++) {
    Match m;
    if (i == 0) rewrite_drop_dead(g);
    if (i >= g->node_count || !match_forward(&m, g->nodes[i])) continue;
    m.trains = m.shares->readers > 1;
    if (m.trains && !match_backward(g, &m)) continue;
    if (!replace(g, &m, i, &spare)) return g->error->status;
    rewrite_drop_dead(g);
    walked += g->node_count;
    i = -1; /* start again: nodes before it may be gone */
  }
  return STATUS_OK;
}
