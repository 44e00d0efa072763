/* The session as JSON: inputs, outputs, parameters, optimizer, memory, properties. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/session.h"

/* Text that grows; a failed growth leaves text NULL and later puts do nothing. */
typedef struct Json {
  Arena *arena;
  char *text;
  size_t length, capacity, taken; /* bytes: of the text, of its room, and by the session without it */
} Json;

static void put_bytes(Json *j, const char *bytes, size_t count) {
  while (j->text && j->length + count + 1 > j->capacity) {
    char *grown = ARENA_ARRAY(j->arena, char, j->capacity * 2);
    if (grown) memcpy(grown, j->text, j->length);
    j->text = grown;
    j->capacity *= 2;
  }
  if (!j->text) return;
  memcpy(j->text + j->length, bytes, count);
  j->text[j->length += count] = 0;
}

static void put(Json *j, const char *text) { put_bytes(j, text, strlen(text)); }

static void put_string(Json *j, const char *s) {
  put(j, "\"");
  for (; *s; s++) {
    char escaped[8];
    if (*s == '"' || *s == '\\') snprintf(escaped, sizeof escaped, "\\%c", *s);
    else if ((unsigned char)*s < 0x20) snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*s);
    else {
      put_bytes(j, s, 1);
      continue;
    }
    put(j, escaped);
  }
  put(j, "\"");
}

static void put_key(Json *j, const char *key) { put_string(j, key), put(j, ":"); }

static void put_int(Json *j, int64_t x) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)x);
  put(j, text);
}

static void put_dims(Json *j, const Graph *g, const Shape *s) {
  put(j, "[");
  for (int i = 0; i < s->rank; i++) {
    if (i) put(j, ",");
    if (dim_is_number(s->dim[i])) put_int(j, s->dim[i]);
    else put_string(j, g ? graph_symbol_name(g, s->dim[i]) : "");
  }
  put(j, "]");
}

static void put_value(Json *j, const Graph *g, const char *name, DType type, const Shape *shape) {
  put_key(j, "name"), put_string(j, name);
  put(j, ","), put_key(j, "type"), put_string(j, dtype_name(type));
  put(j, ","), put_key(j, "dims"), put_dims(j, g, shape);
}

/* A sequence or optional is described by its tensors; of dims of which not even the number is known, none. */
static void put_declared(Json *j, const Graph *g, const char *name, const Declared *d) {
  put_value(j, g, name, d->type, &d->shape);
  if (d->sequence) put(j, ","), put_key(j, "sequence"), put(j, "true");
  if (d->optional) put(j, ","), put_key(j, "optional"), put(j, "true");
}

static void put_values(Json *j, const Graph *g, Value *const *values, int count) {
  put(j, "[");
  for (int i = 0; i < count; i++) {
    const Value *v = values[i];
    put(j, i ? ",{" : "{");
    if (v->declared) put_declared(j, g, v->name, v->declared);
    else put_value(j, g, v->name, v->type, &v->shape);
    put(j, "}");
  }
  put(j, "]");
}

static void put_model(Json *j, const char *key, const Model *m) {
  put_key(j, key);
  if (!m->graph) {
    put(j, "null,");
    return;
  }
  put(j, "{"), put_key(j, "inputs"), put_values(j, m->graph, m->graph->inputs, m->graph->input_count);
  put(j, ","), put_key(j, "outputs"), put_values(j, m->graph, m->outputs, m->output_count);
  put(j, "},");
}

static void put_parameters(Json *j, const State *s) {
  put_key(j, "parameters"), put(j, "[");
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    put(j, i ? ",{" : "{"), put_value(j, NULL, p->name, p->type, &p->shape);
    put(j, ","), put_key(j, "trainable"), put(j, p->trainable ? "true" : "false");
    put(j, ","), put_key(j, "bytes"), put_int(j, (int64_t)p->bytes), put(j, "}");
  }
  put(j, "],");
}

static void put_predict(Json *j, TrainletSession *s) {
  const char *names = session_default_outputs(s, j->arena);
  put_key(j, "predict"), put(j, "[");
  for (const char *at = names; at && *at;) {
    size_t length = strcspn(at, "\n");
    char *name = arena_print(j->arena, "%.*s", (int)length, at);
    if (at != names) put(j, ",");
    put_string(j, name ? name : "");
    at += length + (at[length] == '\n');
  }
  put(j, "],");
}

static void put_size(Json *j, const char *key, size_t bytes, const char *after) { put_key(j, key), put_int(j, (int64_t)bytes), put(j, after); }

static void put_memory(Json *j, const TrainletSession *s) {
  const Transition *t = &s->transition;
  size_t feeds = 0;
  for (int m = 0; m < MODEL_COUNT; m++)
    for (int i = 0; s->models[m].feeds && i < s->models[m].graph->input_count; i++) feeds += feed_bytes(&s->models[m].feeds[i]);
  put_key(j, "memory"), put(j, "{");
  put_size(j, "stateBytes", s->state.total_bytes, ",");
  put_size(j, "arenaBytes", t->largest_bytes, ",");
  put_size(j, "lowerBoundBytes", t->lower_bound_bytes, ",");
  put_size(j, "packedBytes", t->packed.bytes, ",");
  put_size(j, "peakBytes", s->state.total_bytes + t->largest_bytes + t->packed.bytes + feeds, ",");
  put_size(j, "takenBytes", j->taken, "}");
}

/* What a session says of itself counts, and is not refused: one that is at its limit can be asked why. */
static Json json_new(TrainletSession *s) {
  s->budget.limit_bytes = -s->budget.limit_bytes;
  arena_free(&s->text);
  Json j = {.arena = &s->text, .capacity = 1024, .taken = s->budget.used_bytes};
  j.text = ARENA_ARRAY(j.arena, char, j.capacity);
  return j;
}

static const char *json_end(TrainletSession *s, const Json *j) {
  s->budget.limit_bytes = -s->budget.limit_bytes;
  return session_leave(s, j->text) == STATUS_OK ? j->text : NULL;
}

const char *trainlet_session_json(TrainletSession *s) {
  session_enter(s);
  Json j = json_new(s);
  put(&j, "{");
  put_model(&j, "train", &s->models[MODEL_TRAIN]);
  put_model(&j, "eval", &s->models[MODEL_EVAL]);
  put_model(&j, "model", &s->models[MODEL_INFERENCE]);
  put_parameters(&j, &s->state);
  put_key(&j, "optimizer");
  if (s->has_optimizer) put(&j, "{"), put_key(&j, "type"), put_string(&j, optimizer_name(s->optimizer.kind)), put(&j, "},");
  else put(&j, "null,");
  put_predict(&j, s);
  put_memory(&j, s);
  put(&j, "}");
  return json_end(s, &j);
}

static void put_property(Json *j, const Property *p) {
  static const char *const kinds[] = {"int", "float", "string"};
  char number[40];
  put_key(j, "name"), put_string(j, p->name);
  put(j, ","), put_key(j, "type"), put_string(j, kinds[p->kind]);
  put(j, ","), put_key(j, "value");
  if (p->kind == PROPERTY_STRING) put_string(j, p->s);
  else if (p->kind == PROPERTY_INT) put(j, "\""), put_int(j, p->i), put(j, "\"");
  else { /* JSON has no NaN; 1e999 is read as Infinity */
    snprintf(number, sizeof number, "%.9g", (double)p->f);
    put(j, isfinite(p->f) ? number : isnan(p->f) ? "null" : p->f < 0 ? "-1e999" : "1e999");
  }
}

const char *trainlet_session_properties(TrainletSession *s) {
  session_enter(s);
  Json j = json_new(s);
  put(&j, "[");
  for (int i = 0; i < s->property_count; i++) put(&j, i ? ",{" : "{"), put_property(&j, &s->properties[i]), put(&j, "}");
  put(&j, "]");
  return json_end(s, &j);
}
