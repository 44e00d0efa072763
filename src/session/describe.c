/* Writes JSON of a session: inputs, outputs, parameters, optimizer, memory, properties; and of a checkpoint file. */
#include <string.h>

#include "graph/op.h"
#include "ops/control/yield.h"
#include "session/session.h"
#include "model/head.h"
#include "model/lora.h"
#include "train/loss.h"

static void put_dims(TextBuilder *p, const Graph *g, const Shape *s) {
  text_put(p, "[");
  for (int i = 0; i < s->rank; i++) {
    if (i) text_put(p, ",");
    if (dim_is_number(s->dim[i])) text_int(p, s->dim[i]);
    else text_string(p, g ? graph_symbol_name(g, s->dim[i]) : "");
  }
  text_put(p, "]");
}

static void put_value(TextBuilder *p, const Graph *g, const char *name, DType type, const Shape *shape) {
  text_key(p, "name"), text_string(p, name);
  text_put(p, ","), text_key(p, "type"), text_string(p, dtype_name(type));
  text_put(p, ","), text_key(p, "dims"), put_dims(p, g, shape);
}

/* A sequence or optional is described by its tensors, maps by their values; if not even the number of dims is known,
 * none are listed. */
static void put_declared(TextBuilder *p, const Graph *g, const char *name, const Declared *d) {
  put_value(p, g, name, d->type, &d->shape);
  if (d->sequence) text_put(p, ","), text_key(p, "sequence"), text_put(p, "true");
  if (d->map) text_put(p, ","), text_key(p, "map"), text_string(p, dtype_name(d->map));
  if (d->optional) text_put(p, ","), text_key(p, "optional"), text_put(p, "true");
}

/* Labels: the number of classes, their axis in the scores, and the ignored label. */
static void put_labels(TextBuilder *p, const Node *loss, const Value *labels) {
  Counted c = loss->op->counted(loss);
  Dim classes = loss->in[0]->shape.dim[1];
  text_put(p, ","), text_key(p, "labels"), text_put(p, "{"), text_key(p, "classes");
  if (dim_is_number(classes)) text_int(p, classes);
  else text_put(p, "null");
  text_field(p, "axis", loss->in[c.labels] != labels ? -1 : 1); /* rows of classes, for labels of any shape */
  if (c.ignores) text_field(p, "ignoreIndex", c.ignored);
  text_put(p, "}");
}

static bool is_sample_weight(const Graph *g, const Value *v) {
  const char *name = graph_metadata(g, SAMPLE_WEIGHT_KEY);
  return name && strcmp(name, v->name) == 0;
}

static void put_values(TextBuilder *p, const Graph *g, Value *const *values, int count) {
  text_put(p, "[");
  for (int i = 0; i < count; i++) {
    const Value *v = values[i];
    text_put(p, i ? ",{" : "{");
    if (v->declared) put_declared(p, g, v->name, v->declared);
    else put_value(p, g, v->name, v->type, &v->shape);
    const Node *loss = v->kind == VALUE_INPUT ? loss_of_labels(g, v) : NULL;
    if (loss) put_labels(p, loss, v);
    if (v->kind == VALUE_INPUT && is_sample_weight(g, v))
      text_put(p, ","), text_key(p, "sampleWeight"), text_put(p, "true");
    text_put(p, "}");
  }
  text_put(p, "]");
}

/* Writes the losses that the first output is the weighted sum of, the last one first. */
static void put_losses(TextBuilder *p, const Graph *g) {
  text_put(p, ","), text_key(p, "losses"), text_put(p, "[");
  for (int i = 0; i < loss_part_count(g); i++) {
    LossPart part = loss_part(g, i);
    text_put(p, i ? ",{" : "{"), text_key(p, "name"), text_string(p, part.value->name);
    text_put(p, ","), text_key(p, "weight"), text_float(p, part.weight), text_put(p, "}");
  }
  text_put(p, "]");
}

/* Writes metadata of the file unchanged. */
static void put_metadata(TextBuilder *p, const Graph *g, const char *key, const char *metadata) {
  const char *text = graph_metadata(g, metadata);
  if (text) text_put(p, ","), text_key(p, key), text_string(p, text);
}

static void put_model(TextBuilder *p, const char *key, const Model *m) {
  text_key(p, key);
  if (!m->graph) {
    text_put(p, "null,");
    return;
  }
  text_put(p, "{"), text_key(p, "inputs"), put_values(p, m->graph, m->graph->inputs, m->graph->input_count);
  text_put(p, ","), text_key(p, "outputs"), put_values(p, m->graph, m->outputs, m->output_count);
  text_put(p, ","), text_key(p, "crossEntropy"), text_put(p, loss_is_cross_entropy(m->graph) ? "true" : "false");
  if (loss_is_difference(m->graph)) text_put(p, ","), text_key(p, "difference"), text_put(p, "true");
  const Value *scores = loss_scores(m->graph);
  if (scores) text_put(p, ","), text_key(p, "scores"), text_string(p, scores->name);
  put_losses(p, m->graph);
  put_metadata(p, m->graph, "classes", CLASSES_KEY);
  put_metadata(p, m->graph, "head", HEAD_KEY);
  put_metadata(p, m->graph, "calibration", CALIBRATION_KEY);
  put_metadata(p, m->graph, "lora", LORA_KEY);
  text_put(p, "},");
}

static void put_parameters(TextBuilder *p, const State *s) {
  text_key(p, "parameters"), text_put(p, "[");
  for (int i = 0; i < s->count; i++) {
    const Parameter *it = &s->parameters[i];
    text_put(p, i ? ",{" : "{"), put_value(p, NULL, it->name, it->type, &it->shape);
    text_put(p, ","), text_key(p, "trainable"), text_put(p, it->trainable ? "true" : "false");
    text_field(p, "bytes", (int64_t)it->bytes), text_put(p, "}");
  }
  text_put(p, "],");
}

/* Prints the outputs of predict, and how many of them, before the first of floats, are labels. */
static void put_predict(TextBuilder *p, TrainletSession *s) {
  const Graph *eval = s->models[MODEL_EVAL].graph;
  const char *names = session_default_outputs(s, p->arena);
  int count = 0, labels = 0;
  text_key(p, "predict"), text_put(p, "[");
  for (const char *at = names; at && *at;) {
    size_t length = strcspn(at, "\n");
    char *name = arena_print(p->arena, "%.*s", (int)length, at);
    if (at != names) text_put(p, ",");
    text_string(p, name ? name : "");
    const Value *v = eval && name ? graph_find(eval, name) : NULL;
    if (labels == count++ && v && !dtype_is_float(v->type)) labels++;
    at += length + (at[length] == '\n');
  }
  text_put(p, "]"), text_field(p, "predictedLabels", labels), text_put(p, ",");
}

static void put_names(TextBuilder *p, const char *key, const char *const *names, int count) {
  text_key(p, key), text_put(p, "[");
  for (int i = 0; i < count; i++) text_put(p, i ? "," : ""), text_string(p, names[i]);
  text_put(p, "]");
}

static void put_outside(TextBuilder *p, const ExternalLoss *o) {
  text_key(p, "outside");
  const char **outputs = o->yield ? ARENA_ARRAY(p->arena, const char *, o->yield->in_count) : NULL;
  int count = 0;
  for (int i = 0; outputs && i < o->yield->in_count; i++)
    if (yield_takes_gradient(o->yield, i)) outputs[count++] = o->yield->in[i]->name;
  if (!outputs) {
    text_put(p, "null,");
    return;
  }
  text_put(p, "{"), put_names(p, "outputs", outputs, count);
  text_put(p, ","), put_names(p, "inputs", o->inputs, o->input_count), text_put(p, "},");
}

/* Writes the warnings of the first model that has any: all models of a session come from one file. */
static void put_warnings(TextBuilder *p, const TrainletSession *s) {
  const char *warning = NULL;
  for (int m = 0; m < MODEL_COUNT && !warning; m++)
    if (s->models[m].graph) warning = graph_opset_warning(s->models[m].graph, p->arena);
  put_names(p, "warnings", &warning, warning != NULL), text_put(p, ",");
}

static void put_adapters(TextBuilder *p, const TrainletSession *s) {
  const Adapters *all = &s->adapters;
  if (!all->start) return;
  text_key(p, "adapters"), text_put(p, "{"), text_key(p, "names"), text_put(p, "[");
  for (const Adapter *a = all->first; a; a = a->next) text_put(p, a == all->first ? "" : ","), text_string(p, a->name);
  text_put(p, "],"), text_key(p, "active");
  if (all->used) text_string(p, all->used->name);
  else text_put(p, "null");
  text_put(p, "},"), text_key(p, "adapted"), text_put(p, "[");
  const char *before = "";
  for (int i = 0; i < s->state.count; i++)
    if (s->state.parameters[i].adapted) text_put(p, before), text_int(p, i), before = ",";
  text_put(p, "],");
}

static void put_memory(TextBuilder *p, const TrainletSession *s, size_t taken) {
  const ProgramCache *t = &s->program_cache;
  size_t feeds = 0;
  for (int m = 0; m < MODEL_COUNT; m++)
    for (int i = 0; s->models[m].feeds && i < feed_count(&s->models[m]); i++)
      feeds += feed_bytes(&s->models[m].feeds[i]);
  text_key(p, "memory"), text_put(p, "{");
  text_field(p, "stateBytes", (int64_t)s->state.total_bytes);
  text_field(p, "arenaBytes", (int64_t)t->largest_bytes);
  text_field(p, "lowerBoundBytes", (int64_t)t->lower_bound_bytes);
  text_field(p, "packedBytes", (int64_t)t->packed.bytes);
  text_field(p, "peakBytes", (int64_t)(s->state.total_bytes + t->largest_bytes + t->packed.bytes + feeds));
  text_field(p, "takenBytes", (int64_t)taken);
  text_put(p, "}");
}

TextBuilder session_begin_text(TrainletSession *s) {
  session_enter(s);
  s->budget.limit_bytes = -s->budget.limit_bytes;
  arena_free(&s->text);
  return text_new(&s->text);
}

const char *session_end_text(TrainletSession *s, const TextBuilder *p) {
  s->budget.limit_bytes = -s->budget.limit_bytes;
  return session_leave(s, p->text) == STATUS_OK ? p->text : NULL;
}

const char *trainlet_session_json(TrainletSession *s) {
  session_enter(s);
  arena_free(&s->text);
  size_t taken = s->budget.used_bytes;
  TextBuilder p = session_begin_text(s);
  text_put(&p, "{");
  put_model(&p, "train", &s->models[MODEL_TRAIN]);
  put_model(&p, "eval", &s->models[MODEL_EVAL]);
  put_model(&p, "model", &s->models[MODEL_INFERENCE]);
  put_parameters(&p, &s->state);
  text_key(&p, "optimizer");
  if (s->has_optimizer)
    text_put(&p, "{"), text_key(&p, "type"), text_string(&p, optimizer_name(s->optimizer.kind)), text_put(&p, "},");
  else text_put(&p, "null,");
  put_predict(&p, s);
  put_outside(&p, &s->outside);
  put_warnings(&p, s);
  put_adapters(&p, s);
  put_memory(&p, s, taken);
  text_put(&p, "}");
  return session_end_text(s, &p);
}

static void put_property(TextBuilder *p, const Property *it) {
  static const char *const kinds[] = {"int", "float", "string"};
  text_key(p, "name"), text_string(p, it->name);
  text_put(p, ","), text_key(p, "type"), text_string(p, kinds[it->kind]);
  text_put(p, ","), text_key(p, "value");
  if (it->kind == PROPERTY_STRING) text_string(p, it->s);
  else if (it->kind == PROPERTY_INT) text_put(p, "\""), text_int(p, it->i), text_put(p, "\"");
  else text_float(p, (double)it->f);
}

static void put_properties(TextBuilder *p, const Property *properties, int count) {
  text_put(p, "[");
  for (int i = 0; i < count; i++) text_put(p, i ? ",{" : "{"), put_property(p, &properties[i]), text_put(p, "}");
  text_put(p, "]");
}

const char *trainlet_session_properties(TrainletSession *s) {
  TextBuilder p = session_begin_text(s);
  put_properties(&p, s->properties, s->property_count);
  return session_end_text(s, &p);
}

/* ---- a checkpoint by itself ---- */

static void put_tensors(TextBuilder *p, const CheckpointTensor *tensors, int count, const char *before,
                        bool trainable) {
  for (int i = 0; i < count; i++, before = ",") {
    text_put(p, before), text_put(p, "{");
    put_value(p, NULL, tensors[i].name, tensors[i].type, &tensors[i].shape);
    text_put(p, ","), text_key(p, "trainable"), text_put(p, trainable ? "true}" : "false}");
  }
}

static void put_optimizer(TextBuilder *p, const Checkpoint *c) {
  int moments = 0;
  for (int i = 0; i < c->moment_count; i++) moments += c->moments[i].count;
  text_put(p, "{"), text_key(p, "type"), text_string(p, c->optimizer ? c->optimizer : "");
  text_put(p, ","), text_key(p, "learningRate"), text_float(p, (double)c->learning_rate);
  text_put(p, ","), text_key(p, "initialLearningRate"), text_float(p, (double)c->initial_learning_rate);
  text_field(p, "steps", c->step), text_field(p, "moments", moments), text_put(p, "}");
}

static void put_checkpoint(TextBuilder *p, const Checkpoint *c) {
  text_put(p, "{"), text_key(p, "parameters"), text_put(p, "[");
  put_tensors(p, c->trainable, c->trainable_count, "", true);
  put_tensors(p, c->frozen, c->frozen_count, c->trainable_count ? "," : "", false);
  text_put(p, "],"), text_key(p, "optimizer");
  if (c->has_optimizer) put_optimizer(p, c);
  else text_put(p, "null");
  text_put(p, ","), text_key(p, "properties"), put_properties(p, c->properties, c->property_count);
  text_put(p, ","), text_key(p, "nominal"), text_put(p, c->nominal ? "true" : "false");
  text_put(p, ","), text_key(p, "position"), text_put(p, "[");
  for (int i = 0; i < POSITION_COUNT; i++) text_put(p, i ? "," : ""), text_int(p, c->position[i]);
  text_put(p, "]}");
}

const char *trainlet_session_checkpoint(TrainletSession *s) {
  TextBuilder p = session_begin_text(s);
  if (s->has_checkpoint && !s->ready) put_checkpoint(&p, &s->checkpoint);
  else error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "a checkpoint is described between its loading and ready");
  return session_end_text(s, &p);
}

const char *trainlet_checkpoint_writer(const void *bytes, size_t count) {
  return trainlet_checkpoint_is(bytes, count) ? "Trainlet" : ort_checkpoint_is(bytes, count) ? "ONNX Runtime" : NULL;
}
