/* Mode: parameters become inputs, and the two operators that behave differently in training are switched. */
#include "train/mode.h"

#include <string.h>

#include "graph/notes.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

bool mode_is_statistic(const Node *n, int i) {
  return i > 2 && (n->op == &op_batch_normalization || n->op == &op_batch_norm_internal);
}

void mode_mark_statistics(Graph *m) {
  for (int i = 0; i < m->value_count; i++) m->values[i]->statistic = false;
  for (int i = 0; i < m->node_count; i++)
    for (int k = 0; k < m->nodes[i]->in_count; k++)
      if (m->nodes[i]->in[k] && mode_is_statistic(m->nodes[i], k)) m->nodes[i]->in[k]->statistic = true;
}

static bool trains(const Node *n) {
  if (n->op == &op_batch_normalization) return n->in_training || batch_norm_trains(n);
  const Value *on = n->op == &op_dropout && n->in_count > 2 ? n->in[2] : NULL;
  return on && on->kind == VALUE_CONSTANT && *(const uint8_t *)on->data;
}

Status mode_note_eval(Graph *m) {
  bool any = false;
  for (int i = 0; i < m->node_count; i++) any |= trains(m->nodes[i]);
  for (int i = 0; any && i < m->node_count; i++) {
    const Node *n = m->nodes[i];
    if (n->op == &op_batch_normalization && !trains(n)) TRY(notes_add(m, EVAL_KEY, n->out[0]->name, ""));
  }
  return STATUS_OK;
}

/* Copies the attributes of n but the named one. */
static AttrList attrs_without(const Node *n, const char *name) {
  AttrList list = {.items = ARENA_ARRAY(n->graph->arena, Attr, n->attr_count)};
  for (int i = 0; list.items && i < n->attr_count; i++)
    if (strcmp(n->attrs[i].name, name) != 0) ((Attr *)list.items)[list.count++] = n->attrs[i];
  return list;
}

static Status copy_node(Graph *to, Node *n, const Op *op, AttrList attrs, Value *const *in, int in_count, int out_count,
                        int kept_outs) {
  const char **names = ARENA_ARRAY(to->arena, const char *, out_count);
  if (!names) return error_set(to->error, STATUS_OUT_OF_MEMORY, n->name, "out of memory for %s", op->name);
  for (int i = 0; i < kept_outs; i++) names[i] = n->out[i] ? n->out[i]->name : "";
  Node *copy = graph_node(to, op, n->name, in, in_count, names, out_count, attrs.items, attrs.count);
  for (int i = 0; copy && i < kept_outs; i++)
    if (n->out[i]) n->out[i]->copy = copy->out[i];
  return to->error->status;
}

/* BatchNormInternal: Y, running mean and variance (updated in place), saved mean, saved inverse standard deviation. */
static Status copy_batch_norm(Graph *to, Node *n, Value *const *in, bool training) {
  for (int i = 1; i < n->out_count; i++)
    if (n->out[i] && n->out[i]->fetched)
      return node_fail(n, STATUS_UNSUPPORTED_OP, "output %d is an output of the model, only Y can be", i);
  AttrList attrs = attrs_without(n, "training_mode");
  return copy_node(to, n, training ? &op_batch_norm_internal : &op_batch_normalization, attrs, in, 5, training ? 5 : 1,
                   1);
}

/* Inputs x, ratio, training_mode; the last is absent in inference. */
static Status copy_dropout(Graph *to, Node *n, Value *const *in, bool training) {
  static const uint8_t on = 1;
  Value *ratio = n->in_count > 1 && in[1] ? in[1] : emit_float(to, 0.5f);
  Value *three[3] = {in[0], ratio, NULL};
  if (training) three[2] = graph_constant(to, graph_fresh_name(to, "training_mode"), DTYPE_BOOL, &(Shape){0}, &on);
  return copy_node(to, n, n->op, (AttrList){n->attrs, n->attr_count}, three, training ? 3 : 2, n->out_count,
                   n->out_count);
}

static Status copy_in_mode(Graph *to, Node *n, bool training) {
  Value **in = ARENA_ARRAY(to->arena, Value *, n->in_count);
  if (!in) return error_set(to->error, STATUS_OUT_OF_MEMORY, n->name, "out of memory for the training graph");
  for (int i = 0; i < n->in_count; i++) {
    in[i] = n->in[i] ? n->in[i]->copy : NULL;
    bool passes = n->op == &op_cast || n->op == &op_identity;
    if (passes && !in[i]) return STATUS_OK; /* a BatchNormalization does not give these statistics */
  }
  if (n->op == &op_batch_normalization) return copy_batch_norm(to, n, in, training);
  if (n->op == &op_dropout) return copy_dropout(to, n, in, training);
  return copy_node(to, n, n->op, (AttrList){n->attrs, n->attr_count}, in, n->in_count, n->out_count, n->out_count);
}

bool mode_is_parameter(const Value *v) {
  return v->kind == VALUE_CONSTANT && v->initializer && !v->shape_constant &&
         (v->type == DTYPE_FLOAT32 || v->quantized) && shape_elements(&v->shape) > 0;
}

Graph *mode_copy(Graph *m, const bool *eval_mode, Arena *arena, Error *error) {
  Graph *to = graph_new_like(m, arena, error);
  if (!to) return NULL;
  for (int i = 0; i < m->output_count; i++) m->outputs[i]->fetched = true;
  for (int i = 0; i < m->input_count; i++) {
    Value *v = m->inputs[i];
    v->copy = graph_value(to, v->name, v->type, &v->shape, VALUE_INPUT);
    if (!v->copy || graph_add_input(to, v->copy) != STATUS_OK) return NULL;
  }
  for (int i = 0; i < m->value_count; i++) {
    Value *v = m->values[i];
    if (v->kind != VALUE_CONSTANT) continue;
    v->copy = mode_is_parameter(v) ? graph_value(to, v->name, v->type, &v->shape, VALUE_STATE)
                                   : graph_constant(to, v->name, v->type, &v->shape, v->data);
    if (!v->copy) return NULL;
  }
  for (int i = 0; i < m->node_count; i++) {
    to->module = m->nodes[i]->module;
    if (copy_in_mode(to, m->nodes[i], eval_mode && !eval_mode[i]) != STATUS_OK) return NULL;
  }
  to->module = NULL;
  to->origin = NULL;
  return to;
}
