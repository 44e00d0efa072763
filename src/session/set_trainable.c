/* Set trainable: lets another choice of parameters train, without new artifacts.
 *
 *   loaded training model ─ clone: outputs, accumulators of what trains ─▶ without what only the others' gradients need
 *                         └ clone: outputs ─ changes of eval mode ─ backward ─ accumulators
 *
 * The second clone is used if the loaded model has no gradient for a parameter that is to train, or if a
 * BatchNormalization or Dropout enters or leaves eval mode. The choice of the artifacts is the loaded model itself,
 * as it will be when it is loaded again.
 */
#include <string.h>

#include "graph/backward.h"
#include "ops/accumulator.h"
#include "ops/ops.h"
#include "session/external_loss.h"
#include "session/session.h"
#include "train/gradients.h"
#include "train/mode.h"
#include "train/names.h"
#include "train/eval_mode.h"
#include "train/yield.h"

typedef struct Choice {
  TrainletSession *s;
  Arena *arena;             /* holds this call's lists */
  bool *trains;             /* indexed by parameter */
  const NameList *patterns; /* NULL: the checkpoint's choice */
} Choice;

static bool trains(const Choice *c, const Value *v) {
  const Parameter *p = v->kind == VALUE_STATE ? state_find(&c->s->state, v->name) : NULL;
  return p && c->trains[p - c->s->state.parameters];
}

/* ---- which ---- */

static bool read_patterns(NameList *patterns, const char *lines, Arena *arena) {
  char *copy = arena_copy_text(arena, lines);
  for (char *at = copy; at && *at;) {
    char *end = strchr(at, '\n');
    if (end) *end = 0;
    if (!names_add(patterns, at, arena)) return false;
    at = end ? end + 1 : NULL;
  }
  return copy;
}

/* A running statistic is not one, nor is a parameter that the training model does not have. */
static bool may_train(const TrainletSession *s, const Parameter *p) {
  const Value *v = graph_find(s->loaded, p->name);
  return v && !v->statistic && p->type == DTYPE_FLOAT32 && p->bytes > 0;
}

static Status check_pattern(const Choice *c, const char *pattern) {
  const State *t = &c->s->state;
  for (int i = 0; i < t->count; i++)
    if (name_matches(pattern, t->parameters[i].name) && may_train(c->s, &t->parameters[i])) return STATUS_OK;
  return error_set(&c->s->error, STATUS_INVALID_ARGUMENT, NULL,
                   "setTrainable: '%.200s' matches no float32 parameter of the training model", pattern);
}

static Status choose(Choice *c) {
  State *t = &c->s->state;
  mode_mark_statistics(c->s->loaded);
  for (int i = 0; i < c->patterns->count; i++) TRY(check_pattern(c, c->patterns->names[i]));
  for (int i = 0; i < t->count; i++) {
    Parameter *p = &t->parameters[i];
    bool wanted = names_match(c->patterns, p->name) && may_train(c->s, p);
    c->trains[i] = wanted && state_is_finite(p);
    if (wanted && !c->trains[i] && names_have(c->patterns, p->name))
      return error_set(&c->s->error, STATUS_INVALID_ARGUMENT, NULL,
                       "setTrainable: '%.200s' has values that are not finite, it cannot train", p->name);
  }
  return STATUS_OK;
}

/* ---- the graph ---- */

/* Indexed by nodes of g; NULL if memory is out. */
static const bool *find_eval_mode(const Choice *c, Graph *g) {
  bool *trained = ARENA_ARRAY(c->arena, bool, g->value_count), *eval_mode = ARENA_ARRAY(c->arena, bool, g->node_count);
  if (!trained || !eval_mode) return NULL;
  mode_mark_statistics(g);
  for (int i = 0; i < g->value_count; i++) trained[i] = trains(c, g->values[i]);
  return eval_mode_find(g, trained, true, c->arena, eval_mode) == STATUS_OK ? eval_mode : NULL;
}

static bool changes_mode(const Node *n, bool eval_mode) {
  if (n->op == &op_batch_norm_internal) return eval_mode;
  if (n->op == &op_batch_normalization)
    return !eval_mode && n->in[3]->kind == VALUE_STATE && n->in[4]->kind == VALUE_STATE;
  if (n->op != &op_dropout) return false;
  if (!has_in(n, 2)) return !eval_mode;
  return eval_mode && n->in[2]->kind == VALUE_CONSTANT;
}

static bool is_artifacts_choice(const Choice *c) {
  for (int i = 0; i < c->s->state.count; i++)
    if (c->trains[i] != c->s->state.parameters[i].accumulated) return false;
  return true;
}

static Status needs_backward(const Choice *c, bool *needed) {
  const TrainletSession *s = c->s;
  *needed = false;
  if (is_artifacts_choice(c)) return STATUS_OK;
  const bool *eval_mode = find_eval_mode(c, s->loaded);
  if (!eval_mode) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < s->state.count; i++) *needed |= c->trains[i] && !s->state.parameters[i].accumulated;
  for (int i = 0; i < s->loaded->node_count; i++) *needed |= changes_mode(s->loaded->nodes[i], eval_mode[i]);
  return STATUS_OK;
}

/* Not a flag of an accumulator, and no gradient that is made anew. */
static bool is_kept(const Choice *c, const Value *output, bool gradients) {
  if (output->producer && op_is_accumulator(output->producer)) return false;
  return gradients || !c->s->outside.yield || !external_loss_graded(c->s->loaded, output, c->arena);
}

/* The outputs a user sees, the accumulators of what trains where `gradients`, else a YieldOp's gradients, and every
 * input, read or not. */
static Graph *clone_loaded(const Choice *c, bool gradients, Arena *arena) {
  TrainletSession *s = c->s;
  Graph *g = s->loaded;
  const Node *yield = gradients ? NULL : external_loss_yield(g);
  int count = 0, most = g->output_count + g->node_count + g->input_count + (yield ? yield->out_count : 0);
  Value **wanted = ARENA_ARRAY(arena, Value *, most);
  if (!wanted) return NULL;
  for (int i = 0; i < g->output_count; i++)
    if (is_kept(c, g->outputs[i], gradients)) wanted[count++] = g->outputs[i];
  int outputs = count;
  for (int i = 0; gradients && i < g->node_count; i++) {
    const Parameter *p = op_is_accumulator(g->nodes[i]) ? state_accumulated(&s->state, g->nodes[i], c->arena) : NULL;
    if (p && c->trains[p - s->state.parameters]) wanted[count++] = g->nodes[i]->out[0];
  }
  for (int i = 0; yield && i < yield->out_count; i++) wanted[count++] = yield->out[i];
  for (int i = 0; i < g->input_count; i++) wanted[count++] = g->inputs[i];
  Graph *clone = graph_clone(g, arena, &s->error, NULL, wanted, count);
  if (clone) clone->output_count = outputs;
  return clone;
}

static Value *switched_norm(Graph *g, const Node *n) {
  AttrList attrs = ATTRS(attr_of_float("epsilon", node_float(n, "epsilon", 1e-5f)),
                         attr_of_float("momentum", node_float(n, "momentum", 0.9f)));
  if (n->op == &op_batch_norm_internal) return emit_first(g, "BatchNormalization", attrs, n->in, 5);
  Node *made = emit_node(g, "BatchNormInternal", attrs, n->in, 5, 5, NULL);
  return made ? made->out[0] : NULL;
}

/* The emitted node is at the end of the graph: it is moved to the place of the other. */
static Status switch_norm(Graph *g, int at) {
  Node *n = g->nodes[at];
  Value *y = switched_norm(g, n);
  if (!y) return g->error->status;
  g->nodes[at] = y->producer;
  g->node_count--;
  y->producer->out[0] = n->out[0];
  n->out[0]->producer = y->producer;
  return STATUS_OK;
}

/* Adds training_mode, with which it drops, or removes it. The node stays, and its stream of random numbers. */
static Status switch_dropout(Graph *g, Node *n) {
  static const uint8_t on = 1;
  Value **in = ARENA_ARRAY(g->arena, Value *, 3);
  Value *mode = has_in(n, 2) ? NULL
                             : graph_constant(g, graph_fresh_name(g, "training_mode"), DTYPE_BOOL, &(Shape){0}, &on);
  if (!in || (!mode && !has_in(n, 2))) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < 2 && i < n->in_count; i++) in[i] = n->in[i];
  in[2] = mode;
  n->in = in;
  n->in_count = mode ? 3 : 2;
  return STATUS_OK;
}

static Status switch_modes(const Choice *c, Graph *g) {
  const bool *eval_mode = find_eval_mode(c, g);
  if (!eval_mode) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (changes_mode(n, eval_mode[i])) TRY(n->op == &op_dropout ? switch_dropout(g, n) : switch_norm(g, i));
  }
  return STATUS_OK;
}

/* Not by a pattern: then it must train. */
static bool is_named(const Choice *c, const char *name) { return !c->patterns || names_have(c->patterns, name); }

static Status no_gradient(const Choice *c, const char *name) {
  if (c->patterns)
    return error_set(&c->s->error, STATUS_INVALID_ARGUMENT, NULL, "setTrainable: the loss does not depend on '%.200s'",
                     name);
  return error_set(&c->s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                   "the checkpoint's trainable parameter '%.200s' gets no gradient from the training model", name);
}

/* Appends the gradients of the loss, or those of an external loss. */
static Status append_gradients(TrainletSession *s, Graph *g, Value *const *wrt, int count, Value **grads) {
  const Node *yield = external_loss_yield(g);
  Value *loss = g->output_count ? g->outputs[0] : NULL;
  BackwardStart start;
  size_t elements;
  if (yield) {
    TRY(yield_find(g, yield, &start));
    return backward_from(g, start.ys, start.dys, start.count, wrt, count, grads);
  }
  if (!loss || loss->type != DTYPE_FLOAT32 || !shape_count(&loss->shape, &elements) || elements != 1)
    return error_set(&s->error, STATUS_INVALID_MODEL, NULL,
                     "the training model's first output is no loss of one number");
  return gradients_append(g, loss, wrt, count, grads);
}

/* The inputs that the loaded graph gives gradients towards, into `to`. */
static int graded_inputs(const Choice *c, Graph *g, Value **to) {
  const Graph *loaded = c->s->loaded;
  int count = 0;
  for (int i = 0; c->s->outside.yield && i < loaded->output_count; i++) {
    const Value *of = external_loss_graded(loaded, loaded->outputs[i], c->arena);
    if (of && of->kind != VALUE_STATE && external_loss_is_input(loaded, of)) to[count++] = graph_find(g, of->name);
  }
  return count;
}

static Status append_accumulators(Choice *c, Graph *g, Value *const *wrt, Value *const *grads, Value *reset) {
  for (int i = 0, k = 0; i < c->s->state.count; i++) {
    if (!c->trains[i]) continue;
    Value *x = wrt[k], *grad = grads[k++];
    if (!grad && is_named(c, x->name)) return no_gradient(c, x->name);
    c->trains[i] = grad != NULL;
    if (grad && !gradients_accumulate(g, x, grad, reset)) return g->error->status;
  }
  return STATUS_OK;
}

static Status append_backward(Choice *c, Graph *g) {
  TrainletSession *s = c->s;
  State *t = &s->state;
  int count = 0, most = t->count + s->loaded->output_count;
  Value **wrt = ARENA_ARRAY(g->arena, Value *, most), **grads = ARENA_ARRAY(g->arena, Value *, most);
  Shape one = SHAPE(1);
  Value *reset = graph_value(g, graph_fresh_name(g, "lazy_reset_grad"), DTYPE_BOOL, &one, VALUE_STATE);
  if (!wrt || !grads || !reset) return g->error->status;
  reset->data = &s->reset_flag;
  for (int i = 0; i < t->count; i++) {
    Value *x = c->trains[i] ? graph_find(g, t->parameters[i].name) : NULL;
    if (c->trains[i] && !x && is_named(c, t->parameters[i].name)) return no_gradient(c, t->parameters[i].name);
    if ((c->trains[i] = x)) wrt[count++] = x;
  }
  int inputs = graded_inputs(c, g, wrt + count);
  TRY(append_gradients(s, g, wrt, count + inputs, grads));
  for (int i = count; i < count + inputs; i++)
    if (grads[i]) TRY(yield_add_input_gradient(g, wrt[i], grads[i]));
  return append_accumulators(c, g, wrt, grads, reset);
}

static Graph *make_graph(Choice *c, Arena *arena) {
  bool backward;
  if (needs_backward(c, &backward) != STATUS_OK) return NULL;
  Graph *g = clone_loaded(c, !backward, arena);
  if (!g || (backward && (switch_modes(c, g) != STATUS_OK || append_backward(c, g) != STATUS_OK))) return NULL;
  for (int i = 0; i < c->s->state.count; i++)
    if (c->trains[i]) return g;
  return error_set(&c->s->error, STATUS_INVALID_ARGUMENT, NULL,
                   "setTrainable: no parameter is left to train: the loss depends on none of them"),
         NULL;
}

/* ---- the session ---- */

/* Programs, fetched values and gradients of the previous graph are dropped with it. */
static void take_graph(TrainletSession *s, const Model *made, Arena *previous) {
  Model *train = &s->models[MODEL_TRAIN];
  external_loss_close(s);
  for (int i = 0; train->feeds && i < feed_count(train); i++) feed_free(&train->feeds[i]);
  program_cache_forget(&s->program_cache);
  s->fetched_count = 0;
  arena_free(previous);
  *train = *made;
  session_find_accumulators(s, train->graph);
  external_loss_prepare(s, train->graph);
  state_point_accumulators(&s->state, train->graph);
  for (int m = 0; m < MODEL_COUNT; m++)
    if (s->models[m].graph) state_mark_fixed(&s->state, s->models[m].graph);
  state_mark_fixed(&s->state, s->loaded);
  s->reset_gradients = true;
  s->base_known = false;
}

/* The graph is made where it will lie, for it points to its arena: more may be appended to it later. */
static Status apply(Choice *c) {
  TrainletSession *s = c->s;
  Arena previous = s->chosen;
  s->chosen = (Arena){0};
  Model made = {.graph = make_graph(c, &s->chosen)};
  Status status = made.graph ? session_prepare_model(s, &made, &s->chosen) : STATUS_OUT_OF_MEMORY;
  if (status == STATUS_OK && !budget_missed())
    status = state_choose(&s->state, made.graph, c->trains, c->arena, &s->error);
  if (status != STATUS_OK || budget_missed()) {
    arena_free(&s->chosen);
    s->chosen = previous;
    return error_memory(&s->error, "for the training graph"); /* or the first */
  }
  take_graph(s, &made, &previous);
  return STATUS_OK;
}

static Status with_choice(TrainletSession *s, const char *lines) {
  NameList patterns = {0};
  Arena arena = {0};
  Choice c = {s, &arena, ARENA_ARRAY(&arena, bool, s->state.count), lines ? &patterns : NULL};
  Status status = c.trains && (!lines || read_patterns(&patterns, lines, &arena)) ? STATUS_OK : STATUS_OUT_OF_MEMORY;
  for (int i = 0; status == STATUS_OK && !lines && i < s->state.count; i++)
    c.trains[i] = s->state.parameters[i].trainable;
  if (status == STATUS_OK && lines) status = choose(&c);
  if (status == STATUS_OK) status = apply(&c);
  arena_free(&arena);
  return status == STATUS_OK ? status : error_set(&s->error, status, NULL, "out of memory for the training graph");
}

Status session_take_choice(TrainletSession *s) { return with_choice(s, NULL); }

Status trainlet_session_set_trainable(TrainletSession *s, const char *patterns) {
  session_enter(s);
  bool done = session_model(s, TRAINLET_TRAIN) && with_choice(s, patterns) == STATUS_OK;
  return session_leave(s, done);
}
