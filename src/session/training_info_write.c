/* Training info, written: a session's training in ONNX's terms: Gradient, an optimizer node for each parameter, the
 * state as initializers.
 *
 *   joined graph ─▶ loss ─▶ Gradient ─▶ <w>_grad ─▶ Adam | Momentum | Adagrad | PyTorchAdam | Sub ─▶ <w>_new
 *   update_binding: w ← <w>_new
 */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/optimizer/training_step.h"
#include "session/session.h"
#include "training_info/form.h"

Status session_check_training_info(TrainletSession *s) {
  const Optimizer *o = &s->optimizer;
  const Model *eval = &s->models[MODEL_EVAL];
  const Value *loss = eval->output_count ? eval->outputs[0] : NULL;
  if (!s->models[MODEL_TRAIN].graph || !s->has_optimizer)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info needs a session with a training model and an optimizer model");
  if (s->outside.yield || !loss || loss->type != DTYPE_FLOAT32 || loss->shape.rank > 1)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info needs an eval model whose first output is the loss");
  if (o->clip_norm > 0)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info cannot say that gradients are clipped (clipGradNorm %g)", (double)o->clip_norm);
  if (!training_has_form(o->kind))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "a training_info cannot say the optimizer %s",
                     optimizer_name(o->kind));
  bool wide = o->kind == OPTIMIZER_ADAM || o->kind == OPTIMIZER_ADAMW;
  if (wide && (!o->correct_bias || !o->first_step))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info can say %s only with its bias correction", optimizer_name(o->kind));
  if (o->clip_value > 0)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info cannot say that gradients are clipped (clipGradValue %g)", (double)o->clip_value);
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (p->trainable && (p->lr_scale != 1 || p->weight_decay != o->weight_decay))
      return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                       "a training_info cannot say that '%.200s' is of another group than other parameters", p->name);
    if (p->trainable && !(isinf(p->least) && isinf(p->most)))
      return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "a training_info cannot say that '%.200s' has bounds",
                       p->name);
    if (p->trainable && p->moment[0] && p->steps != s->steps)
      return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                       "a training_info has one count of steps, and '%.200s' has trained for %lld of %lld", p->name,
                       (long long)p->steps, (long long)s->steps);
  }
  return STATUS_OK;
}

/* ---- initializers and names ---- */

static Value *initializer(Graph *g, const char *stem, DType type, const Shape *shape, const void *data) {
  const char *name = stem ? graph_fresh_name(g, stem) : NULL;
  Value *v = name ? graph_constant(g, name, type, shape, data) : NULL;
  if (v) v->initializer = true;
  return v;
}

static Value *float_initializer(Graph *g, const char *stem, float x) {
  float *data = ARENA_NEW(g->arena, float);
  if (!data) return NULL;
  *data = x;
  return initializer(g, stem, DTYPE_FLOAT32, &(Shape){0}, data);
}

static Value *int_initializer(Graph *g, const char *stem, int64_t x) {
  int64_t *data = ARENA_NEW(g->arena, int64_t);
  if (!data) return NULL;
  *data = x;
  return initializer(g, stem, DTYPE_INT64, &(Shape){0}, data);
}

static const char *name_of(Graph *g, const char *parameter, const char *tail) {
  const char *stem = arena_print(g->arena, "%s_%s", parameter, tail);
  return stem ? graph_fresh_name(g, stem) : NULL;
}

static Node *append(Graph *g, const Op *op, Value *const *in, int in_count, const char *const *out, int out_count,
                    const Attr *attrs, int attr_count) {
  for (int i = 0; i < in_count; i++)
    if (!in[i]) return NULL;
  for (int i = 0; i < out_count; i++)
    if (!out[i]) return NULL;
  return graph_node(g, op, NULL, in, in_count, out, out_count, attrs, attr_count);
}

/* ---- the optimizer ---- */

typedef struct Writer {
  TrainletSession *s;
  Graph *g;
  OnnxTraining *t;
  Value *rate, *count; /* R and T */
} Writer;

static void bind(Writer *w, const Value *to, const Value *from) {
  w->t->updates[w->t->update_count++] = (OnnxBinding){to->name, from->name};
}

/* x − lr·g */
static Status write_sgd(Writer *w, const Parameter *p, Value *x, Value *gradient) {
  const char *step_name = name_of(w->g, p->name, "step"), *new_name = name_of(w->g, p->name, "new");
  Node *step = append(w->g, &op_mul, (Value *[]){w->rate, gradient}, 2, &step_name, 1, NULL, 0);
  Node *sub = step ? append(w->g, &op_sub, (Value *[]){x, step->out[0]}, 2, &new_name, 1, NULL, 0) : NULL;
  if (!sub) return STATUS_OUT_OF_MEMORY;
  bind(w, x, sub->out[0]);
  return STATUS_OK;
}

/* The parameter's k-th moment; zeros if the node keeps a state that the optimizer does not have. */
static Value *moment(Writer *w, const Parameter *p, int k) {
  const void *data = p->moment[k] ? p->moment[k] : arena_alloc(w->g->arena, p->bytes);
  return data ? initializer(w->g, arena_print(w->g->arena, "%s_momentum%d", p->name, k), DTYPE_FLOAT32, &p->shape, data)
              : NULL;
}

static Status write_step(Writer *w, const Parameter *p, Value *x, Value *gradient) {
  if (training_is_plain(&w->s->optimizer)) return write_sgd(w, p, x, gradient);
  Attr attrs[TRAINING_ATTRS_MAX];
  int attr_count;
  const Op *op = training_form_write(&w->s->optimizer, w->s->lr, attrs, &attr_count);
  int states = training_state_sorts(op);
  Value *in[6] = {w->rate, w->count, x, gradient, moment(w, p, 0), states > 1 ? moment(w, p, 1) : NULL};
  const char *out[3] = {name_of(w->g, p->name, "new"), name_of(w->g, p->name, "momentum0_new"),
                        name_of(w->g, p->name, "momentum1_new")};
  Attr *kept = ARENA_ARRAY(w->g->arena, Attr, attr_count);
  if (!kept) return STATUS_OUT_OF_MEMORY;
  memcpy(kept, attrs, (size_t)attr_count * sizeof *attrs);
  Node *n = append(w->g, op, in, 4 + states, out, 1 + states, kept, attr_count);
  if (!n) return STATUS_OUT_OF_MEMORY;
  bind(w, x, n->out[0]);
  for (int k = 0; k < states; k++) bind(w, in[4 + k], n->out[1 + k]);
  return STATUS_OK;
}

/* T is the count of the next step; always 0 if the bias correction is left out. */
static Status write_counter(Writer *w) {
  const Optimizer *o = &w->s->optimizer;
  bool counts = o->correct_bias || !optimizer_has(o->kind, SETTING_CORRECT_BIAS);
  if (!counts) return (w->count = int_initializer(w->g, "update_count", 0)) ? STATUS_OK : STATUS_OUT_OF_MEMORY;
  w->count = int_initializer(w->g, "update_count", w->s->steps + o->first_step);
  Value *one = int_initializer(w->g, "one_update", 1);
  const char *name = graph_fresh_name(w->g, "update_count_new");
  Node *add = append(w->g, &op_add, (Value *[]){w->count, one}, 2, &name, 1, NULL, 0);
  if (!add) return STATUS_OUT_OF_MEMORY;
  bind(w, w->count, add->out[0]);
  return STATUS_OK;
}

/* ---- the whole ---- */

/* In the graph, the gradients' values are inputs; the writer puts the Gradient node before their first reader. */
static Status write_gradient(Writer *w, Value *loss) {
  const State *state = &w->s->state;
  OnnxGradient *g = w->t->gradients = ARENA_NEW(w->g->arena, OnnxGradient);
  if (!g) return STATUS_OUT_OF_MEMORY;
  *g = (OnnxGradient){.node = "Gradient",
                      .y = loss,
                      .xs = ARENA_ARRAY(w->g->arena, Value *, state->count),
                      .outs = ARENA_ARRAY(w->g->arena, Value *, state->count)};
  w->t->gradient_count = 1;
  if (!g->xs || !g->outs) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < state->count; i++) {
    const Parameter *p = &state->parameters[i];
    if (!p->trainable) continue;
    Value *x = g->xs[g->count] = graph_find(w->g, p->name);
    if (!x)
      return error_set(&w->s->error, STATUS_INVALID_ARGUMENT, NULL,
                       "a training_info needs the loss of the eval model to depend on '%.200s'", p->name);
    const char *name = name_of(w->g, p->name, "grad");
    if (!name || !(g->outs[g->count++] = graph_value(w->g, name, DTYPE_FLOAT32, &p->shape, VALUE_INPUT)))
      return STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

static Status write_all(Writer *w, Value *loss) {
  int at = 0;
  TRY(graph_import(w->g, TRAINING_DOMAIN, 1));
  if (!(w->t->updates = ARENA_ARRAY(w->g->arena, OnnxBinding, 3 * w->s->state.count + 1))) return STATUS_OUT_OF_MEMORY;
  TRY(write_gradient(w, loss));
  w->rate = float_initializer(w->g, "learning_rate", w->s->lr);
  if (!training_is_plain(&w->s->optimizer)) TRY(write_counter(w));
  for (int i = 0; i < w->s->state.count; i++) {
    const Parameter *p = &w->s->state.parameters[i];
    if (!p->trainable) continue;
    TRY(write_step(w, p, w->t->gradients->xs[at], w->t->gradients->outs[at]));
    at++;
  }
  return STATUS_OK;
}

Status session_write_algorithm(TrainletSession *s, Value *loss, OnnxTraining *t) {
  Writer w = {.s = s, .g = t->graph, .t = t};
  if (t->graph->ir_version < 8) t->graph->ir_version = 8; /* functions */
  if (write_all(&w, loss) == STATUS_OK) return STATUS_OK;
  return error_memory(&s->error, "for the training_info"); /* the first error wins */
}
