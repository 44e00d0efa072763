/* ExternalLoss: the list of forward runs without a backward run so far. */
#include "session/external_loss.h"

#include <string.h>

#include "ops/accumulator.h"
#include "ops/control/yield.h"
#include "program/loss.h"
#include "train/gradients.h"

static Status out_of_memory(TrainletSession *s) { return error_memory(&s->error, "for a forward run"); }

/* ---- the graph ---- */

Node *external_loss_yield(const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (g->nodes[i]->op == &op_yield) return g->nodes[i];
  return NULL;
}

static Status check_alone(TrainletSession *s, const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (g->nodes[i]->op == &op_yield && g->nodes[i] != s->outside.yield)
      return error_set(&s->error, STATUS_UNSUPPORTED_OP, g->nodes[i]->name,
                       "YieldOp '%.128s' is the training model's second, we take gradients from outside at one place",
                       g->nodes[i]->name);
  return STATUS_OK;
}

Value *external_loss_graded(const Graph *g, const Value *output, Arena *scratch) {
  const Node *yield = external_loss_yield(g);
  for (int i = 0; i < yield->in_count; i++)
    if (yield->in[i] == output) return NULL; /* an output of the model, whatever its name */
  const char *name = gradients_owner(output->name, "_grad", scratch);
  return name ? graph_find(g, name) : NULL;
}

static Value *reset_flag(Graph *g) {
  Shape one = SHAPE(1);
  for (int i = 0; i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i])) return g->nodes[i]->in[2];
  return graph_value(g, graph_stable_name(g, "lazy_reset_grad"), DTYPE_BOOL, &one, VALUE_INPUT);
}

static Status accumulate(TrainletSession *s, Graph *g, Value *parameter, Value *grad) {
  for (int i = 0; i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i]) &&
        state_accumulated(&s->state, g->nodes[i], g->arena) == state_find(&s->state, parameter->name))
      return STATUS_OK;
  Value *reset = reset_flag(g);
  Node *n = reset ? gradients_accumulate(g, parameter, grad, reset) : NULL;
  if (!n) return g->error->status;
  n->in[0]->kind = VALUE_INPUT; /* same as in a file; it is bound with the others */
  return STATUS_OK;
}

bool external_loss_is_input(const Graph *g, const Value *v) {
  for (int i = 0; i < g->input_count; i++)
    if (g->inputs[i] == v) return v->type == DTYPE_FLOAT32;
  return false;
}

static Status take_gradient_of(TrainletSession *s, Graph *g, Value *of, Value *gradient) {
  ExternalLoss *o = &s->outside;
  const Parameter *p = state_find(&s->state, of->name);
  if (p) return p->trainable ? accumulate(s, g, of, gradient) : STATUS_OK;
  if (!external_loss_is_input(g, of)) return STATUS_OK;
  o->input_grads[o->input_count] = gradient;
  o->inputs[o->input_count++] = of->name;
  return STATUS_OK;
}

/* Finds the outputs that are gradients: parameters' are accumulated, inputs' are computed on request. */
static Status find_gradients(TrainletSession *s, Graph *g) {
  ExternalLoss *o = &s->outside;
  Arena scratch = {0};
  Status status = STATUS_OK;
  int count = g->output_count;
  if (!o->inputs) { /* another choice of trained parameters needs no more */
    o->input_grads = ARENA_ARRAY(&s->arena, Value *, count);
    o->inputs = ARENA_ARRAY(&s->arena, const char *, count);
  }
  if (!o->input_grads || !o->inputs) return out_of_memory(s);
  for (int i = 0; i < count && status == STATUS_OK; i++) {
    Value *of = external_loss_graded(g, g->outputs[i], &scratch);
    if (of) status = take_gradient_of(s, g, of, g->outputs[i]);
  }
  arena_free(&scratch);
  return status;
}

Status external_loss_prepare(TrainletSession *s, Graph *g) {
  s->outside.yield = external_loss_yield(g);
  s->outside.input_count = 0;
  TRY(check_alone(s, g));
  return s->outside.yield ? find_gradients(s, g) : STATUS_OK;
}

/* ---- open runs ---- */

/* Moves the feeds for the model's next run to this run. */
static void take_feeds(OpenRun *w, Model *m) {
  for (int i = 0; i < m->graph->input_count; i++) {
    w->feeds[i] = m->feeds[i];
    m->feeds[i] = (Feed){.input = w->feeds[i].input};
  }
}

/* Gives its buffers back to the model's next feed of that name, if that has none. */
static void give_feeds_back(OpenRun *w, Model *m) {
  for (int i = 0; i < m->graph->input_count; i++) {
    Feed *to = &m->feeds[i];
    if (to->block.raw || to->text.raw || to->items_made) {
      feed_free(&w->feeds[i]);
      continue;
    }
    *to = w->feeds[i];
    feed_forget(to);
  }
}

static void open_run(TrainletSession *s, OpenRun *w) {
  w->id = ++s->outside.runs;
  w->changes = s->outside.changes;
  w->rng = s->rng;
  w->overwrites = s->reset_gradients && !s->outside.first;
  w->next = s->outside.first;
  s->outside.first = w;
}

static OpenRun *new_run(TrainletSession *s, Model *m) {
  Arena memory = {0};
  OpenRun *w = ARENA_NEW(&memory, OpenRun);
  Feed *feeds = ARENA_ARRAY(&memory, Feed, m->graph->input_count);
  bool *given = ARENA_ARRAY(&memory, bool, s->outside.yield->out_count);
  if (!w || !feeds || !given) return arena_free(&memory), out_of_memory(s), NULL;
  *w = (OpenRun){.memory = memory, .feeds = feeds, .given = given};
  take_feeds(w, m);
  open_run(s, w);
  return w;
}

static void close_run(TrainletSession *s, OpenRun *w) {
  OpenRun **at = &s->outside.first;
  while (*at != w) at = &(*at)->next;
  *at = w->next;
  if (w->program) program_cache_let_go(&s->program_cache, w->program);
  give_feeds_back(w, &s->models[MODEL_TRAIN]);
  block_free(&w->arena);
  Arena memory = w->memory; /* w itself lies in it */
  arena_free(&memory);
}

void external_loss_close(TrainletSession *s) {
  while (s->outside.first) close_run(s, s->outside.first);
}

static OpenRun *find_run(TrainletSession *s, int id) {
  for (OpenRun *w = s->outside.first; w; w = w->next)
    if (w->id == id) return w;
  error_set(
      &s->error, STATUS_INVALID_ARGUMENT, NULL,
      "this forward run is not open any more: its backward has run, it was dropped, or other parameters train now");
  return NULL;
}

/* ---- forward ---- */

static Status hold_program(TrainletSession *s, Model *m, OpenRun *w) {
  Request r = {.graph = m->graph,
               .part = TRAINLET_TRAIN,
               .feeds = w->feeds,
               .fetches = s->outside.input_grads,
               .fetch_count = s->outside.input_count,
               .effects = s->accumulators,
               .effect_count = s->accumulator_count,
               .overwrite_gradients = w->overwrites,
               .passes = s->passes,
               .work_limit = s->limit_work,
               .arena = &w->arena,
               .stop = &s->stop};
  w->program = program_cache_hold(&s->program_cache, &r, &s->error);
  return w->program ? STATUS_OK : out_of_memory(s); /* the first error wins */
}

/* A program without a YieldOp needs no gradient from the caller. */
static Status check_yield(TrainletSession *s, const Program *p) {
  const Node *yield = s->outside.yield;
  if (p->yield && p->yield->in_count == yield->in_count) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_MODEL, yield->name,
                   "YieldOp '%.128s': no gradient of the training model comes from it", yield->name);
}

static Status run_forward(TrainletSession *s, Model *m, OpenRun *w) {
  TRY(hold_program(s, m, w));
  Program *p = &w->program->program;
  TRY(check_yield(s, p));
  TRY(session_begin_outputs(s, (size_t)p->yield->in_count));
  TRY(session_execute(s, p, (StepRange){.end = p->yield_step}));
  TRY(loss_check_labels(p, &s->error)); /* labels of a loss that is an output of the model */
  for (int i = 0; i < p->yield->in_count; i++) session_take_tensor(s, s->outside.yield->in[i]->name, p->yield->in[i]);
  return STATUS_OK;
}

static Status forward(TrainletSession *s, int *id) {
  Model *m = session_model(s, TRAINLET_TRAIN);
  if (!m) return s->error.status;
  if (!s->outside.yield)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the training model has its loss inside: forward and backward want artifacts of loss 'outside'");
  if (session_check_feeds(s, m) != STATUS_OK) return session_forget_feeds(m), s->error.status;
  if (s->reset_gradients && !s->outside.first) state_keep_statistics(&s->state, UNDO_GROUP), s->group_rng = s->rng;
  state_keep_statistics(&s->state, UNDO_RUN);
  OpenRun *w = new_run(s, m);
  if (!w) return s->error.status;
  if (run_forward(s, m, w) != STATUS_OK || state_check_statistics(&s->state, &s->error) != STATUS_OK) {
    state_restore_statistics(&s->state, UNDO_RUN);
    return close_run(s, w), s->error.status;
  }
  s->rng.step++;
  return *id = w->id, STATUS_OK;
}

Status trainlet_session_forward(TrainletSession *s, int *id) {
  session_enter(s);
  return session_leave(s, forward(s, id) == STATUS_OK);
}

void trainlet_session_drop_forward(TrainletSession *s, int id) {
  session_enter(s);
  OpenRun *w = find_run(s, id);
  if (w) close_run(s, w);
  error_clear(&s->error);
  session_leave(s, true);
}

/* ---- gradients from the caller ---- */

/* The output of that name as the YieldOp's input; -1 with a sentence. */
static int find_output(TrainletSession *s, const char *name) {
  const Node *yield = s->outside.yield;
  for (int i = 0; i < yield->in_count; i++)
    if (strcmp(yield->in[i]->name, name) == 0 && yield_takes_gradient(yield, i)) return i;
  Arena scratch = {0};
  const char *names = graph_list_names(yield->in, yield->in_count, "', '", &scratch);
  error_set(&s->error, STATUS_INVALID_FEED, NULL,
            "no gradient is taken for '%.100s': the model's outputs are '%.250s', integers have none", name,
            names ? names : "");
  arena_free(&scratch);
  return -1;
}

static Status check_gradient(TrainletSession *s, const char *name, const Value *output, DType type, const Shape *came) {
  char wanted[SHAPE_TEXT], given[SHAPE_TEXT];
  if (type == output->type && shape_equal(came, &output->shape)) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_FEED, NULL, "the gradient of '%.100s' must be %s %s, %s %s came", name,
                   dtype_name(output->type), shape_print(&output->shape, wanted), dtype_name(type),
                   shape_print(came, given));
}

/* The index of the YieldOp's output that is the gradient of this input. */
static int gradient_of(const Node *yield, int input) {
  int at = 0;
  for (int i = 0; i < input; i++) at += yield_takes_gradient(yield, i);
  return at;
}

static void resume(TrainletSession *s, OpenRun *w) {
  program_cache_resume(w->program, w->feeds, s->models[MODEL_TRAIN].graph->input_count, &w->arena);
}

static void *take_gradient(TrainletSession *s, OpenRun *w, const char *name, DType type, int rank,
                           const int64_t *dims) {
  const Node *yield = w->program->program.yield;
  int input = find_output(s, name);
  if (input < 0) return NULL;
  Shape shape = shape_of(rank < 0 || rank > RANK_MAX ? 0 : rank, dims);
  if (check_gradient(s, name, yield->in[input], type, &shape) != STATUS_OK) return NULL;
  int at = gradient_of(yield, input);
  w->given[at] = true;
  resume(s, w);
  if (yield->out[at]) return yield->out[at]->data;
  void *unread = arena_alloc(&w->memory, value_bytes(yield->in[input])); /* no parameter's gradient needs it */
  return unread ? unread : (out_of_memory(s), NULL);
}

/* A refused gradient drops those before it, as a refused feed does. */
void *trainlet_session_feed_gradient(TrainletSession *s, int id, const char *output, int type, int rank,
                                     const int64_t *dims) {
  session_enter(s);
  OpenRun *w = find_run(s, id);
  void *to = w ? take_gradient(s, w, output, (DType)type, rank, dims) : NULL;
  if (w && !to) memset(w->given, 0, sizeof *w->given * (size_t)s->outside.yield->out_count);
  return session_leave(s, to) == STATUS_OK ? to : NULL;
}

/* ---- backward ---- */

/* Sets the gradients that did not come to zero. */
static Status complete_gradients(TrainletSession *s, OpenRun *w) {
  const Node *yield = w->program->program.yield;
  bool any = false;
  resume(s, w);
  for (int i = 0; i < yield->out_count; i++) {
    any |= w->given[i];
    if (!w->given[i] && yield->out[i]) memset(yield->out[i]->data, 0, value_bytes(yield->out[i]));
  }
  return any ? STATUS_OK
             : error_set(&s->error, STATUS_INVALID_FEED, NULL,
                         "backward wants the gradient of one of the model's outputs at least");
}

static Status check_unchanged(TrainletSession *s, OpenRun *w) {
  if (w->changes == s->outside.changes) return STATUS_OK;
  error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
            "parameters were changed after this forward run, so its gradients would be wrong: run forward again after "
            "each optimizer step (PyTorch: \"modified by an inplace operation\")");
  close_run(s, w);
  return s->error.status;
}

/* The gradients towards these inputs, one a line, as indices of the program's outputs. */
static Status find_inputs(TrainletSession *s, const char *names, int *at, int *count) {
  const ExternalLoss *o = &s->outside;
  *count = 0;
  for (const char *name = names; name && *name;) {
    size_t length = strcspn(name, "\n");
    int i = 0;
    while (i < o->input_count && (strlen(o->inputs[i]) != length || strncmp(o->inputs[i], name, length) != 0)) i++;
    if (i == o->input_count)
      return error_set(&s->error, STATUS_INVALID_FEED, NULL,
                       "the training model gives no gradient towards '%.*s': it must be a float32 input that the "
                       "outputs depend on",
                       length > 200 ? 200 : (int)length, name);
    for (int k = 0; k < *count; k++)
      if (at[k] == i)
        return error_set(&s->error, STATUS_INVALID_FEED, NULL, "the gradient towards '%.200s' is asked for twice",
                         o->inputs[i]);
    at[(*count)++] = i;
    name += length + (name[length] == '\n');
  }
  return STATUS_OK;
}

/* Room for the requested gradients, which outlive the run, as the outputs do; NULL when memory is out. */
static Value *begin_inputs(TrainletSession *s, const Program *p, const int *at, int count) {
  Value *kept = ARENA_ARRAY(&s->fetch_arena, Value, count);
  if (!kept || session_begin_outputs(s, (size_t)count) != STATUS_OK) return out_of_memory(s), NULL;
  for (int i = 0; i < count; i++) {
    kept[i] = *p->fetched[at[i]];
    if (!(kept[i].data = arena_alloc(&s->fetch_arena, value_bytes(&kept[i])))) return out_of_memory(s), NULL;
    session_take_tensor(s, s->outside.inputs[at[i]], &kept[i]);
  }
  return kept;
}

/* The program overwrites gradients of other runs: `before` keeps these, and they are added again. */
static Status run_beside(TrainletSession *s, Program *p, StepRange range, float *before) {
  float *gradients = s->state.gradients.data;
  size_t count = s->state.gradient_count;
  memcpy(before, gradients, count * sizeof *before);
  Status status = session_execute(s, p, range);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) gradients[i] += before[i];
  return status;
}

static Status run_gradients(TrainletSession *s, OpenRun *w, bool inputs, float *before) {
  Program *p = &w->program->program;
  StepRange range = {p->yield_step, p->step_count, !inputs};
  s->reset_flag = w->overwrites;
  if (s->reset_gradients && !w->overwrites) state_zero_gradients(&s->state);
  return before ? run_beside(s, p, range, before) : session_execute(s, p, range);
}

/* Clears gradients that were written or added to in part. */
static Status forget_gradients(TrainletSession *s) {
  state_zero_gradients(&s->state);
  s->reset_gradients = true;
  s->fetched_count = 0;
  if (s->error.status != STATUS_ABORTED) return s->error.status;
  error_clear(&s->error);
  return error_set(&s->error, STATUS_ABORTED, NULL,
                   "the backward run was stopped; no parameter was changed, the gradients that were added up so far "
                   "are dropped, and so is its forward run");
}

static Status run_backward(TrainletSession *s, OpenRun *w, bool inputs, float *before) {
  Rng now = s->rng;
  s->rng = w->rng;
  Status status = run_gradients(s, w, inputs, before);
  s->rng = now;
  if (status != STATUS_OK) return forget_gradients(s);
  s->reset_gradients = false;
  return STATUS_OK;
}

/* A refusal before it runs leaves the forward run open. */
static Status backward(TrainletSession *s, int id, const char *inputs) {
  OpenRun *w = find_run(s, id);
  int count = 0, *at;
  if (!w) return s->error.status;
  arena_free(&s->fetch_arena);
  if (!(at = ARENA_ARRAY(&s->fetch_arena, int, s->outside.input_count))) return out_of_memory(s);
  TRY(check_unchanged(s, w));
  TRY(find_inputs(s, inputs, at, &count));
  TRY(complete_gradients(s, w));
  const Program *p = &w->program->program;
  Value *kept = begin_inputs(s, p, at, count);
  Block before = {0};
  bool beside = !s->reset_gradients && w->overwrites && s->state.gradient_count;
  if (!kept) return s->error.status;
  if (beside && !block_reserve(&before, s->state.gradient_count * sizeof(float))) return out_of_memory(s);
  Status status = run_backward(s, w, count > 0, before.data);
  for (int i = 0; i < count && status == STATUS_OK; i++)
    memcpy(kept[i].data, p->fetched[at[i]]->data, value_bytes(&kept[i]));
  block_free(&before);
  close_run(s, w);
  return status;
}

Status trainlet_session_backward(TrainletSession *s, int id, const char *inputs) {
  session_enter(s);
  return session_leave(s, backward(s, id, inputs) == STATUS_OK);
}

void trainlet_session_changed(TrainletSession *s) {
  s->outside.changes++;
  s->state.safe_steps = 0;
}
