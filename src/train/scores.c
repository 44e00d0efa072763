/* Scores: what a model's probabilities were before their last activation, for the losses that apply one themselves.
 *
 *   x ─▶ Softmax ─▶ Reshape, Transpose … ─▶ v     cross-entropy of v is that of the scores x, in the shape of v
 *   x ─▶ Sigmoid ─▶ Clip(low, high) ─▶ v          bce of v is that of Clip(x, logit low, logit high)
 *
 * The nodes are those of the model; what is emitted goes into its copy, which Value.copy of each value points to. */
#include "train/scores.h"

#include <float.h>
#include <math.h>

#include "ops/ops.h"
#include "ops/reduce/reduce.h"
#include "passes/rewrite.h"
#include "graph/views.h"

enum { FAR = 64, INPUTS_MAX = 16 }; /* nodes that are looked at, however many there are; inputs of one */

typedef struct Search {
  Graph *graph; /* NULL: only to see whether there are scores; values of the model stand for them */
  int left;
  bool clips;             /* the probabilities need not add up to 1 */
  const Node *activation; /* that was found, whether or not scores are made of it */
} Search;

static Node *maker(Search *s, const Value *v) {
  return v && s->left-- > 0 && dtype_is_float(v->type) ? v->producer : NULL;
}

static Value *in_copy(const Search *s, Value *v) { return s->graph ? v->copy : v; }

static Value *apply(const Search *s, const char *op, Value *x) { return s->graph ? emit(s->graph, op, x) : x; }

/* n once more, of other first inputs. */
static Value *again(const Search *s, const Node *n, Value *const *first, int count) {
  Value *in[INPUTS_MAX];
  if (!s->graph) return first[0];
  for (int i = 0; i < n->in_count; i++) in[i] = i < count ? first[i] : n->in[i] ? n->in[i]->copy : EMIT_ABSENT;
  return emit_first(s->graph, n->op->name, (AttrList){n->attrs, n->attr_count}, in, n->in_count);
}

static bool moves_elements(const Node *n) {
  return n->op->flags & OP_VIEW || n->op == &op_transpose || n->op == &op_slice || n->op == &op_cast ||
         n->op == &op_gather;
}

/* logit p = log p / (1 - p) of a Clip's bound; bounds that no probability passes are infinite. */
static Value *bound(const Search *s, const Node *n, int i, float p) {
  if (has_in(n, i)) rewrite_number(n->in[i], &p);
  float odds = p <= 0 ? 0 : p < 1 ? p / (1 - p) : INFINITY;
  return emit(s->graph, "Log", emit_float(s->graph, odds));
}

/* True if n is a Clip whose bounds are known. */
static bool is_clip(const Node *n) {
  float number;
  for (int i = 1; i < n->in_count; i++)
    if (has_in(n, i) && !rewrite_number(n->in[i], &number)) return false;
  return n->op == &op_clip;
}

static bool is_one(const Value *v) {
  float number;
  return rewrite_number(v, &number) && number == 1;
}

static bool is_complement(const Node *n) { return n && n->op == &op_sub && is_one(n->in[0]); }

/* -x of n = 1 / (1 + e^-x); NULL: it is none. */
static Value *negated_score(const Node *n) {
  const Node *add = n->op == &op_reciprocal              ? made_by(n->in[0], &op_add)
                  : n->op == &op_div && is_one(n->in[0]) ? made_by(n->in[1], &op_add)
                                                         : NULL;
  for (int i = 0; add && i < 2; i++) {
    const Node *e = made_by(add->in[i], &op_exp);
    if (e && is_one(add->in[1 - i])) return e->in[0];
  }
  return NULL;
}

/* ---- axes ---- */

enum { UNKNOWN = RANK_MAX };

static int axis_of(const Node *n) {
  int64_t axis = node_int(n, "axis", -1);
  return (int)(axis < 0 ? axis + n->in[0]->shape.rank : axis);
}

/* Along which axis n's input has what its output has along `axis`: the dims up to it, or those from it on, are the
 * same. */
static int axis_before(const Node *n, int axis) {
  const Shape *in = &n->in[0]->shape, *out = &n->out[0]->shape;
  int count, front = 0, back = 0;
  if (axis < 0 || axis == UNKNOWN) return axis;
  if (n->op == &op_gather) return UNKNOWN;
  if (n->op == &op_transpose) {
    const int64_t *perm = node_ints(n, "perm", &count);
    return perm ? (int)perm[axis] : UNKNOWN;
  }
  while (front <= axis && front < in->rank && in->dim[front] == out->dim[front]) front++;
  while (back < out->rank && back < in->rank && in->dim[in->rank - 1 - back] == out->dim[out->rank - 1 - back]) back++;
  return front > axis ? axis : back >= out->rank - axis ? axis + in->rank - out->rank : UNKNOWN;
}

/* ---- a whole made of parts ---- */

/* The sum along the axis of a value of that shape, in what divides it: Normalizer and others take care of a sum of 0.
 */
static const Node *sum_in(const Value *by, const Shape *shape, int axis) {
  const Node *n = behind_views(by)->producer, *found = NULL;
  if (!n) return NULL;
  const Reduce *p = n->params;
  if (n->op == &op_reduce_sum)
    return p->known && p->axes == 1u << axis && shape_equal(&n->in[0]->shape, shape) ? n : NULL;
  if (n->op != &op_where && n->op != &op_add) return NULL;
  for (int i = n->op == &op_where; i < n->in_count && !found; i++) found = sum_in(n->in[i], shape, axis);
  return found;
}

/* True if n divides by a sum along the axis. Stores in `parts` the numbers that are summed, if they are the dividend,
 * perhaps after an Add: SGDClassifier's exporter adds something if all of them are 0. */
static bool is_share(const Node *n, int axis, const Value **parts) {
  const Node *sum = n->op == &op_div ? sum_in(n->in[1], &n->out[0]->shape, axis) : NULL;
  if (!sum) return false;
  const Node *size = made_by(sum->in[0], &op_abs), *add = made_by(n->in[0], &op_add);
  const Value *summed = (size ? size : sum)->in[0];
  *parts = n->in[0] == summed || (add && add->in[0] == summed) ? summed : NULL;
  return true;
}

/* (1 - p, p) or (p, 1 - p) */
static bool is_pair(const Node *n, int axis) {
  if (n->op != &op_concat || n->in_count != 2 || axis_of(n) != axis) return false;
  for (int i = 0; i < 2; i++) {
    const Node *other = behind_views(n->in[i])->producer;
    if (is_complement(other) && behind_views(other->in[1]) == behind_views(n->in[1 - i])) return true;
  }
  return false;
}

static Value *walk(Search *s, const Value *v, int axis);

/* log v, where v is a sigmoid: -softplus(-x) */
static Value *log_sigmoid(Search *s, const Value *v) {
  return apply(s, "Neg", apply(s, "Softplus", apply(s, "Neg", walk(s, v, -1))));
}

/* The logarithms of numbers that are divided by their sum. */
static Value *logs_of_parts(Search *s, const Value *v, int axis) {
  Value *x = log_sigmoid(s, v);
  return x ? x : walk(s, v, axis);
}

/* ---- from the loss back to the activation ---- */

/* logit v where axis is -1; else log v, plus the same number for all classes along the axis. */
static Value *walk(Search *s, const Value *v, int axis) {
  const Node *n = maker(s, v);
  if (!n) return NULL;
  bool of_classes = axis >= 0;
  const Value *parts;
  if (n->op == &op_sigmoid || n->op == &op_softmax) {
    bool fits = of_classes ? n->op == &op_softmax && axis_of(n) == axis : n->op == &op_sigmoid;
    if (fits || n->op == &op_sigmoid || !of_classes || axis == UNKNOWN) s->activation = n;
    return fits ? in_copy(s, n->in[0]) : NULL;
  }
  Value *negated = of_classes ? NULL : negated_score(n);
  if (negated) return apply(s, "Neg", in_copy(s, negated));
  if (of_classes && is_share(n, axis, &parts)) return parts ? logs_of_parts(s, parts, axis) : NULL;
  if (of_classes && is_pair(n, axis)) return log_sigmoid(s, v);
  if (of_classes && n->op == &op_exp) return in_copy(s, n->in[0]);
  if (!of_classes && is_clip(n)) {
    Value *x = walk(s, n->in[0], axis);
    return x && s->graph ? emit(s->graph, "Clip", x, bound(s, n, 1, 0), bound(s, n, 2, 1)) : x;
  }
  if (is_complement(n)) return apply(s, "Neg", walk(s, n->in[1], of_classes ? UNKNOWN : axis));
  bool joins = n->op == &op_concat;
  if ((!joins && !moves_elements(n)) || n->in_count > INPUTS_MAX) return NULL;
  Value *first[INPUTS_MAX];
  int count = joins ? n->in_count : 1;
  for (int i = 0; i < count; i++)
    if (!(first[i] = walk(s, n->in[i], joins && of_classes ? UNKNOWN : axis_before(n, axis)))) return NULL;
  return again(s, n, first, count);
}

/* ---- probabilities of which no scores are known ---- */

/* True if v is shares of a whole along the axis, or a mean of such. */
static bool are_shares(Search *s, const Value *v, int axis) {
  const Node *n = maker(s, v);
  const Value *parts;
  float number;
  if (!n || axis < 0 || axis == UNKNOWN) return false;
  if (n->op == &op_softmax) return axis_of(n) == axis;
  if (n->op == &op_tree_ensemble_classifier || is_share(n, axis, &parts) || is_pair(n, axis)) return true;
  bool all = n->op == &op_add || n->op == &op_sum || n->op == &op_mul || n->op == &op_div ||
             (n->op == &op_concat && axis_of(n) != axis);
  s->clips |= n->op == &op_clip;
  if (!all && n->op != &op_clip && !moves_elements(n) && n->op != &op_reduce_mean) return false;
  for (int i = 0; i < (all ? n->in_count : 1); i++)
    if (!rewrite_number(n->in[i], &number) && !are_shares(s, n->in[i], all ? axis : axis_before(n, axis))) return false;
  return true;
}

Value *scores_before(Graph *g, const Value *v, int axis, bool *logs) {
  Search look = {.left = FAR}, find = {.graph = g, .left = FAR}, shares = {.left = FAR};
  *logs = false;
  if (walk(&look, v, axis)) return walk(&find, v, axis);
  if (!are_shares(&shares, v, axis)) return NULL;
  *logs = shares.clips;
  return emit(g, "Log", emit(g, "Max", v->copy, emit_float(g, FLT_MIN)));
}

const Node *scores_activation(const Value *v, int axis, bool *known) {
  Search look = {.left = FAR}, shares = {.left = FAR};
  *known = walk(&look, v, axis) || are_shares(&shares, v, axis);
  return look.activation;
}
