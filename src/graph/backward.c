/* Backward: walks the nodes in reverse, asks each op for its gradient and adds up the gradients that meet at a
 * value. */
#include "graph/backward.h"

#include "kernels/number.h"
#include "graph/notes.h"
#include "graph/op.h"

typedef struct Contribution {
  Value *grad;
  struct Contribution *next;
} Contribution;

static bool is_detached(const Graph *g, const Node *n) {
  return n->out_count && n->out[0] && notes_find(g, DETACHED_KEY, n->out[0]->name);
}

/* A value depends if it has a float type and is computed from a value whose gradient is wanted: no gradient flows
 * through integers, except those that QuantizeLinear makes, nor through what is detached. */
static void mark_dependent(Graph *g, Value *const *wrt, int count) {
  for (int i = 0; i < g->value_count; i++) g->values[i]->depends = false, g->values[i]->contributions = NULL;
  for (int i = 0; i < count; i++) wrt[i]->depends = true;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    bool depends = false, stretched = n->stretches;
    for (int k = 0; k < n->in_count; k++)
      if (n->in[k]) depends |= n->in[k]->depends, stretched |= n->in[k]->stretched;
    depends = depends && !is_detached(g, n);
    for (int k = 0; k < n->out_count; k++)
      if (n->out[k]) {
        n->out[k]->depends |= depends && (dtype_is_float(n->out[k]->type) || n->op->flags & OP_STRAIGHT_THROUGH);
        n->out[k]->stretched = stretched;
      }
  }
}

static bool add_contribution(Graph *g, Value *v, Value *grad) {
  Contribution *c = ARENA_NEW(g->arena, Contribution);
  if (!c) return false;
  *c = (Contribution){grad, v->contributions};
  v->contributions = c;
  return true;
}

/* The sum of what arrived at v; NULL when nothing did. */
static Value *total_gradient(Graph *g, Value *v) {
  int count = 0;
  for (Contribution *c = v->contributions; c; c = c->next) count++;
  if (count == 0) return NULL;
  if (count == 1) return v->contributions->grad;
  Value **all = ARENA_ARRAY(g->arena, Value *, count);
  if (!all) return NULL;
  int at = count; /* the list has the newest first: sum in the order of arrival */
  for (Contribution *c = v->contributions; c; c = c->next) all[--at] = c->grad;
  Value *sum = emit_first(g, "Sum", NO_ATTRS, all, count);
  v->contributions->grad = sum;
  v->contributions->next = NULL;
  return sum;
}

/* Sums `grad` down to the shape of `x`, whose dims may have been stretched by a broadcast. Where symbols differ, in the
 * two or (`stretches`) among the node's inputs, this is left to the run: BroadcastGradientArgs then finds the axes. */
static Value *unbroadcast(Graph *g, Value *grad, Value *x, bool stretches) {
  stretches &= !shape_is_concrete(&x->shape);
  if (!grad || (shape_equal(&grad->shape, &x->shape) && !stretches)) return grad;
  int64_t axes[RANK_MAX];
  int count = 0, extra = grad->shape.rank - x->shape.rank;
  bool inner = false, unsure = stretches;
  for (int i = 0; i < grad->shape.rank; i++) {
    Dim from = grad->shape.dim[i], to = i < extra ? 1 : x->shape.dim[i - extra];
    if (i < extra || (to == 1 && from != 1)) axes[count++] = i, inner |= i >= extra;
    else if (from != to && !dim_is_number(to)) unsure = true;
  }
  if (unsure) {
    Node *args = emit_node(g, "BroadcastGradientArgs", NO_ATTRS, (Value *[]){emit_shape(g, x), emit_shape(g, grad)}, 2,
                           2, (bool[]){true, false});
    Value *sum = emit_with(g, "ReduceSumTraining",
                           ATTRS(attr_of_int("keepdims", 1), attr_of_int("noop_with_empty_axes", 1)), grad,
                           args ? args->out[0] : NULL);
    return emit(g, "Reshape", sum, emit_shape(g, x));
  }
  if (!count) return grad; /* the same dims under other names */
  Value *sum = emit_with(g, "ReduceSumTraining", ATTRS(attr_of_int("keepdims", inner)), grad,
                         emit_ints(g, axes, count));
  return inner && extra ? emit(g, "Reshape", sum, emit_shape(g, x)) : sum;
}

/* The dims of another input may turn out to be larger than those of x, though the symbols are the same. */
static bool meets_stretched(const Node *n, const Value *x) {
  bool meets = n->stretches;
  for (int k = 0; k < n->in_count && !x->stretched; k++) meets |= n->in[k] && n->in[k]->stretched;
  return meets;
}

static Status check_emitted(const Graph *g, const Node *n) {
  if (g->error->status != STATUS_OK) return g->error->status;
  return g->arena->failed ? node_fail(n, STATUS_OUT_OF_MEMORY, "out of memory for its gradient") : STATUS_OK;
}

static Status node_backward(Graph *g, Node *n) {
  bool arrives = false, wanted = false;
  Value **dy = ARENA_ARRAY(g->arena, Value *, n->out_count + 1); /* + 1: a grad may add an output */
  Value **dx = ARENA_ARRAY(g->arena, Value *, n->in_count);
  bool *want = ARENA_ARRAY(g->arena, bool, n->in_count);
  if (!dy || !dx || !want) return check_emitted(g, n);
  for (int i = 0; i < n->in_count; i++) wanted |= want[i] = n->in[i] && n->in[i]->depends;
  if (!wanted) return STATUS_OK;
  for (int i = 0; i < n->out_count; i++) arrives |= n->out[i] && (dy[i] = total_gradient(g, n->out[i])) != NULL;
  TRY(check_emitted(g, n));
  if (!arrives) return STATUS_OK;
  if (!n->op->grad)
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "this operator has no gradient, and a trainable parameter needs one through it");
  Grad grad = {.graph = g, .node = n, .dy = dy, .dx = dx, .want = want};
  TRY(n->op->grad(&grad));
  TRY(check_emitted(g, n));
  for (int i = 0; i < n->in_count; i++) {
    if (!want[i] || !dx[i]) continue;
    Value *reduced = unbroadcast(g, dx[i], n->in[i], meets_stretched(n, n->in[i]));
    TRY(check_emitted(g, n));
    if (!add_contribution(g, n->in[i], reduced)) return check_emitted(g, n);
  }
  return STATUS_OK;
}

Status backward(Graph *g, Value *y, Value *dy, Value *const *wrt, int count, Value **grads) {
  return backward_from(g, &y, &dy, 1, wrt, count, grads);
}

Status backward_from(Graph *g, Value *const *ys, Value *const *dys, int y_count, Value *const *wrt, int count,
                     Value **grads) {
  mark_dependent(g, wrt, count);
  for (int i = 0; i < y_count; i++)
    if (!dys[i] || !add_contribution(g, ys[i], dys[i])) return error_memory(g->error, "for the gradient");
  for (int i = g->node_count - 1; i >= 0; i--) TRY(node_backward(g, g->nodes[i]));
  for (int i = 0; i < count; i++) grads[i] = total_gradient(g, wrt[i]);
  return g->error->status;
}
