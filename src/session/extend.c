/* Extends an output: writes the session's files with more classes in one of its outputs. The old classes keep their
 * weights, state and places, so that their scores do not change.
 *
 *   features (N, F) ─▶ Gemm, or MatMul ─▶ Add ─▶ scores (N, C)        W (C, F) or (F, C), b (C)
 *                                         scores (N, C + new)
 */
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"
#include "onnx/onnx.h"
#include "ops/accumulator.h"
#include "ops/ops.h"
#include "passes/rewrite.h"
#include "session/session.h"
#include "model/head.h"

/* The layer that computes an output. */
typedef struct Layer {
  const Value *features, *weight, *bias; /* no bias: NULL */
  int axis;                              /* the weight's axis of classes */
  Dim classes;
} Layer;

typedef struct Extension {
  Layer layer;
  int count;                     /* number of new classes */
  const float *weights, *biases; /* theirs: (count, F), (count) */
  const char *names;             /* names of all classes, as JSON */
} Extension;

/* ---- the layer ---- */

static bool is_parameter(const Value *v, int rank) {
  return v && v->kind == VALUE_STATE && v->type == DTYPE_FLOAT32 && v->shape.rank >= 1 &&
         (!rank || v->shape.rank == rank);
}

static bool has_product(const Node *n, Layer *l) {
  bool gemm = n->op == &op_gemm;
  if (!gemm && n->op != &op_mat_mul) return false;
  if (gemm && (node_int(n, "transA", 0) || node_float(n, "alpha", 1) != 1 || node_float(n, "beta", 1) != 1))
    return false;
  l->features = n->in[0];
  l->weight = n->in[1];
  l->axis = gemm && node_int(n, "transB", 0) ? 0 : 1;
  if (gemm && has_in(n, 2)) l->bias = n->in[2];
  return is_parameter(l->weight, 2);
}

static bool find_product(const Value *v, Layer *l) {
  const Node *n = v->producer;
  if (!n) return false;
  if (n->op != &op_add) return has_product(n, l);
  for (int i = 0; i < 2; i++)
    if (is_parameter(n->in[i], 0) && n->in[1 - i]->producer && n->in[1 - i]->producer->op == &op_mat_mul)
      return l->bias = n->in[i], has_product(n->in[1 - i]->producer, l);
  return false;
}

static bool is_read_once(const Graph *g, const Value *v) {
  int readers = 0;
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++) readers += g->nodes[i]->in[k] == v;
  return readers == 1;
}

static Status find_layer(TrainletSession *s, const char *output, Layer *l) {
  Model *m = session_model(s, TRAINLET_EVAL);
  if (!m) return s->error.status;
  const Value *v = graph_find(m->graph, output);
  if (!v || v->kind != VALUE_NODE)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "extendOutput: the model has no output '%.200s'",
                     output);
  if (!find_product(v, l))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, v->producer->name,
                     "extendOutput: '%.128s' is computed by %s '%.128s': wanted a Gemm, or a MatMul with an Add, whose "
                     "weight is a parameter",
                     output, v->producer->op->name, v->producer->name);
  l->classes = l->weight->shape.dim[l->axis];
  size_t biases = l->bias ? shape_elements(&l->bias->shape) : (size_t)l->classes;
  if (biases != (size_t)l->classes || (l->bias && l->bias->shape.dim[l->bias->shape.rank - 1] != l->classes))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, v->producer->name,
                     "extendOutput: '%.128s' has %d classes, and its bias '%.128s' is not one number for each", output,
                     (int)l->classes, l->bias->name);
  if (!is_read_once(m->graph, l->weight) || (l->bias && !is_read_once(m->graph, l->bias)))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, v->producer->name,
                     "extendOutput: another node than '%.128s' reads its weight or bias too, and would have more "
                     "classes as well",
                     v->producer->name);
  return STATUS_OK;
}

const char *trainlet_session_output_layer(TrainletSession *s, const char *output) {
  TextBuilder p = session_begin_text(s);
  Layer l = {0};
  if (find_layer(s, output, &l) == STATUS_OK) {
    text_put(&p, "{"), text_key(&p, "features"), text_string(&p, l.features->name);
    text_put(&p, ","), text_key(&p, "weight"), text_string(&p, l.weight->name);
    if (l.bias) text_put(&p, ","), text_key(&p, "bias"), text_string(&p, l.bias->name);
    text_field(&p, "classes", l.classes), text_field(&p, "axis", l.axis), text_put(&p, "}");
  }
  return session_end_text(s, &p);
}

/* ---- the graphs ---- */

/* The axis of the classes in the tensor of that name; -1: none. */
static int class_axis(const Layer *l, const char *name) {
  if (strcmp(name, l->weight->name) == 0) return l->axis;
  return l->bias && strcmp(name, l->bias->name) == 0 ? l->bias->shape.rank - 1 : -1;
}

/* Shapes of a graph that have the classes in a dim. */
typedef struct Shapes {
  Dim **dims;
  int count;
} Shapes;

static void take_shape(const Extension *e, const char *name, Value *v, Shapes *s) {
  int axis = class_axis(&e->layer, name);
  if (axis >= 0 && v->kind == VALUE_STATE) s->dims[s->count++] = &v->shape.dim[axis];
}

/* Finds the shapes of the parameters and of their accumulated gradients. */
static Status find_shapes(TrainletSession *s, const Extension *e, Graph *g, Arena *arena, Shapes *found) {
  found->dims = ARENA_ARRAY(arena, Dim *, g->value_count);
  if (!found->dims) return session_out_of_memory(s);
  for (int i = 0; i < g->value_count; i++) take_shape(e, g->values[i]->name, g->values[i], found);
  for (int i = 0; i < g->node_count; i++) {
    const Parameter *p = op_is_accumulator(g->nodes[i]) ? state_accumulated(&s->state, g->nodes[i], arena) : NULL;
    if (p) take_shape(e, p->name, g->nodes[i]->in[0], found);
  }
  return arena->failed ? session_out_of_memory(s) : STATUS_OK;
}

/* Parameters, gradients and flags are inputs again, as in the file from which the graph was read. */
static Status put_inputs(Graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    if (v->kind != VALUE_STATE) continue;
    v->kind = VALUE_INPUT;
    v->data = NULL;
    TRY(graph_add_input(g, v));
  }
  return STATUS_OK;
}

static Status set_names(const Extension *e, Graph *g) {
  if (*e->names) TRY(graph_set_metadata(g, CLASSES_KEY, e->names));
  return graph_metadata(g, CALIBRATION_KEY) ? graph_set_metadata(g, CALIBRATION_KEY, "") : STATUS_OK;
}

/* All that the graph computes and reads, inferred anew. */
static Graph *clone_all(Graph *g, Arena *arena, Error *error) {
  int count = g->output_count;
  Value **wanted = ARENA_ARRAY(arena, Value *, g->output_count + g->value_count);
  if (!wanted) return NULL;
  for (int i = 0; i < count; i++) wanted[i] = g->outputs[i];
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_INPUT || g->values[i]->kind == VALUE_STATE) wanted[count++] = g->values[i];
  Graph *clone = graph_clone(g, arena, error, NULL, wanted, count);
  if (clone) clone->output_count = g->output_count;
  return clone;
}

static Status write_wider(TrainletSession *s, const Extension *e, Model *m, Arena *arena) {
  Graph *g = m == &s->models[MODEL_TRAIN] ? s->loaded : m->graph;
  Shapes shapes = {0};
  TRY(find_shapes(s, e, g, arena, &shapes));
  for (int i = 0; i < shapes.count; i++) *shapes.dims[i] += e->count;
  Graph *wider = clone_all(g, arena, &s->error);
  for (int i = 0; i < shapes.count; i++) *shapes.dims[i] -= e->count;
  if (!wider) {
    Error why = s->error;
    if (why.status == STATUS_OK || why.status == STATUS_OUT_OF_MEMORY) return session_out_of_memory(s);
    error_clear(&s->error);
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, why.node,
                     "extendOutput: what reads the output does not take %d classes: %.400s",
                     (int)(e->layer.classes + e->count), why.text);
  }
  if (m->has_gradients) rewrite_drop_dead(wider); /* nodes that only gradients towards inputs read */
  TRY(put_inputs(wider));
  TRY(set_names(e, wider));
  return onnx_write(wider, false, &s->result, &s->result_bytes);
}

/* ---- the checkpoint ---- */

/* (rows, C, inner) becomes (rows, C + count, inner); NULL: what is new is zero. */
static Status widen_tensor(const Extension *e, CheckpointTensor *t, bool zeros, Arena *arena) {
  int axis = class_axis(&e->layer, t->name);
  if (axis < 0) return STATUS_OK;
  size_t inner = 1, rows = 1, old = (size_t)t->shape.dim[axis], count = (size_t)e->count;
  for (int i = 0; i < t->shape.rank; i++)
    if (i != axis) *(i < axis ? &rows : &inner) *= (size_t)t->shape.dim[i];
  const float *from = t->data, *added = strcmp(t->name, e->layer.weight->name) == 0 ? e->weights : e->biases;
  size_t bytes;
  if (!size_multiply(rows * inner, old + count, &bytes) || !size_multiply(bytes, sizeof *from, &bytes))
    return STATUS_OUT_OF_MEMORY;
  float *to = arena_alloc(arena, bytes);
  if (!to) return STATUS_OUT_OF_MEMORY;
  t->data = to;
  t->bytes = bytes;
  t->shape.dim[axis] += e->count;
  for (size_t r = 0; r < rows; r++, from += old * inner, to += (old + count) * inner) {
    memcpy(to, from, old * inner * sizeof *to);
    /* new class c of a weight has its F numbers in a row, along the rows or the inner dim of the tensor */
    for (size_t c = 0; c < count; c++)
      for (size_t k = 0; k < inner; k++)
        to[(old + c) * inner + k] = zeros ? 0 : added[c * rows * inner + r * inner + k];
  }
  return STATUS_OK;
}

static Status widen_all(const Extension *e, CheckpointTensor *tensors, int count, Arena *arena) {
  for (int i = 0; i < count; i++) TRY(widen_tensor(e, &tensors[i], false, arena));
  return STATUS_OK;
}

static Status widen_moments(const Extension *e, Checkpoint *c, Arena *arena) {
  for (int i = 0; i < c->moment_count; i++)
    for (int k = 0; k < c->moments[i].count; k++) {
      CheckpointTensor *t = &c->moments[i].moment[k];
      const char *name = t->name;
      t->name = c->moments[i].parameter;
      TRY(widen_tensor(e, t, true, arena));
      t->name = name;
    }
  return STATUS_OK;
}

/* Drops the calibration, which holds for the old scores only. */
static Status drop_calibration(Checkpoint *c, Arena *arena) {
  Property *kept = ARENA_ARRAY(arena, Property, c->property_count);
  int count = 0;
  if (!kept) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < c->property_count; i++)
    if (strcmp(c->properties[i].name, CALIBRATION_KEY) != 0) kept[count++] = c->properties[i];
  c->properties = kept;
  c->property_count = count;
  return STATUS_OK;
}

/* A fit begins anew: the one that was cut short, and its best, were of fewer classes. */
static Status widen_checkpoint(const Extension *e, Checkpoint *c, Arena *arena) {
  c->fit = c->adapter = NULL;
  c->best_count = c->adapter_count = c->start_count = 0;
  memset(c->position, 0, sizeof c->position);
  TRY(drop_calibration(c, arena));
  TRY(widen_all(e, c->trainable, c->trainable_count, arena));
  TRY(widen_all(e, c->frozen, c->frozen_count, arena));
  TRY(widen_all(e, c->averages, c->average_count, arena));
  TRY(widen_all(e, c->bases, c->base_count, arena));
  return widen_moments(e, c, arena);
}

static Status write_checkpoint(TrainletSession *s, const Extension *e, Arena *arena) {
  Checkpoint c;
  if (s->adapters.first && (s->adapters.first->next || !s->adapters.used))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a session with several adapters takes no more classes: use one, and delete the others");
  TRY(session_gather(s, true, TRAINLET_FORMAT_TRAINLET, arena, &c));
  if (widen_checkpoint(e, &c, arena) != STATUS_OK) return session_out_of_memory(s);
  return session_write_checkpoint(s, &c, TRAINLET_FORMAT_TRAINLET);
}

/* ---- the files ---- */

static Status write_part(TrainletSession *s, TrainletPart part, const Extension *e, Arena *arena) {
  if (part == TRAINLET_CHECKPOINT) return write_checkpoint(s, e, arena);
  if (part == TRAINLET_OPTIMIZER && s->has_optimizer)
    return optimizer_model_write(&s->optimizer, &s->error, &s->result, &s->result_bytes);
  Model *m = session_model(s, part);
  return m ? write_wider(s, e, m, arena) : s->error.status;
}

static Status extend(TrainletSession *s, TrainletPart part, const char *output, Extension *e, Arena *arena) {
  TRY(find_layer(s, output, &e->layer));
  if (e->count < 1 || e->count > INT32_MAX - e->layer.classes)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "extendOutput: there cannot be %d classes more",
                     e->count);
  return write_part(s, part, e, arena);
}

Status trainlet_session_extend(TrainletSession *s, TrainletPart part, const char *output, const char *names, int count,
                               const float *weights, const float *biases) {
  Extension e = {.count = count, .weights = weights, .biases = biases, .names = names};
  Arena arena = {0};
  session_enter(s);
  Status status = extend(s, part, output, &e, &arena);
  arena_free(&arena);
  return session_finish_result(s, status);
}
