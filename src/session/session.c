/* Session: its feeds, its runs and steps. */
#include "session/session.h"

#include <math.h>
#include <string.h>

#include "graph/strings.h"
#include "graph/work.h"
#include "passes/passes.h"
#include "session/external_loss.h"

const Error *trainlet_session_error(const TrainletSession *s) { return &s->error; }
void trainlet_session_limit(TrainletSession *s, double bytes) { s->budget.limit_bytes = bytes > 0 ? bytes : 0; }
void trainlet_session_limit_work(TrainletSession *s, double work) { s->limit_work = work > 0 ? work : WORK_DEFAULT; }

void trainlet_session_stop_when(TrainletSession *s, bool (*asked)(void *context), void *context) {
  s->stop = (ThreadsStop){asked, context};
}

void trainlet_session_set_passes(TrainletSession *s, unsigned mask) { s->passes = mask & PASSES_ALL; }
const char *trainlet_pass_name(int i) { return passes_name(i); }

int session_model_of(TrainletPart part) {
  return part == TRAINLET_TRAIN ? MODEL_TRAIN
       : part == TRAINLET_EVAL  ? MODEL_EVAL
       : part == TRAINLET_MODEL ? MODEL_INFERENCE
                                : -1;
}

Status session_out_of_memory(TrainletSession *s) { return error_memory(&s->error, "for the session"); }

Status session_check_values(TrainletSession *s) {
  if (!s->lacks_values) return STATUS_OK;
  return error_set(&s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                   "the checkpoint is nominal: its parameters have no values until loadParametersBuffer brings all of "
                   "them (trainableOnly false)");
}

Model *session_model(TrainletSession *s, TrainletPart part) {
  static const char *const names[MODEL_COUNT] = {"training", "eval", "inference"};
  int m = session_model_of(part);
  if (s->ready && m >= 0 && s->models[m].graph)
    return m == MODEL_INFERENCE || s->only_plans || session_check_values(s) == STATUS_OK ? &s->models[m] : NULL;
  error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session has no %s model", m < 0 ? "such" : names[m]);
  return NULL;
}

/* ---- feeding ---- */

Feed *session_find_feed(TrainletSession *s, Model *m, const char *name) {
  const Graph *g = m->graph;
  const Value *v = graph_find(g, name);
  int at = v && v->index < m->value_count ? m->feed_at[v->index] : 0;
  if (at) return &m->feeds[at - 1];
  Arena scratch = {0};
  const char *names = graph_list_names(g->inputs, g->input_count, "', '", &scratch);
  error_set(&s->error, STATUS_INVALID_FEED, NULL, "there is no input '%.100s': the model takes '%.298s'", name,
            names ? names : "");
  arena_free(&scratch);
  return NULL;
}

void session_forget_feeds(Model *m) {
  for (int i = 0; i < feed_count(m); i++) feed_forget(&m->feeds[i]);
}

static void *feed_model(TrainletSession *s, Model *m, const char *name, int type, int rank, const int64_t *dims,
                        size_t text_bytes) {
  Feed *feed = session_find_feed(s, m, name);
  if (!feed) return NULL;
  if (rank < 0 || rank > RANK_MAX) {
    error_set(&s->error, STATUS_INVALID_FEED, NULL, "input '%.100s': %d dimensions are more than the %d we support",
              name, rank, RANK_MAX);
    return NULL;
  }
  Shape shape = shape_of(rank, dims);
  return feed_tensor(feed, (DType)type, &shape, text_bytes, &s->error);
}

/* A refused feed also discards those before it: what was fed for a run that never happened must not reach the next
 * one. */
static void *feed(TrainletSession *s, TrainletPart part, const char *name, int type, int rank, const int64_t *dims,
                  size_t text_bytes) {
  session_enter(s);
  Model *m = session_model(s, part);
  void *to = m ? feed_model(s, m, name, type, rank, dims, text_bytes) : NULL;
  if (m && !to) session_forget_feeds(m);
  return session_leave(s, to) == STATUS_OK ? to : NULL;
}

void *trainlet_session_feed(TrainletSession *s, TrainletPart part, const char *name, int type, int rank,
                            const int64_t *dims) {
  return feed(s, part, name, type, rank, dims, 0);
}

void *trainlet_session_feed_text(TrainletSession *s, TrainletPart part, const char *name, int rank, const int64_t *dims,
                                 size_t bytes) {
  return feed(s, part, name, DTYPE_STRING, rank, dims, bytes);
}

Status trainlet_session_feed_sequence(TrainletSession *s, TrainletPart part, const char *name, int count) {
  session_enter(s);
  Model *m = session_model(s, part);
  Feed *feed = m ? session_find_feed(s, m, name) : NULL;
  Status status = feed ? feed_sequence(feed, m->graph, count, &s->arena, &s->error) : s->error.status;
  if (m && status != STATUS_OK) session_forget_feeds(m);
  return session_leave(s, status == STATUS_OK);
}

/* Nothing that is fed has an example: a step would only move the weights by decay and momentum. */
static bool is_empty_batch(const Model *m) {
  int fed = 0;
  for (int i = 0; i < m->graph->input_count; i++) {
    const Feed *f = &m->feeds[i];
    if (!f->fed || f->item_count || !f->shape.rank) continue;
    if (f->shape.dim[0]) return false;
    fed++;
  }
  return fed > 0;
}

Status session_check_feeds(TrainletSession *s, Model *m) {
  for (int i = 0; i < m->graph->input_count; i++) TRY(feed_check(&m->feeds[i], &s->error));
  if (m == &s->models[MODEL_TRAIN] && is_empty_batch(m))
    return error_set(&s->error, STATUS_INVALID_FEED, NULL, "the batch is empty: no input has an example to train on");
  return STATUS_OK;
}

/* ---- running ---- */

Status session_find_values(TrainletSession *s, Graph *graph, const char *names, Arena *arena, Value ***values,
                           int *count) {
  int most = 2; /* an export adds the loss */
  for (const char *p = names; *p; p++) most += *p == '\n';
  *values = ARENA_ARRAY(arena, Value *, most);
  char *copy = arena_copy_text(arena, names);
  if (!*values || !copy) return session_out_of_memory(s);
  *count = 0;
  for (char *at = copy; at;) {
    char *end = strchr(at, '\n');
    if (end) *end = 0;
    Value *v = graph_find(graph, at);
    if (!v) return error_set(&s->error, STATUS_INVALID_FEED, NULL, "the model has no value '%.200s' to fetch", at);
    (*values)[(*count)++] = v;
    at = end ? end + 1 : NULL;
  }
  return STATUS_OK;
}

static TrainletTensor *fetched(const TrainletSession *s) { return s->fetched.data; }

/* JavaScript makes strings of them: about 32 bytes each, and two a letter. */
static void bound_strings(TrainletSession *s, const char *name, const char *const *strings, size_t count) {
  enum { TEXT_MAX = 1 << 27 };
  double most = s->budget.limit_bytes > 0 ? s->budget.limit_bytes : TEXT_MAX;
  for (size_t i = 0; i < count && s->text_bytes <= most; i++)
    s->text_bytes += 32 + 2 * (double)strlen(strings_text(strings[i]));
  if (s->text_bytes <= most) return;
  error_set(&s->error, STATUS_OUT_OF_MEMORY, NULL,
            "the strings of the outputs up to '%.200s' take more than %.0f bytes: maxMemoryBytes bounds them", name,
            most);
}

void session_take_tensor(TrainletSession *s, const char *name, const Value *v) {
  size_t elements = shape_elements(&v->shape);
  if (v->type == DTYPE_STRING) bound_strings(s, name, v->data, elements);
  fetched(s)[s->fetched_count++] = (TrainletTensor){
      name, v->type, v->shape.rank, v->shape.dim, v->data, elements, elements * dtype_bytes(v->type), -1, false};
}

/* A sequence comes before its items. */
static void take_output(TrainletSession *s, const Value *v) {
  if (v->kind != VALUE_SEQUENCE) {
    session_take_tensor(s, v->name, v);
    return;
  }
  fetched(s)[s->fetched_count++] = (TrainletTensor){v->name, v->type, v->absent ? TRAINLET_NOTHING : TRAINLET_SEQUENCE,
                                                    NULL,    NULL,    (size_t)v->item_count,
                                                    0,       -1,      false};
  for (int i = 0; i < v->item_count; i++) session_take_tensor(s, v->items[i]->name, v->items[i]);
}

Status session_begin_outputs(TrainletSession *s, size_t count) {
  s->fetched_count = 0;
  s->text_bytes = 0;
  return block_reserve(&s->fetched, sizeof(TrainletTensor) * (count + 1)) ? STATUS_OK : session_out_of_memory(s);
}

static size_t count_outputs(const Program *p, int count) {
  size_t all = 0;
  for (int i = 0; i < count; i++) all += 1 + (size_t)p->fetched[i]->item_count;
  return all;
}

Status session_execute(TrainletSession *s, Program *p, StepRange range) {
  p->graph->work_expanded = 0; /* from here on that of the strings which are compared */
  TRY(s->clock.now ? plan_execute_timed(p, range, &s->stop, &s->clock) : plan_execute(p, range, &s->stop));
  return budget_missed() ? session_out_of_memory(s) : STATUS_OK;
}

Status session_refuse_yield(TrainletSession *s, const Program *p) {
  if (!p->yield) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, p->yield->name,
                   "the graph stops at YieldOp '%.128s' for gradients from outside: forward and backward of a training "
                   "session run it",
                   p->yield->name);
}

LossCount session_loss_count(const Request *r, const Program *p, int i) {
  bool one_of_several = r->fetches[i] != r->graph->outputs[0];
  if (one_of_several && !loss_is_part(r->graph, r->fetches[i])) return (LossCount){-1, false};
  return loss_count(p->graph, p->fetched[i], one_of_several);
}

Status session_run_model(TrainletSession *s, Model *m, Request *r) {
  s->fetched_count = 0;
  s->begun = false;
  Program *p = session_check_feeds(s, m) == STATUS_OK ? program_cache_find(&s->program_cache, r, &s->error) : NULL;
  session_forget_feeds(m);
  if (!p) return session_out_of_memory(s); /* the first error wins */
  if (s->only_plans) return STATUS_OK;
  TRY(session_refuse_yield(s, p));
  TRY(session_begin_outputs(s, count_outputs(p, r->fetch_count)));
  s->begun = true;
  TRY(session_execute(s, p, plan_all(p)));
  TRY(loss_check_labels(p, &s->error));
  for (int i = 0; i < r->fetch_count; i++) {
    int at = s->fetched_count;
    take_output(s, p->fetched[i]);
    LossCount c = session_loss_count(r, p, i);
    fetched(s)[at].counted = c.weight, fetched(s)[at].is_sum = c.sum;
  }
  return s->error.status;
}

/* Each draws anew. */
static Status run_inference(TrainletSession *s, Model *m, Request *r) {
  s->rng.step++;
  Status status = session_run_model(s, m, r);
  if (status != STATUS_OK) s->rng.step--;
  return status;
}

/* A train run that was stopped, or met a label that is no class, has left its traces: running statistics, and gradients
 * that were written or added to. */
static Status forget_run(TrainletSession *s) {
  state_restore_statistics(&s->state, UNDO_RUN);
  Error why = s->error;
  if (why.status != STATUS_ABORTED && !s->begun) return why.status;
  state_zero_gradients(&s->state);
  if (s->reset_gradients) return why.status;
  trainlet_session_drop_grad(s);
  error_clear(&s->error);
  return error_set(&s->error, why.status, why.node, "%.400s; %sthe gradients that were added up so far are dropped",
                   why.status == STATUS_ABORTED ? "the run was stopped" : why.text,
                   why.status == STATUS_ABORTED ? "no parameter was changed, and " : "");
}

Request session_request(TrainletSession *s, TrainletPart part, Value *const *fetches, int count) {
  const Model *m = &s->models[session_model_of(part)];
  Request r = {.graph = m->graph,
               .part = (int)part,
               .feeds = m->feeds,
               .features = m->features,
               .feature_count = m->feature_count,
               .fetches = fetches,
               .fetch_count = count,
               .passes = s->passes,
               .work_limit = s->limit_work,
               .only_plans = s->only_plans,
               .stop = &s->stop};
  if (part != TRAINLET_TRAIN) return r;
  r.overwrite_gradients = s->reset_gradients;
  r.effects = s->accumulators;
  r.effect_count = s->accumulator_count;
  return r;
}

static Status run_fetching(TrainletSession *s, TrainletPart part, Value *const *fetches, int count) {
  Model *m = &s->models[session_model_of(part)];
  Request r = session_request(s, part, fetches, count);
  if (part == TRAINLET_MODEL) return run_inference(s, m, &r);
  if (part != TRAINLET_TRAIN) return session_run_model(s, m, &r);
  s->reset_flag = s->reset_gradients;
  if (s->reset_gradients) state_keep_statistics(&s->state, UNDO_GROUP), s->group_rng = s->rng;
  state_keep_statistics(&s->state, UNDO_RUN);
  if (session_run_model(s, m, &r) != STATUS_OK) return forget_run(s);
  s->reset_gradients = false;
  s->rng.step++;
  return STATUS_OK;
}

/* The first output of the training model is the loss. A batch whose loss is not finite leaves running statistics as
 * they were; one that leaves the statistics alone not finite is refused. */
static Status take_loss(TrainletSession *s) {
  const TrainletTensor *loss = trainlet_session_output(s, 0);
  if (!loss || loss->type != DTYPE_FLOAT32 || loss->count != 1) return STATUS_OK;
  s->loss = *(const float *)loss->data;
  if (!isfinite(s->loss)) state_restore_statistics(&s->state, UNDO_RUN);
  return state_check_statistics(&s->state, &s->error) == STATUS_OK ? STATUS_OK : forget_run(s);
}

Status session_run(TrainletSession *s, TrainletPart part, const char *fetches) {
  Model *m = session_model(s, part);
  if (!m) return s->error.status;
  arena_free(&s->fetch_arena);
  Value **values = m->outputs;
  int count = m->output_count;
  if (fetches && session_find_values(s, m->graph, fetches, &s->fetch_arena, &values, &count) != STATUS_OK) {
    session_forget_feeds(m);
    return s->error.status;
  }
  TRY(run_fetching(s, part, values, count));
  return part == TRAINLET_TRAIN && !fetches ? take_loss(s) : STATUS_OK;
}

Status trainlet_session_run(TrainletSession *s, TrainletPart part, const char *fetches) {
  session_enter(s);
  return session_leave(s, session_run(s, part, fetches) == STATUS_OK);
}

int trainlet_session_output_count(const TrainletSession *s) { return s->fetched_count; }
const TrainletTensor *trainlet_session_output(const TrainletSession *s, int i) {
  return i >= 0 && i < s->fetched_count ? &fetched(s)[i] : NULL;
}
double trainlet_session_loss(const TrainletSession *s) { return s->loss; }
double trainlet_session_gradient_norm(const TrainletSession *s) { return s->gradient_norm; }

/* ---- learning ---- */

Status session_check_step(TrainletSession *s) {
  if (!session_model(s, TRAINLET_TRAIN)) return s->error.status;
  if (s->adapters.start && !s->adapters.used)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "no adapter is in use that could train: the base alone and a sum of adapters do not");
  return s->has_optimizer
           ? STATUS_OK
           : error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session was created without an optimizer model");
}

Status trainlet_session_optimize(TrainletSession *s) {
  session_enter(s);
  return session_leave(s, session_check_step(s) == STATUS_OK && session_optimize(s) == STATUS_OK);
}

void trainlet_session_reset_grad(TrainletSession *s) { s->reset_gradients = true; }

void trainlet_session_drop_grad(TrainletSession *s) {
  if (s->reset_gradients) return;
  s->reset_gradients = true;
  s->rng = s->group_rng;
  state_restore_statistics(&s->state, UNDO_GROUP);
}

static Status step(TrainletSession *s) {
  TRY(session_check_step(s));
  arena_free(&s->fetch_arena);
  s->reset_gradients = true;
  TRY(run_fetching(s, TRAINLET_TRAIN, s->models[MODEL_TRAIN].outputs, s->models[MODEL_TRAIN].output_count));
  Status status = take_loss(s);
  s->reset_gradients = true;
  TRY(status);
  if (!isfinite(s->loss))
    return error_set(&s->error, STATUS_NON_FINITE_LOSS, NULL, "the loss of step %lld is %s; no parameter was changed",
                     (long long)s->steps + 1, isnan(s->loss) ? "NaN" : "infinite");
  return session_optimize(s);
}

Status trainlet_session_step(TrainletSession *s) {
  session_enter(s);
  return session_leave(s, step(s) == STATUS_OK);
}
