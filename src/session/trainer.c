/* Trainer: the training graph of a compact file in one shape, of which only what a step reads stays in memory.
 *
 *   dims, file ─▶ Graph without symbols ─▶ passes ─▶ plan ─▶ copies of nodes and values ─▶ step, step, step …
 *                 ╰──── in `temporary`, freed before ──╯
 *                       step's arena is taken
 */
#include <math.h>
#include <string.h>

#include "budget.h"
#include "compact/compact.h"
#include "graph/op.h"
#include "graph/work.h"
#include "ops/accumulator.h"
#include "passes/passes.h"
#include "program/loss.h"
#include "program/plan.h"
#include "state/state.h"
#include "trainlet.h"

struct TrainletTrainer {
  Arena arena;     /* the trainer itself, and what lasts as long */
  Arena temporary; /* holds the file that is read */
  Budget budget;
  Error error;
  struct FixedDim *dims; /* in `temporary` */
  int dim_count, dim_capacity;
  bool loaded, ready;
  uint8_t reset_flag; /* every step overwrites the gradients */
  float lr;
  Optimizer optimizer;
  State state;
  Rng rng;
  Program program;      /* made of copies: its values have VALUE_RUN_BYTES, its nodes NODE_RUN_BYTES */
  Value **named;        /* inputs and outputs, the loss first */
  const Value **labels; /* labels of each of the program's losses */
  int named_count;
  Block block; /* the step's arena, and behind it the inputs */
  double loss;
};

TrainletTrainer *trainlet_trainer_new(void) {
  Arena arena = {0};
  Budget budget = {0};
  Error error = {0};
  budget_enter(&budget, &error);
  TrainletTrainer *t = ARENA_NEW(&arena, TrainletTrainer);
  if (budget_leave(&budget, &error, t) != STATUS_OK) return arena_free(&arena), NULL;
  t->arena = arena;
  t->temporary.temporary = true;
  t->budget = budget;
  t->reset_flag = 1;
  return t;
}

void trainlet_trainer_free(TrainletTrainer *t) {
  if (!t) return;
  state_free(&t->state);
  block_free(&t->block);
  arena_free(&t->temporary);
  Arena arena = t->arena; /* t itself lies in it */
  arena_free(&arena);
}

const Error *trainlet_trainer_error(const TrainletTrainer *t) { return &t->error; }

static Status refuse(TrainletTrainer *t, const char *why) {
  return error_set(&t->error, STATUS_INVALID_ARGUMENT, NULL, "%s", why);
}

static Status out_of_memory(TrainletTrainer *t) { return error_memory(&t->error, "for the trainer"); }

static Status add_dim(TrainletTrainer *t, const char *name, int64_t size) {
  if (t->loaded) return refuse(t, "the file is loaded: its dims cannot be told any more");
  if (size < 0 || size > INT32_MAX)
    return error_set(&t->error, STATUS_INVALID_ARGUMENT, NULL, "the dim '%.100s' cannot be %lld", name,
                     (long long)size);
  for (int i = 0; i < t->dim_count; i++)
    if (strcmp(t->dims[i].name, name) == 0) return t->dims[i].size = size, STATUS_OK;
  const char *copy = arena_copy_text(&t->temporary, name);
  struct FixedDim *dims = arena_list_grow(&t->temporary, t->dims, t->dim_count, &t->dim_capacity, sizeof *dims);
  if (!copy || !dims) return out_of_memory(t);
  t->dims = dims;
  dims[t->dim_count++] = (struct FixedDim){copy, size, false};
  return STATUS_OK;
}

Status trainlet_trainer_dim(TrainletTrainer *t, const char *name, int64_t size) {
  budget_enter(&t->budget, &t->error);
  return budget_leave(&t->budget, &t->error, add_dim(t, name, size) == STATUS_OK);
}

/* ---- what stays of a graph ---- */

static bool is_flag(const Value *output) { return output->producer && op_is_accumulator(output->producer); }

static void want(bool *wanted, Value *const *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i]) wanted[values[i]->index] = true;
}

/* Marks, by their index, the values that steps read and write, and those that have names for the caller. */
static bool *find_wanted(TrainletTrainer *t, const Program *p) {
  const Graph *g = p->graph;
  bool *wanted = ARENA_ARRAY(&t->temporary, bool, g->value_count);
  if (!wanted) return NULL;
  for (int i = 0; i < p->step_count; i++) {
    want(wanted, p->steps[i]->in, p->steps[i]->in_count);
    want(wanted, p->steps[i]->out, p->steps[i]->out_count);
  }
  want(wanted, g->inputs, g->input_count);
  for (int i = 0; i < g->output_count; i++)
    if (!is_flag(g->outputs[i])) wanted[g->outputs[i]->index] = true;
  return wanted;
}

/* Copies a value into the block. Its `data` is an offset if its bytes lie in the arena. The value's `copy` points to
 * the copy. */
static void keep_value(Value *v, Value *copy) {
  const Value *root = value_root(v);
  memcpy(copy, v, VALUE_RUN_BYTES);
  copy->name = "";
  copy->kind = root->in_state ? VALUE_STATE : root->kind;
  copy->data = copy->kind == VALUE_NODE ? (void *)(uintptr_t)root->offset : root->data;
  v->copy = copy;
}

static char *keep_values(TrainletTrainer *t, const Program *p, int *count) {
  const bool *wanted = find_wanted(t, p);
  const Graph *g = p->graph;
  *count = 0;
  for (int i = 0; wanted && i < g->value_count; i++) *count += wanted[i];
  char *copies = arena_alloc_array(&t->arena, (size_t)*count, VALUE_RUN_BYTES), *at = copies;
  for (int i = 0; copies && wanted && i < g->value_count; i++)
    if (wanted[i]) keep_value(g->values[i], (Value *)(void *)at), at += VALUE_RUN_BYTES;
  return wanted ? copies : NULL;
}

static Value **keep_links(Value **from, int count, Value ***next) {
  Value **to = *next;
  for (int i = 0; i < count; i++) to[i] = from[i] ? from[i]->copy : NULL;
  *next += count;
  return to;
}

/* False when memory is out. */
static bool keep_text(TrainletTrainer *t, const char **to, const char *text) {
  return (*to = arena_copy_text(&t->arena, text)) != NULL;
}

static bool keep_attrs(TrainletTrainer *t, Node *copy) {
  Attr *attrs = ARENA_ARRAY(&t->arena, Attr, copy->attr_count);
  bool kept = attrs;
  for (int i = 0; kept && i < copy->attr_count; i++) {
    attrs[i] = copy->attrs[i];
    kept = keep_text(t, &attrs[i].name, attrs[i].name) &&
           (attrs[i].kind != ATTR_STRING || keep_text(t, &attrs[i].s, attrs[i].s));
  }
  copy->attrs = attrs;
  return kept;
}

static Node *keep_node(TrainletTrainer *t, const Node *n) {
  bool whole = n->op->flags & OP_ATTRIBUTES;
  size_t bytes = whole ? sizeof *n : NODE_RUN_BYTES;
  Node *copy = arena_alloc(&t->arena, bytes);
  if (!copy) return NULL;
  memcpy(copy, n, bytes);
  copy->name = "";
  copy->graph = t->program.graph;
  return !whole || keep_attrs(t, copy) ? copy : NULL;
}

static Status keep_steps(TrainletTrainer *t, const Program *p) {
  size_t links = 0;
  for (int i = 0; i < p->step_count; i++) links += (size_t)(p->steps[i]->in_count + p->steps[i]->out_count);
  t->program.steps = ARENA_ARRAY(&t->arena, Node *, p->step_count);
  Value **next = ARENA_ARRAY(&t->arena, Value *, links);
  if (!t->program.steps || !next) return out_of_memory(t);
  for (int i = 0; i < p->step_count; i++) {
    Node *copy = t->program.steps[i] = keep_node(t, p->steps[i]);
    if (!copy) return out_of_memory(t);
    copy->in = keep_links(copy->in, copy->in_count, &next);
    copy->out = keep_links(copy->out, copy->out_count, &next);
  }
  return STATUS_OK;
}

/* ---- names ---- */

static bool keep_named(TrainletTrainer *t, Value *v) {
  t->named[t->named_count++] = v->copy;
  return keep_text(t, &v->copy->name, v->name);
}

/* Keeps the names that the caller asks for and that error messages contain. */
static Status keep_names(TrainletTrainer *t, const Program *p) {
  const Graph *g = p->graph;
  t->named = ARENA_ARRAY(&t->arena, Value *, g->output_count + g->input_count);
  bool kept = t->named;
  for (int i = 0; kept && i < g->output_count; i++)
    if (!is_flag(g->outputs[i])) kept = keep_named(t, g->outputs[i]);
  for (int i = 0; kept && i < g->input_count; i++) kept = keep_named(t, g->inputs[i]);
  for (int i = 0; kept && i < t->state.count; i++)
    kept = keep_text(t, &t->state.parameters[i].name, t->state.parameters[i].name);
  return kept ? STATUS_OK : out_of_memory(t);
}

static Status keep_losses(TrainletTrainer *t, const Program *p) {
  Program *to = &t->program;
  to->loss_count = loss_list(p, NULL);
  to->losses = ARENA_ARRAY(&t->arena, const Node *, to->loss_count);
  t->labels = ARENA_ARRAY(&t->arena, const Value *, to->loss_count);
  if (!to->losses || !t->labels) return out_of_memory(t);
  for (int i = 0, found = 0; i < p->step_count; i++) {
    const Node *n = p->steps[i];
    if (!loss_compares(n)) continue;
    const Value *labels = loss_labels(n);
    t->labels[found] = labels->copy ? labels->copy : n->in[n->op->counted(n).labels]->copy;
    to->losses[found++] = to->steps[i];
    if (!keep_text(t, &to->steps[i]->name, n->name)) return out_of_memory(t);
  }
  return STATUS_OK;
}

/* ---- the block ---- */

/* The inputs lie behind the arena. */
static Status place_inputs(TrainletTrainer *t, const Program *p, size_t *bytes) {
  const Graph *g = p->graph;
  *bytes = p->arena_bytes;
  for (int i = 0; i < g->input_count; i++) {
    Value *v = g->inputs[i];
    size_t count, more;
    if (!shape_count(&v->shape, &count) || !size_multiply(count, dtype_bytes(v->type), &more) ||
        !size_add(more, 63, &more) || !size_add(*bytes, more & ~(size_t)63, &more) || more > PTRDIFF_MAX)
      return out_of_memory(t);
    v->data = (void *)(uintptr_t)*bytes;
    *bytes = more;
  }
  return STATUS_OK;
}

static Status take_block(TrainletTrainer *t, size_t bytes, Value *values, int count) {
  if (!block_reserve_zeroed(&t->block, bytes))
    return error_memory_bytes(&t->error, "a step and its inputs need", bytes);
  uintptr_t base = (uintptr_t)t->block.data;
  for (char *at = (char *)values; count > 0; count--, at += VALUE_RUN_BYTES) {
    Value *v = (Value *)(void *)at;
    if (v->kind == VALUE_NODE || v->kind == VALUE_INPUT) v->data = (void *)((uintptr_t)v->data + base);
  }
  for (int i = 0; i < t->program.step_count; i++) {
    Node *n = t->program.steps[i];
    n->scratch = (void *)(base + (n->scratch_bytes ? (uintptr_t)n->scratch : 0));
  }
  return STATUS_OK;
}

/* ---- loading ---- */

static Status check_file(TrainletTrainer *t, const Compact *c) {
  for (int i = 0; i < t->dim_count; i++)
    if (!t->dims[i].used)
      return error_set(&t->error, STATUS_INVALID_ARGUMENT, NULL, "no input of the model leaves a dim '%.100s' open",
                       t->dims[i].name);
  if (c->optimizer.kind == OPTIMIZER_NONE) return refuse(t, "the compact file has no optimizer: a trainer needs one");
  if (c->checkpoint.nominal) return refuse(t, "the compact file's checkpoint is nominal: a trainer needs its values");
  return optimizer_check_part(&c->optimizer, &t->error);
}

static Status join(TrainletTrainer *t, const Compact *c) {
  const Checkpoint *k = &c->checkpoint;
  t->optimizer = c->optimizer;
  t->lr = k->has_optimizer ? k->learning_rate : c->optimizer.lr;
  t->rng = (Rng){k->rng_seed, k->rng_step};
  TRY(state_create(&t->state, k, c->train, &t->optimizer, NULL, &t->arena, &t->error));
  TRY(state_add_gradients(&t->state, &t->error));
  TRY(state_bind_accumulators(&t->state, c->train, &t->reset_flag, &t->error));
  TRY(state_bind(&t->state, c->train, &t->error));
  for (int i = 0; i < t->state.count; i++)
    if (t->state.parameters[i].trainable != t->state.parameters[i].accumulated)
      return refuse(t, "the compact file's training graph is not made for what its checkpoint trains");
  return STATUS_OK;
}

static bool is_text(Value *const *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] && values[i]->type == DTYPE_STRING) return true;
  return false;
}

static Status check_node(const Node *n) {
  if (is_text(n->in, n->in_count) || is_text(n->out, n->out_count))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it reads or gives strings, a trainer computes with numbers only");
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && !shape_is_concrete(&n->out[i]->shape))
      return node_fail(n, STATUS_UNSUPPORTED_OP, "the shape of its output depends on computed values");
  return STATUS_OK;
}

static Status make_program(TrainletTrainer *t, Graph *g, Program *p) {
  double work = 0;
  TRY(passes_run(g, PASSES_ALL & ~(1u << PASS_accumulate)));
  for (int i = 0; i < g->node_count; i++) TRY(check_node(g->nodes[i]));
  TRY(plan(g, true, p));
  TRY(plan_check_work(p, WORK_DEFAULT, &work));
  if (p->yield) return refuse(t, "the training graph takes gradients from outside: a session runs it");
  if (!g->output_count || is_flag(g->outputs[0]) || g->outputs[0]->type != DTYPE_FLOAT32 ||
      shape_elements(&g->outputs[0]->shape) != 1)
    return refuse(t, "the training graph's first output is no loss");
  return STATUS_OK;
}

static Status keep(TrainletTrainer *t, const Program *p, Value **values, int *count, size_t *bytes) {
  TRY(place_inputs(t, p, bytes));
  Graph *graph = arena_alloc(&t->arena, GRAPH_RUN_BYTES);
  if (!graph) return out_of_memory(t);
  graph->error = &t->error;
  graph->rng = &t->rng;
  t->program = (Program){.graph = graph, .step_count = p->step_count, .yield_step = p->step_count, .kept = true};
  if (!(*values = (Value *)(void *)keep_values(t, p, count))) return out_of_memory(t);
  TRY(keep_steps(t, p));
  TRY(keep_names(t, p));
  TRY(keep_losses(t, p));
  return budget_missed() ? out_of_memory(t) : STATUS_OK;
}

static Status load(TrainletTrainer *t, const void *file, size_t bytes) {
  CompactFixed fixed = {t->dims, t->dim_count, &t->temporary};
  Compact c;
  Program p;
  Value *values;
  int count;
  size_t block_bytes;
  if (t->loaded) return refuse(t, "a trainer is made of one file");
  t->loaded = true;
  TRY(compact_read_fixed(file, bytes, &fixed, &t->arena, &t->error, &c));
  TRY(check_file(t, &c));
  TRY(join(t, &c));
  TRY(make_program(t, c.train, &p));
  TRY(keep(t, &p, &values, &count, &block_bytes));
  arena_free(&t->temporary);
  arena_trim(&t->arena);
  TRY(take_block(t, block_bytes, values, count));
  t->ready = true;
  return STATUS_OK;
}

Status trainlet_trainer_load(TrainletTrainer *t, const void *file, size_t bytes) {
  budget_enter(&t->budget, &t->error);
  Status status = load(t, file, bytes);
  arena_free(&t->temporary);
  return budget_leave(&t->budget, &t->error, status == STATUS_OK);
}

/* ---- afterwards ---- */

void *trainlet_trainer_data(TrainletTrainer *t, const char *name, size_t *bytes) {
  for (int i = 0; t->ready && i < t->named_count; i++)
    if (strcmp(t->named[i]->name, name) == 0) return *bytes = value_bytes(t->named[i]), t->named[i]->data;
  const Parameter *p = t->ready ? state_find(&t->state, name) : NULL;
  *bytes = p ? p->bytes : 0;
  return p ? p->data : NULL;
}

static Status run(TrainletTrainer *t) {
  TRY(plan_execute(&t->program, plan_all(&t->program), NULL));
  for (int i = 0; i < t->program.loss_count; i++) TRY(loss_check(t->program.losses[i], t->labels[i], &t->error));
  t->rng.step++;
  t->loss = *(const float *)t->named[0]->data;
  if (isfinite(t->loss)) return state_check_statistics(&t->state, &t->error);
  return error_set(&t->error, STATUS_NON_FINITE_LOSS, NULL, "the loss is %s; no parameter was changed",
                   isnan(t->loss) ? "NaN" : "infinite");
}

static Status step(TrainletTrainer *t) {
  double norm;
  if (!t->ready) return refuse(t, "the trainer has no file");
  state_keep_statistics(&t->state, UNDO_RUN);
  if (run(t) == STATUS_OK) return state_optimize(&t->state, &t->optimizer, t->lr, &norm, &t->error);
  state_restore_statistics(&t->state, UNDO_RUN);
  return t->error.status;
}

Status trainlet_trainer_step(TrainletTrainer *t) {
  budget_enter(&t->budget, &t->error);
  return budget_leave(&t->budget, &t->error, step(t) == STATUS_OK);
}

double trainlet_trainer_loss(const TrainletTrainer *t) { return t->loss; }
void trainlet_trainer_set_lr(TrainletTrainer *t, double lr) { t->lr = (float)lr; }
size_t trainlet_trainer_plan_bytes(const TrainletTrainer *t) { return t->state.total_bytes + t->block.capacity; }
