/* Training info: initializes, and finds the loss and the parameters of an algorithm. */
#include "training_info/info.h"

#include <string.h>

#include "graph/bad_index.h"
#include "graph/work.h"
#include "training_info/optimizer.h"

typedef struct Reading {
  const OnnxTraining *from;
  TrainingInfo *to;
  Error *error;
  Arena *arena;
} Reading;

/* ---- bindings ---- */

static Status check_bindings(Reading *r, const OnnxBinding *bindings, int count, const Graph *source,
                             const char *what) {
  bool *named = ARENA_ARRAY(r->arena, bool, r->from->graph->value_count); /* indexed by value */
  if (!named) return error_memory(r->error, "for the algorithm");
  for (int i = 0; i < count; i++) {
    const Value *to = graph_find(r->from->graph, bindings[i].to);
    const Value *from = source ? graph_find(source, bindings[i].from) : NULL;
    if (!to || to->kind != VALUE_CONSTANT || !to->initializer)
      return error_set(r->error, STATUS_INVALID_MODEL, NULL,
                       "the training_info's %s names '%.128s', which is no initializer", what, bindings[i].to);
    if (!from)
      return error_set(r->error, STATUS_INVALID_MODEL, NULL,
                       "the training_info's %s gives '%.96s' the value '%.96s', which nothing makes", what,
                       bindings[i].to, bindings[i].from);
    if (from->type != to->type || !shape_equal(&from->shape, &to->shape))
      return error_set(r->error, STATUS_INVALID_MODEL, NULL,
                       "the training_info's %s gives '%.96s' the value '%.96s' of another type or shape", what,
                       bindings[i].to, bindings[i].from);
    if (named[to->index])
      return error_set(r->error, STATUS_INVALID_MODEL, NULL, "the training_info's %s names '%.128s' twice", what,
                       bindings[i].to);
    named[to->index] = true;
  }
  return STATUS_OK;
}

/* ---- initialization ---- */

/* An initialization may take 64 times the bytes that it initializes plus a megabyte: a small file must not be able to
 * ask for all memory. */
static double initialization_limit(const OnnxTraining *t) {
  double bytes = 1 << 20;
  for (int i = 0; i < t->initial_count; i++) {
    const Value *v = graph_find(t->graph, t->initial[i].to);
    bytes += 64.0 * (double)(value_bytes(v));
  }
  return bytes;
}

static Status allocate(Node *n, double *left) {
  Arena *arena = n->graph->arena;
  *left -= (double)n->scratch_bytes;
  for (int i = 0; i < n->out_count; i++) {
    Value *v = n->out[i];
    if (v && !shape_is_concrete(&v->shape))
      return node_fail(n, STATUS_UNSUPPORTED_OP, "its shape is not known while initializing");
    size_t bytes = v ? value_bytes(v) : 0;
    if ((*left -= (double)bytes) < 0)
      return node_fail(n, STATUS_OUT_OF_MEMORY, "the initialization takes far more memory than what it initializes");
    if (v && !(v->data = arena_alloc(arena, bytes)))
      return node_fail(n, STATUS_OUT_OF_MEMORY, "out of memory while initializing");
  }
  uintptr_t scratch = (uintptr_t)arena_alloc(arena, n->scratch_bytes + 63);
  n->scratch = (void *)((scratch + 63) & ~(uintptr_t)63);
  return scratch ? STATUS_OK : node_fail(n, STATUS_OUT_OF_MEMORY, "out of memory while initializing");
}

#define INITIAL_WORK_MAX 1e11

static Status initialize(Reading *r) {
  Graph *g = r->from->initialization;
  static const Rng rng = {0};
  if (!g) return STATUS_OK;
  TRY(check_bindings(r, r->from->initial, r->from->initial_count, g, "initialization_binding"));
  double left = initialization_limit(r->from), work = 0;
  g->rng = &rng;
  g->error = r->error;
  for (int i = 0; i < g->node_count; i++) {
    TRY(allocate(g->nodes[i], &left));
    if ((work += work_of(g->nodes[i])) > INITIAL_WORK_MAX)
      return node_fail(g->nodes[i], STATUS_TOO_MUCH_WORK, "the initialization takes more than %.0e multiply-adds",
                       INITIAL_WORK_MAX);
    g->nodes[i]->op->run(g->nodes[i]);
    if (!bad_index_none()) return node_invalid(g->nodes[i], "an index of the initialization is out of range");
  }
  for (int i = 0; i < r->from->initial_count; i++)
    graph_find(r->from->graph, r->from->initial[i].to)->data = graph_find(g, r->from->initial[i].from)->data;
  return STATUS_OK;
}

/* ---- loss and parameters ---- */

static Status find_loss(Reading *r) {
  const OnnxTraining *t = r->from;
  if (!t->gradient_count)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL,
                     "the training_info's algorithm has no Gradient node, by which we find the loss");
  for (int i = 1; i < t->gradient_count; i++)
    if (t->gradients[i].y != t->gradients[0].y)
      return error_set(
          r->error, STATUS_UNSUPPORTED_OP, t->gradients[i].node,
          "the training_info's Gradient '%.96s' is of '%.64s', Gradient '%.96s' of '%.64s': we train by one loss",
          t->gradients[i].node, t->gradients[i].y->name, t->gradients[0].node, t->gradients[0].y->name);
  return STATUS_OK;
}

/* The model's part of the joined graph and the loss: no gradients, no updates. */
static Status cut_model(Reading *r) {
  Graph *g = r->from->graph;
  Value **wanted = ARENA_ARRAY(r->arena, Value *, g->output_count + 1);
  if (!wanted) return error_memory(r->error, "for the algorithm");
  for (int i = 0; i < g->output_count; i++) wanted[i] = g->outputs[i];
  wanted[g->output_count] = r->from->gradients->y;
  Graph *model = r->to->model = graph_clone(g, r->arena, r->error, NULL, wanted, g->output_count + 1);
  if (!model) return error_memory(r->error, "for the algorithm");
  model->output_count--;
  r->to->loss = r->from->gradients->y->copy;
  for (int i = 0; i < r->from->gradient_count; i++)
    for (int k = 0; k < r->from->gradients[i].count; k++)
      if (r->from->gradients[i].outs[k] && r->from->gradients[i].outs[k]->copy)
        return error_set(r->error, STATUS_UNSUPPORTED_OP, r->from->gradients[i].node,
                         "the model or its loss is computed from what Gradient '%.96s' makes, which we do not train by",
                         r->from->gradients[i].node);
  return STATUS_OK;
}

/* ---- the whole ---- */

/* True if the loss can depend on it, and a step changes it. */
static bool is_trained(const OnnxTraining *t, const Value *x) {
  if (x->kind != VALUE_CONSTANT || !x->initializer || !x->copy) return false;
  for (int i = 0; i < t->update_count; i++)
    if (strcmp(t->updates[i].to, x->name) == 0) return true;
  return false;
}

static Status find_parameters(Reading *r) {
  const OnnxTraining *t = r->from;
  int most = 0;
  for (int i = 0; i < t->gradient_count; i++) most += t->gradients[i].count;
  r->to->parameters = ARENA_ARRAY(r->arena, TrainedParameter, most);
  if (!r->to->parameters) return error_memory(r->error, "for the algorithm");
  for (int i = 0; i < t->gradient_count; i++)
    for (int k = 0; k < t->gradients[i].count; k++) {
      const OnnxGradient *g = &t->gradients[i];
      if (g->outs[k] && is_trained(t, g->xs[k]))
        r->to->parameters[r->to->parameter_count++] = (TrainedParameter){.value = g->xs[k], .gradient = g->outs[k]};
    }
  if (r->to->parameter_count) return STATUS_OK;
  return error_set(r->error, STATUS_UNSUPPORTED_OP, t->gradients->node,
                   "the training_info updates no initializer that Gradient '%.128s' differentiates by",
                   t->gradients->node);
}

Status training_info_read(const OnnxTraining *t, bool initial, bool own_optimizer, Arena *arena, Error *error,
                          TrainingInfo *out) {
  *out = (TrainingInfo){0};
  Reading r = {t, out, error, arena};
  TRY(check_bindings(&r, t->updates, t->update_count, t->graph, "update_binding"));
  if (initial) TRY(initialize(&r));
  TRY(find_loss(&r));
  TRY(cut_model(&r));
  TRY(find_parameters(&r));
  return own_optimizer ? STATUS_OK : training_optimizer_read(t, out, arena, error);
}
