/* Training optimizer: follows each update binding back to the node that makes the new value, and compares the settings
 * of all. */
#include "training_info/optimizer.h"

#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/optimizer/training_step.h"
#include "training_info/form.h"

typedef struct Reading {
  const OnnxTraining *from;
  Error *error;
  bool *understood; /* indexed by update binding */
} Reading;

/* The update of one parameter. */
typedef struct Step {
  const Node *node;
  Optimizer optimizer;
  int64_t steps;
} Step;

static bool is_op(const Node *n, const Op *op) { return n && n->op == op; }
static bool is_initializer(const Value *v) { return v->kind == VALUE_CONSTANT && v->initializer; }
static bool is_number(const Value *v, DType type) {
  return v->kind == VALUE_CONSTANT && v->type == type && shape_elements(&v->shape) == 1;
}

static Status refuse(Reading *r, const Node *n, const char *what, const char *name, const char *wanted) {
  return error_set(r->error, STATUS_UNSUPPORTED_OP, n->name, "the training_info's %.48s '%.96s': %s '%.64s' %s",
                   n->op->name, n->name, what, name, wanted);
}

/* The value that the initializer takes after a step; NULL: it stays as it is. */
static Value *update_of(Reading *r, const Value *v) {
  for (int i = 0; i < r->from->update_count; i++) {
    if (strcmp(r->from->updates[i].to, v->name) != 0) continue;
    r->understood[i] = true;
    return graph_find(r->from->graph, r->from->updates[i].from);
  }
  return NULL;
}

/* ---- settings ---- */

static Status read_rate(Reading *r, const Node *n, const Value *rate, float *lr) {
  if (!is_number(rate, DTYPE_FLOAT32) || update_of(r, rate))
    return refuse(
        r, n, "its learning rate", rate->name,
        "must be one float32 number that stays the same; an optimizer among the options takes this one's place");
  *lr = *(const float *)rate->data;
  return STATUS_OK;
}

static bool is_updated(const Reading *r, const Value *v) {
  for (int i = 0; i < r->from->update_count; i++)
    if (strcmp(r->from->updates[i].to, v->name) == 0) return true;
  return false;
}

/* v = t + 1, in either order */
static bool is_raised(const Reading *r, const Value *v, const Value *t) {
  const Node *n = v->producer;
  const Value *one = !is_op(n, &op_add) ? NULL : n->in[0] == t ? n->in[1] : n->in[1] == t ? n->in[0] : NULL;
  return one && is_number(one, DTYPE_INT64) && *(const int64_t *)one->data == 1 && !is_updated(r, one);
}

/* T of the next step; −1 if it stays 0. An initializer is raised by one in each step: T is its value before or after
 * that.
 */
static Status read_counter(Reading *r, const Node *n, Value *t, int64_t *next) {
  const Node *add = is_op(t->producer, &op_add) ? t->producer : NULL;
  const Value *kept = !add ? t : is_updated(r, add->in[0]) ? add->in[0] : add->in[1];
  bool good = is_initializer(kept) && is_number(kept, DTYPE_INT64) && (!add || is_raised(r, t, kept));
  int64_t value = good ? *(const int64_t *)kept->data : -1;
  const Value *after = good ? update_of(r, kept) : NULL;
  if (good && !add && !after && value == 0) return *next = -1, STATUS_OK;
  if (!after || !is_raised(r, after, kept) || value < 0 || value == INT64_MAX)
    return refuse(r, n, "its update count", t->name,
                  "must be an int64 initializer that an update_binding raises by Add(T, 1), or 0 for good");
  *next = value + (add != NULL);
  return STATUS_OK;
}

static Status read_settings(Reading *r, const Node *n, Step *s) {
  float lr;
  int64_t next;
  Optimizer *o = &s->optimizer;
  TRY(read_rate(r, n, n->in[0], &lr));
  TRY(read_counter(r, n, n->in[1], &next));
  if (!training_form_read(n, lr, o))
    return refuse(r, n, "it decays", n->in[2]->name, "as part of the gradient and by itself, we do either");
  o->lr = lr;
  if (is_op(n, &op_py_torch_adam) && next < 1)
    return refuse(r, n, "its update count", n->in[1]->name, "must begin with 1");
  if (next < 0) o->correct_bias = false, o->dampening = 0, o->lr_decay = 0, next = 0; /* ONNX's rule where T is 0 */
  if (next < o->first_step) o->first_step = 0;
  s->steps = next - o->first_step;
  if (optimizer_in_range(o)) return STATUS_OK;
  return refuse(r, n, "one of its settings or its learning rate", n->in[0]->name,
                "is out of the range that an optimizer has");
}

/* ---- parameters ---- */

static Status not_understood(Reading *r, const Value *x, const Value *next) {
  const Node *n = next->producer;
  return error_set(r->error, STATUS_UNSUPPORTED_OP, n ? n->name : NULL,
                   "the training_info updates '%.64s' by %.48s '%.96s': wanted "
                   "Adam, Adagrad or Momentum of the loss's gradient, or Sub(x, Mul(learning rate, gradient))",
                   x->name, n ? n->op->name : "the value", n ? n->name : next->name);
}

/* x − lr·g */
static Status read_sgd(Reading *r, TrainedParameter *p, const Value *next, Step *s) {
  const Node *sub = next->producer, *mul = is_op(sub, &op_sub) && sub->in[0] == p->value ? sub->in[1]->producer : NULL;
  int rate = is_op(mul, &op_mul) && mul->in[0] == p->gradient;
  if (!is_op(mul, &op_mul) || mul->in[!rate] != p->gradient) return not_understood(r, p->value, next);
  *s = (Step){.node = sub, .optimizer = optimizer_default(OPTIMIZER_SGD)};
  TRY(read_rate(r, mul, mul->in[rate], &s->optimizer.lr));
  if (optimizer_in_range(&s->optimizer)) return STATUS_OK;
  return refuse(r, mul, "its learning rate", mul->in[rate]->name, "must be at least 0");
}

static Status read_states(Reading *r, const Step *s, int tensor, TrainedParameter *p) {
  const Node *n = s->node;
  int sorts = training_state_sorts(n->op), tensors = training_step_tensors(n, sorts);
  for (int k = 0; k < sorts; k++) {
    Value *state = n->in[2 + (2 + k) * tensors + tensor];
    const Value *next = is_initializer(state) ? update_of(r, state) : NULL;
    int out = (1 + k) * tensors + tensor;
    if (!next || !has_out(n, out) || next != n->out[out])
      return refuse(r, n, "its state", state->name,
                    "must be an initializer that takes the node's new state after each step");
    if (k < optimizer_moment_count(&s->optimizer)) p->moment[k] = state;
  }
  return STATUS_OK;
}

static Status read_step(Reading *r, TrainedParameter *p, Step *s) {
  const Value *next = update_of(r, p->value);
  const Node *n = next->producer;
  int sorts = n ? training_state_sorts(n->op) : 0;
  if (!sorts) return read_sgd(r, p, next, s);
  int tensors = training_step_tensors(n, sorts), tensor = 0;
  while (tensor < tensors && n->in[2 + tensor] != p->value) tensor++;
  if (tensor == tensors || !has_out(n, tensor) || n->out[tensor] != next || n->in[2 + tensors + tensor] != p->gradient)
    return not_understood(r, p->value, next);
  *s = (Step){.node = n};
  TRY(read_settings(r, n, s));
  return read_states(r, s, tensor, p);
}

static bool same(const Step *a, const Step *b) {
  return a->steps == b->steps && optimizer_same(&a->optimizer, &b->optimizer);
}

/* ---- what else is updated ---- */

/* Running statistics, which every train step of ours updates, and counters that nobody reads. */
static bool is_harmless(const Reading *r, const Value *to, const Value *from) {
  const Node *n = from->producer;
  for (int k = 1; is_op(n, &op_batch_normalization) && k < 3; k++)
    if (has_out(n, k) && n->out[k] == from && n->in[2 + k] == to) return true;
  return is_number(to, DTYPE_INT64) && is_raised(r, from, to);
}

static Status check_rest(Reading *r) {
  for (int i = 0; i < r->from->update_count; i++) {
    const Value *to = graph_find(r->from->graph, r->from->updates[i].to),
                *from = graph_find(r->from->graph, r->from->updates[i].from);
    if (!r->understood[i] && !is_harmless(r, to, from)) return not_understood(r, to, from);
  }
  return STATUS_OK;
}

Status training_optimizer_read(const OnnxTraining *t, TrainingInfo *info, Arena *arena, Error *error) {
  Reading r = {t, error, ARENA_ARRAY(arena, bool, t->update_count)};
  Step first = {0}, s;
  if (!r.understood) return error_memory(error, "for the algorithm");
  for (int i = 0; i < info->parameter_count; i++) {
    TRY(read_step(&r, &info->parameters[i], &s));
    if (!i) first = s;
    if (!same(&first, &s))
      return error_set(error, STATUS_UNSUPPORTED_OP, s.node->name,
                       "the training_info's %.48s '%.96s' has other settings than '%.96s', we train by one optimizer",
                       s.node->op->name, s.node->name, first.node->name);
  }
  info->optimizer = first.optimizer;
  info->steps = first.steps;
  return check_rest(&r);
}
