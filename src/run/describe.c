/* The session as JSON: inputs, outputs, parameters, optimizer, memory, properties; and a checkpoint by itself. */
#include <string.h>

#include "graph/op.h"
#include "ops/control/yield.h"
#include "run/session.h"
#include "train/head.h"
#include "train/lora.h"
#include "train/loss.h"

static void put_dims(Printer *p, const Graph *g, const Shape *s) {
  printer_put(p, "[");
  for (int i = 0; i < s->rank; i++) {
    if (i) printer_put(p, ",");
    if (dim_is_number(s->dim[i])) printer_int(p, s->dim[i]);
    else printer_string(p, g ? graph_symbol_name(g, s->dim[i]) : "");
  }
  printer_put(p, "]");
}

static void put_value(Printer *p, const Graph *g, const char *name, DType type, const Shape *shape) {
  printer_key(p, "name"), printer_string(p, name);
  printer_put(p, ","), printer_key(p, "type"), printer_string(p, dtype_name(type));
  printer_put(p, ","), printer_key(p, "dims"), put_dims(p, g, shape);
}

/* A sequence or optional is described by its tensors, maps by their values; if not even the number of dims is known,
 * none are listed. */
static void put_declared(Printer *p, const Graph *g, const char *name, const Declared *d) {
  put_value(p, g, name, d->type, &d->shape);
  if (d->sequence) printer_put(p, ","), printer_key(p, "sequence"), printer_put(p, "true");
  if (d->map) printer_put(p, ","), printer_key(p, "map"), printer_string(p, dtype_name(d->map));
  if (d->optional) printer_put(p, ","), printer_key(p, "optional"), printer_put(p, "true");
}

/* Class labels, along which axis of the scores their classes are, and which of them does not count. */
static void put_labels(Printer *p, const Node *loss, const Value *labels) {
  Counted c = loss->op->counted(loss);
  Dim classes = loss->in[0]->shape.dim[1];
  printer_put(p, ","), printer_key(p, "labels"), printer_put(p, "{"), printer_key(p, "classes");
  if (dim_is_number(classes)) printer_int(p, classes);
  else printer_put(p, "null");
  printer_field(p, "axis", loss->in[c.labels] != labels ? -1 : 1); /* rows of classes, for labels of any shape */
  if (c.ignores) printer_field(p, "ignoreIndex", c.ignored);
  printer_put(p, "}");
}

static bool is_sample_weight(const Graph *g, const Value *v) {
  const char *name = graph_metadata(g, SAMPLE_WEIGHT_KEY);
  return name && strcmp(name, v->name) == 0;
}

static void put_values(Printer *p, const Graph *g, Value *const *values, int count) {
  printer_put(p, "[");
  for (int i = 0; i < count; i++) {
    const Value *v = values[i];
    printer_put(p, i ? ",{" : "{");
    if (v->declared) put_declared(p, g, v->name, v->declared);
    else put_value(p, g, v->name, v->type, &v->shape);
    const Node *loss = v->kind == VALUE_INPUT ? loss_of_labels(g, v) : NULL;
    if (loss) put_labels(p, loss, v);
    if (v->kind == VALUE_INPUT && is_sample_weight(g, v))
      printer_put(p, ","), printer_key(p, "sampleWeight"), printer_put(p, "true");
    printer_put(p, "}");
  }
  printer_put(p, "]");
}

/* Those whose weighted sum the first output is, from the last. */
static void put_losses(Printer *p, const Graph *g) {
  printer_put(p, ","), printer_key(p, "losses"), printer_put(p, "[");
  for (int i = 0; i < loss_part_count(g); i++) {
    LossPart part = loss_part(g, i);
    printer_put(p, i ? ",{" : "{"), printer_key(p, "name"), printer_string(p, part.value->name);
    printer_put(p, ","), printer_key(p, "weight"), printer_float(p, part.weight), printer_put(p, "}");
  }
  printer_put(p, "]");
}

/* As it came, from whatever file. */
static void put_metadata(Printer *p, const Graph *g, const char *key, const char *metadata) {
  const char *text = graph_metadata(g, metadata);
  if (text) printer_put(p, ","), printer_key(p, key), printer_string(p, text);
}

static void put_model(Printer *p, const char *key, const Model *m) {
  printer_key(p, key);
  if (!m->graph) {
    printer_put(p, "null,");
    return;
  }
  printer_put(p, "{"), printer_key(p, "inputs"), put_values(p, m->graph, m->graph->inputs, m->graph->input_count);
  printer_put(p, ","), printer_key(p, "outputs"), put_values(p, m->graph, m->outputs, m->output_count);
  printer_put(p, ","), printer_key(p, "crossEntropy"),
      printer_put(p, loss_is_cross_entropy(m->graph) ? "true" : "false");
  const Value *scores = loss_scores(m->graph);
  if (scores) printer_put(p, ","), printer_key(p, "scores"), printer_string(p, scores->name);
  put_losses(p, m->graph);
  put_metadata(p, m->graph, "classes", CLASSES_KEY);
  put_metadata(p, m->graph, "head", HEAD_KEY);
  put_metadata(p, m->graph, "calibration", CALIBRATION_KEY);
  put_metadata(p, m->graph, "lora", LORA_KEY);
  printer_put(p, "},");
}

static void put_parameters(Printer *p, const State *s) {
  printer_key(p, "parameters"), printer_put(p, "[");
  for (int i = 0; i < s->count; i++) {
    const Parameter *it = &s->parameters[i];
    printer_put(p, i ? ",{" : "{"), put_value(p, NULL, it->name, it->type, &it->shape);
    printer_put(p, ","), printer_key(p, "trainable"), printer_put(p, it->trainable ? "true" : "false");
    printer_field(p, "bytes", (int64_t)it->bytes), printer_put(p, "}");
  }
  printer_put(p, "],");
}

/* And how many of them are labels, before the first of floats. */
static void put_predict(Printer *p, TrainletSession *s) {
  const Graph *eval = s->models[MODEL_EVAL].graph;
  const char *names = session_default_outputs(s, p->arena);
  int count = 0, labels = 0;
  printer_key(p, "predict"), printer_put(p, "[");
  for (const char *at = names; at && *at;) {
    size_t length = strcspn(at, "\n");
    char *name = arena_print(p->arena, "%.*s", (int)length, at);
    if (at != names) printer_put(p, ",");
    printer_string(p, name ? name : "");
    const Value *v = eval && name ? graph_find(eval, name) : NULL;
    if (labels == count++ && v && !dtype_is_float(v->type)) labels++;
    at += length + (at[length] == '\n');
  }
  printer_put(p, "]"), printer_field(p, "predictedLabels", labels), printer_put(p, ",");
}

static void put_names(Printer *p, const char *key, const char *const *names, int count) {
  printer_key(p, key), printer_put(p, "[");
  for (int i = 0; i < count; i++) printer_put(p, i ? "," : ""), printer_string(p, names[i]);
  printer_put(p, "]");
}

static void put_outside(Printer *p, const Outside *o) {
  printer_key(p, "outside");
  const char **outputs = o->yield ? ARENA_ARRAY(p->arena, const char *, o->yield->in_count) : NULL;
  int count = 0;
  for (int i = 0; outputs && i < o->yield->in_count; i++)
    if (yield_takes_gradient(o->yield, i)) outputs[count++] = o->yield->in[i]->name;
  if (!outputs) {
    printer_put(p, "null,");
    return;
  }
  printer_put(p, "{"), put_names(p, "outputs", outputs, count);
  printer_put(p, ","), put_names(p, "inputs", o->inputs, o->input_count), printer_put(p, "},");
}

/* Of the first model that has something to tell: those of a session come from one file. */
static void put_warnings(Printer *p, const TrainletSession *s) {
  const char *warning = NULL;
  for (int m = 0; m < MODEL_COUNT && !warning; m++)
    if (s->models[m].graph) warning = graph_opset_warning(s->models[m].graph, p->arena);
  put_names(p, "warnings", &warning, warning != NULL), printer_put(p, ",");
}

static void put_adapters(Printer *p, const TrainletSession *s) {
  const Adapters *all = &s->adapters;
  if (!all->start) return;
  printer_key(p, "adapters"), printer_put(p, "{"), printer_key(p, "names"), printer_put(p, "[");
  for (const Adapter *a = all->first; a; a = a->next)
    printer_put(p, a == all->first ? "" : ","), printer_string(p, a->name);
  printer_put(p, "],"), printer_key(p, "active");
  if (all->used) printer_string(p, all->used->name);
  else printer_put(p, "null");
  printer_put(p, "},"), printer_key(p, "adapted"), printer_put(p, "[");
  const char *before = "";
  for (int i = 0; i < s->state.count; i++)
    if (s->state.parameters[i].adapted) printer_put(p, before), printer_int(p, i), before = ",";
  printer_put(p, "],");
}

static void put_memory(Printer *p, const TrainletSession *s, size_t taken) {
  const ProgramCache *t = &s->program_cache;
  size_t feeds = 0;
  for (int m = 0; m < MODEL_COUNT; m++)
    for (int i = 0; s->models[m].feeds && i < feed_count(&s->models[m]); i++)
      feeds += feed_bytes(&s->models[m].feeds[i]);
  printer_key(p, "memory"), printer_put(p, "{");
  printer_field(p, "stateBytes", (int64_t)s->state.total_bytes);
  printer_field(p, "arenaBytes", (int64_t)t->largest_bytes);
  printer_field(p, "lowerBoundBytes", (int64_t)t->lower_bound_bytes);
  printer_field(p, "packedBytes", (int64_t)t->packed.bytes);
  printer_field(p, "peakBytes", (int64_t)(s->state.total_bytes + t->largest_bytes + t->packed.bytes + feeds));
  printer_field(p, "takenBytes", (int64_t)taken);
  printer_put(p, "}");
}

Printer session_begin_text(TrainletSession *s) {
  session_enter(s);
  s->budget.limit_bytes = -s->budget.limit_bytes;
  arena_free(&s->text);
  return printer_new(&s->text);
}

const char *session_end_text(TrainletSession *s, const Printer *p) {
  s->budget.limit_bytes = -s->budget.limit_bytes;
  return session_leave(s, p->text) == STATUS_OK ? p->text : NULL;
}

const char *trainlet_session_json(TrainletSession *s) {
  session_enter(s);
  arena_free(&s->text);
  size_t taken = s->budget.used_bytes;
  Printer p = session_begin_text(s);
  printer_put(&p, "{");
  put_model(&p, "train", &s->models[MODEL_TRAIN]);
  put_model(&p, "eval", &s->models[MODEL_EVAL]);
  put_model(&p, "model", &s->models[MODEL_INFERENCE]);
  put_parameters(&p, &s->state);
  printer_key(&p, "optimizer");
  if (s->has_optimizer)
    printer_put(&p, "{"), printer_key(&p, "type"), printer_string(&p, optimizer_name(s->optimizer.kind)),
        printer_put(&p, "},");
  else printer_put(&p, "null,");
  put_predict(&p, s);
  put_outside(&p, &s->outside);
  put_warnings(&p, s);
  put_adapters(&p, s);
  put_memory(&p, s, taken);
  printer_put(&p, "}");
  return session_end_text(s, &p);
}

static void put_property(Printer *p, const Property *it) {
  static const char *const kinds[] = {"int", "float", "string"};
  printer_key(p, "name"), printer_string(p, it->name);
  printer_put(p, ","), printer_key(p, "type"), printer_string(p, kinds[it->kind]);
  printer_put(p, ","), printer_key(p, "value");
  if (it->kind == PROPERTY_STRING) printer_string(p, it->s);
  else if (it->kind == PROPERTY_INT) printer_put(p, "\""), printer_int(p, it->i), printer_put(p, "\"");
  else printer_float(p, (double)it->f);
}

static void put_properties(Printer *p, const Property *properties, int count) {
  printer_put(p, "[");
  for (int i = 0; i < count; i++) printer_put(p, i ? ",{" : "{"), put_property(p, &properties[i]), printer_put(p, "}");
  printer_put(p, "]");
}

const char *trainlet_session_properties(TrainletSession *s) {
  Printer p = session_begin_text(s);
  put_properties(&p, s->properties, s->property_count);
  return session_end_text(s, &p);
}

/* ---- a checkpoint by itself ---- */

static void put_tensors(Printer *p, const CheckpointTensor *tensors, int count, const char *before, bool trainable) {
  for (int i = 0; i < count; i++, before = ",") {
    printer_put(p, before), printer_put(p, "{");
    put_value(p, NULL, tensors[i].name, tensors[i].type, &tensors[i].shape);
    printer_put(p, ","), printer_key(p, "trainable"), printer_put(p, trainable ? "true}" : "false}");
  }
}

static void put_optimizer(Printer *p, const Checkpoint *c) {
  int moments = 0;
  for (int i = 0; i < c->moment_count; i++) moments += c->moments[i].count;
  printer_put(p, "{"), printer_key(p, "type"), printer_string(p, c->optimizer ? c->optimizer : "");
  printer_put(p, ","), printer_key(p, "learningRate"), printer_float(p, (double)c->learning_rate);
  printer_put(p, ","), printer_key(p, "initialLearningRate"), printer_float(p, (double)c->initial_learning_rate);
  printer_field(p, "steps", c->step), printer_field(p, "moments", moments), printer_put(p, "}");
}

static void put_checkpoint(Printer *p, const Checkpoint *c) {
  printer_put(p, "{"), printer_key(p, "parameters"), printer_put(p, "[");
  put_tensors(p, c->trainable, c->trainable_count, "", true);
  put_tensors(p, c->frozen, c->frozen_count, c->trainable_count ? "," : "", false);
  printer_put(p, "],"), printer_key(p, "optimizer");
  if (c->has_optimizer) put_optimizer(p, c);
  else printer_put(p, "null");
  printer_put(p, ","), printer_key(p, "properties"), put_properties(p, c->properties, c->property_count);
  printer_put(p, ","), printer_key(p, "nominal"), printer_put(p, c->nominal ? "true" : "false");
  printer_put(p, ","), printer_key(p, "position"), printer_put(p, "[");
  for (int i = 0; i < POSITION_COUNT; i++) printer_put(p, i ? "," : ""), printer_int(p, c->position[i]);
  printer_put(p, "]}");
}

const char *trainlet_session_checkpoint(TrainletSession *s) {
  Printer p = session_begin_text(s);
  if (s->has_checkpoint && !s->ready) put_checkpoint(&p, &s->checkpoint);
  else error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "a checkpoint is described between its loading and ready");
  return session_end_text(s, &p);
}

const char *trainlet_checkpoint_writer(const void *bytes, size_t count) {
  return trainlet_checkpoint_is(bytes, count) ? "Trainlet" : ort_checkpoint_is(bytes, count) ? "ONNX Runtime" : NULL;
}
