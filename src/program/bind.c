/* Bind: lets graphs read parameters and write gradients where the state has them. */
#include "ops/accumulator.h"
#include "state/state.h"
#include "train/gradients.h"

static Status bind_value(Value *v, const Parameter *p, void *data, Error *error) {
  char wanted[SHAPE_TEXT], came[SHAPE_TEXT];
  if (v->type != p->type || !shape_equal(&v->shape, &p->shape))
    return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "parameter '%.100s' is %s %s in the model and %s %s in the checkpoint", p->name,
                     dtype_name(v->type), shape_print(&v->shape, wanted), dtype_name(p->type),
                     shape_print(&p->shape, came));
  v->kind = VALUE_STATE;
  v->data = data;
  return STATUS_OK;
}

Parameter *state_accumulated(const State *s, const Node *accumulator, Arena *arena) {
  const char *name = gradients_owner(accumulator->in[0]->name, GRADIENT_BUFFER, arena);
  return name ? state_find(s, name) : NULL;
}

/* The flag is an input of the model with one element; many accumulators share it. */
static Status bind_reset_flag(Node *n, uint8_t *reset_flag, Error *error) {
  Value *flag = has_in(n, 2) ? n->in[2] : NULL;
  size_t count;
  if (!flag || (flag->kind != VALUE_INPUT && flag->data != reset_flag) || !shape_count(&flag->shape, &count) ||
      count != 1)
    return error_set(error, STATUS_INVALID_MODEL, n->name,
                     "InPlaceAccumulatorV2 '%.128s': input 2 must be one flag among the model's inputs", n->name);
  flag->kind = VALUE_STATE;
  flag->data = reset_flag;
  return STATUS_OK;
}

Status state_bind_accumulators(State *s, Graph *g, uint8_t *reset_flag, Error *error) {
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (!op_is_accumulator(n)) continue;
    if (n->in[0]->kind != VALUE_INPUT || !has_out(n, 0))
      return error_set(
          error, STATUS_INVALID_MODEL, n->name,
          "InPlaceAccumulatorV2 '%.128s': its buffer must be an input of the model for it alone, and its output named",
          n->name);
    Parameter *p = state_accumulated(s, n, g->frame);
    if (!p || p->type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, n->name,
                       "the checkpoint is of another model: it has no parameter '%.200s', or none of type float32",
                       n->in[0]->name);
    TRY(bind_value(n->in[0], p, p->grad, error));
    p->accumulated = true;
    TRY(bind_reset_flag(n, reset_flag, error));
  }
  return STATUS_OK;
}

void state_point_accumulators(const State *s, Graph *g) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    const Parameter *p = op_is_accumulator(n) ? state_accumulated(s, n, g->frame) : NULL;
    if (p) n->in[0]->data = p->grad;
  }
}

Status state_bind(State *s, Graph *g, Error *error) {
  int kept = 0;
  for (int i = 0; i < g->input_count; i++) {
    Value *v = g->inputs[i];
    Parameter *p = v->kind == VALUE_INPUT ? state_find(s, v->name) : NULL;
    if (p) TRY(bind_value(v, p, p->data, error));
    if (v->kind == VALUE_INPUT) g->inputs[kept++] = v;
  }
  g->input_count = kept;
  state_mark_fixed(s, g);
  return STATUS_OK;
}

void state_mark_fixed(const State *s, Graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    const Parameter *p = g->values[i]->kind == VALUE_STATE ? state_find(s, g->values[i]->name) : NULL;
    if (p) g->values[i]->fixed = !p->trainable && !p->updated;
  }
}
