/* Device: train runs that are planned here and computed elsewhere, as on a GPU (js/gpu). What the device needs to know
 * is told as JSON: the steps of the program, where the state lies, and the numbers of each run. */
#include <math.h>

#include "graph/bad_index.h"
#include "ops/index/index.h"
#include "ops/loss/cross_entropy.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "program/bad_index.h"
#include "session/session.h"

/* These serve the processor: they keep memory small, or make nodes for its kernels. */
enum {
  PASSES_HERE = 1u << PASS_attention | 1u << PASS_weight_only | 1u << PASS_recompute | 1u << PASS_pack,
};

/* ---- where a value lies ---- */

/* Written by the run, into the step arena. */
static bool is_in_arena(const Value *root) { return root->kind == VALUE_NODE && !root->in_state; }
/* Its contents are at hand before the run. */
static bool is_at_hand(const Value *v) { return !is_in_arena(value_root(v)) && value_root(v)->kind != VALUE_STATE; }

static int input_of(const Graph *g, const Value *root) {
  for (int i = 0; i < g->input_count; i++)
    if (g->inputs[i] == root) return i;
  return -1;
}

/* [type, place, address, dims…]: place 0 is the step arena, 1 this memory, 2 the input of that number. */
static void put_value(TextBuilder *p, const Graph *g, const Value *v) {
  if (!v) {
    text_put(p, "null");
    return;
  }
  const Value *root = value_root(v);
  int input = input_of(g, root);
  size_t at = input >= 0 ? (size_t)input : is_in_arena(root) ? root->offset : (size_t)(uintptr_t)root->data;
  text_print(p, "[%d,%d,%zu", (int)v->type, input >= 0 ? 2 : !is_in_arena(root), at);
  for (int i = 0; i < v->shape.rank; i++) text_print(p, ",%lld", (long long)v->shape.dim[i]);
  text_put(p, "]");
}

static void put_values(TextBuilder *p, const char *key, const Graph *g, Value *const *values, int count) {
  text_put(p, ","), text_key(p, key), text_put(p, "[");
  for (int i = 0; i < count; i++) text_put(p, i ? "," : ""), put_value(p, g, values[i]);
  text_put(p, "]");
}

static void put_attr(TextBuilder *p, const Attr *a) {
  text_key(p, a->name);
  if (a->kind == ATTR_FLOAT) text_float(p, (double)a->f);
  else if (a->kind == ATTR_INT) text_int(p, a->i);
  else if (a->kind == ATTR_STRING) text_string(p, a->s);
  else if (a->kind == ATTR_INTS || a->kind == ATTR_FLOATS) {
    text_put(p, "[");
    for (int i = 0; i < a->count; i++) {
      text_put(p, i ? "," : "");
      if (a->kind == ATTR_INTS) text_int(p, a->ints[i]);
      else text_float(p, (double)a->floats[i]);
    }
    text_put(p, "]");
  } else text_put(p, "null");
}

static void put_step(TextBuilder *p, const Node *n) {
  text_put(p, "{"), text_key(p, "op"), text_string(p, n->op->name);
  text_put(p, ","), text_key(p, "name"), text_string(p, n->name);
  put_values(p, "inputs", n->graph, n->in, n->in_count);
  put_values(p, "outputs", n->graph, n->out, n->out_count);
  text_put(p, ","), text_key(p, "attrs"), text_put(p, "{");
  for (int i = 0; i < n->attr_count; i++) text_put(p, i ? "," : ""), put_attr(p, &n->attrs[i]);
  text_put(p, "}}");
}

const char *trainlet_session_device_plan(TrainletSession *s) {
  const Program *program = s->on_device;
  TextBuilder p = session_begin_text(s);
  text_put(&p, "{"), text_key(&p, "arenaBytes"), text_print(&p, "%zu", program->arena_bytes);
  put_values(&p, "fetched", program->graph, program->fetched, s->fetched_count);
  text_put(&p, ","), text_key(&p, "steps"), text_put(&p, "[");
  for (int i = 0; i < program->step_count; i++) text_put(&p, i ? "," : ""), put_step(&p, program->steps[i]);
  text_put(&p, "]}");
  return session_end_text(s, &p);
}

/* ---- the state ---- */

static void put_range(TextBuilder *p, const void *data, size_t bytes) {
  if (data && bytes) text_print(p, "[%zu,%zu],", (size_t)(uintptr_t)data, bytes);
}

const char *trainlet_session_device_state(TrainletSession *s) {
  TextBuilder p = session_begin_text(s);
  text_put(&p, "[");
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *x = &s->state.parameters[i];
    put_range(&p, x->data, x->bytes);
    put_range(&p, x->grad, x->bytes);
    for (int k = 0; k < 2; k++) put_range(&p, x->moment[k], x->bytes);
  }
  text_put(&p, "null]");
  return session_end_text(s, &p);
}

/* ---- a run ---- */

static Status refuse(TrainletSession *s, const char *what) {
  return error_set(&s->error, STATUS_UNSUPPORTED_OP, NULL,
                   "backend 'webgpu' trains without %s: make the session with backend 'wasm'", what);
}

/* Parts of a step that only the processor does. */
static Status check_state(TrainletSession *s) {
  if (s->state.bases.data) return refuse(s, "anchors");
  if (s->state.averages.data && s->state.ema_decay > 0) return refuse(s, "averages of weights");
  if (s->optimizer.clip_value > 0) return refuse(s, "clipping by value");
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (p->trainable && (isfinite(p->least) || isfinite(p->most))) return refuse(s, "bounds of weights");
  }
  return STATUS_OK;
}

/* Labels and indices come from feeds, so they are looked at before the run, not in it. */
static Status check_feeds(TrainletSession *s, const Program *p) {
  for (int i = 0; i < p->loss_count; i++) {
    const Node *n = p->losses[i];
    bool counts = n->op->run == cross_entropy_run && is_at_hand(n->in[1]) && (!has_in(n, 2) || is_at_hand(n->in[2]));
    if (!counts) return node_fail(n, STATUS_UNSUPPORTED_OP, "backend 'webgpu' wants labels that are fed");
    cross_entropy_count(n);
  }
  for (int i = 0; i < p->step_count; i++) {
    const Node *n = p->steps[i];
    if (n->op != &op_gather || !is_at_hand(n->in[1])) continue;
    int64_t dim = n->in[0]->shape.dim[node_int(n, "axis", 0) + (node_int(n, "axis", 0) < 0 ? n->in[0]->shape.rank : 0)];
    for (size_t k = 0, count = in_count(n, 1); k < count; k++)
      if (index_wrap(index_at(n->in[1], k), dim) < 0) {
        index_note(n, 1, k, dim);
        break;
      }
  }
  TRY(bad_index_check(p));
  return loss_check_labels(p, &s->error);
}

/* Room for the outputs, to which the fetched values point from here on. */
static Status place_outputs(TrainletSession *s, const Request *r, Program *p) {
  size_t bytes = 0;
  for (int i = 0; i < r->fetch_count; i++) {
    if (p->fetched[i]->kind == VALUE_SEQUENCE) return refuse(s, "outputs that are sequences");
    bytes += (value_bytes(p->fetched[i]) + 15) & ~(size_t)15;
  }
  if (!block_reserve(&s->read_back, bytes)) return session_out_of_memory(s);
  TRY(session_begin_outputs(s, (size_t)r->fetch_count));
  char *at = s->read_back.data;
  for (int i = 0; i < r->fetch_count; i++) {
    Value *v = p->fetched[i];
    if (v->kind == VALUE_NODE && is_in_arena(value_root(v))) v->data = at;
    at += (value_bytes(v) + 15) & ~(size_t)15;
    session_take_tensor(s, v->name, v);
    LossCount c = session_loss_count(r, p, i);
    TrainletTensor *t = (TrainletTensor *)s->fetched.data + i;
    t->counted = c.weight, t->is_sum = c.sum;
  }
  return s->error.status;
}

static Status begin(TrainletSession *s, bool anew) {
  if (anew) {
    TRY(session_check_step(s));
    s->reset_gradients = true;
  }
  Model *m = session_model(s, TRAINLET_TRAIN);
  if (!m) return s->error.status;
  TRY(check_state(s));
  arena_free(&s->fetch_arena);
  Request r = session_request(s, TRAINLET_TRAIN, m->outputs, m->output_count);
  r.on_device = true;
  r.passes &= ~(unsigned)PASSES_HERE;
  s->fetched_count = 0;
  s->on_device = session_check_feeds(s, m) == STATUS_OK ? program_cache_find(&s->program_cache, &r, &s->error) : NULL;
  session_forget_feeds(m);
  if (!s->on_device) return session_out_of_memory(s); /* the first error wins */
  TRY(session_refuse_yield(s, s->on_device));
  TRY(check_feeds(s, s->on_device));
  if (s->reset_gradients) s->group_rng = s->rng;
  return place_outputs(s, &r, s->on_device);
}

static void put_update(TextBuilder *p, const Optimizer *shared, const StateRange *x, float lr) {
  Optimizer o = *shared;
  float numbers[OPTIMIZER_NUMBERS];
  o.weight_decay = x->weight_decay;
  optimizer_numbers(&o, x->steps + o.first_step, lr * x->lr_scale, numbers);
  text_print(p, "[%zu,%zu,%zu,%zu,%zu", (size_t)(uintptr_t)x->values, (size_t)(uintptr_t)x->gradients,
             (size_t)(uintptr_t)x->moment[0], (size_t)(uintptr_t)x->moment[1], x->count);
  for (int i = 0; i < OPTIMIZER_NUMBERS; i++) text_put(p, ","), text_float(p, (double)numbers[i]);
  text_put(p, "]");
}

const char *trainlet_session_device_begin(TrainletSession *s, bool anew) {
  session_enter(s);
  Status status = begin(s, anew);
  if (session_leave(s, status == STATUS_OK) != STATUS_OK) return NULL;
  const Program *program = s->on_device;
  TextBuilder p = session_begin_text(s);
  text_put(&p, "{"), text_field(&p, "program", program->number);
  text_field(&p, "overwrites", s->reset_gradients);
  text_field(&p, "gradients", (int64_t)(uintptr_t)s->state.gradients.data);
  text_field(&p, "gradientCount", (int64_t)s->state.gradient_count);
  text_put(&p, ","), text_key(&p, "optimizer"), text_string(&p, optimizer_name(s->optimizer.kind));
  text_put(&p, ","), text_key(&p, "clip"), text_float(&p, (double)s->optimizer.clip_norm);
  text_put(&p, ","), text_key(&p, "inputs"), text_put(&p, "[");
  for (int i = 0; i < program->graph->input_count; i++) {
    const Value *v = program->graph->inputs[i];
    text_print(&p, "%s[%zu,%zu]", i ? "," : "", (size_t)(uintptr_t)v->data, value_bytes(v));
  }
  text_put(&p, "],"), text_key(&p, "outputs"), text_put(&p, "[");
  for (int i = 0; i < s->fetched_count; i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    text_print(&p, "%s[%zu,", i ? "," : "", (size_t)(uintptr_t)t->data), text_string(&p, t->name), text_put(&p, "]");
  }
  text_put(&p, "],"), text_key(&p, "updates"), text_put(&p, "[");
  StateRange x;
  for (int i = 0, first = 1; s->has_optimizer && (i = state_next_range(&s->state, i, &x)); first = 0)
    text_put(&p, first ? "" : ","), put_update(&p, &s->optimizer, &x, s->lr);
  text_put(&p, "]}");
  return session_end_text(s, &p);
}

static Status end(TrainletSession *s, bool optimize, double norm_squared) {
  const TrainletTensor *loss = trainlet_session_output(s, 0);
  if (loss && loss->type == DTYPE_FLOAT32 && loss->count == 1) s->loss = *(const float *)loss->data;
  s->rng.step++;
  s->reset_gradients = optimize;
  if (!optimize) return STATUS_OK;
  if (!isfinite(s->loss))
    return error_set(&s->error, STATUS_NON_FINITE_LOSS, NULL, "the loss of step %lld is %s; no parameter was changed",
                     (long long)s->steps + 1, isnan(s->loss) ? "NaN" : "infinite");
  if (!isfinite(norm_squared))
    return error_set(&s->error, STATUS_NON_FINITE_LOSS, NULL, "a gradient is not finite; no parameter was changed");
  for (int i = 0; i < s->state.count; i++) s->state.parameters[i].steps += s->state.parameters[i].trainable;
  s->gradient_norm = sqrt(norm_squared);
  s->steps++;
  s->outside.changes++;
  return STATUS_OK;
}

Status trainlet_session_device_end(TrainletSession *s, bool optimize, double norm_squared) {
  session_enter(s);
  return session_leave(s, end(s, optimize, norm_squared) == STATUS_OK);
}
