/* Names: refuses a checkpoint whose parameters, moments or properties share a name, in a time that hostile counts
 * cannot be longer; and checks properties that are set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "utf8.h"

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static Status check_unique(const char **names, size_t count, const char *what, Error *error) {
  qsort(names, count, sizeof *names, compare_names);
  if (count && !*names[0])
    return error_set(error, STATUS_CHECKPOINT_CORRUPT, NULL, "the checkpoint has %s without a name", what);
  for (size_t i = 1; i < count; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      return error_set(error, STATUS_CHECKPOINT_CORRUPT, NULL, "the checkpoint has two %s called '%.128s'", what,
                       names[i]);
  return STATUS_OK;
}

static Status check_text(const char *text, size_t most, const char *what, Error *error) {
  size_t length = strlen(text);
  if (length > most)
    return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "%s has %zu bytes, at most %zu are possible", what, length,
                     most);
  size_t whole = utf8_whole(text, length);
  return whole == length ? STATUS_OK
                         : error_set(error, STATUS_INVALID_ARGUMENT, NULL, "%s is not UTF-8 at byte %zu", what, whole);
}

Status property_check(const char *name, const char *value, Error *error) {
  char what[160];
  if (!*name) return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "a property's name must not be empty");
  TRY(check_text(name, PROPERTY_NAME_MAX, "a property's name", error));
  snprintf(what, sizeof what, "the value of property '%.128s'", name);
  return value ? check_text(value, PROPERTY_TEXT_MAX, what, error) : STATUS_OK;
}

static const char **room(size_t count, Arena *arena, Error *error) {
  const char **names = ARENA_ARRAY(arena, const char *, count);
  if (!names) error_memory(error, "for the checkpoint");
  return names;
}

static Status check_adapter(const CheckpointAdapter *a, Arena *arena, Error *error) {
  size_t tensors = (size_t)a->count, moments = (size_t)a->moment_count;
  const char **names = room(tensors + moments, arena, error);
  if (!names) return error->status;
  for (size_t i = 0; i < tensors; i++) names[i] = a->tensors[i].name;
  TRY(check_unique(names, tensors, "parameters in an adapter", error));
  for (size_t i = 0; i < moments; i++) names[i] = a->moments[i].parameter;
  return check_unique(names, moments, "sets of moments in an adapter", error);
}

static Status check_adapters(const Checkpoint *c, Arena *arena, Error *error) {
  const char **names = room((size_t)c->adapter_count, arena, error);
  if (!names) return error->status;
  for (int i = 0; i < c->adapter_count; i++) names[i] = c->adapters[i].name;
  return check_unique(names, (size_t)c->adapter_count, "adapters", error);
}

Status checkpoint_check_names(const Checkpoint *c, Arena *arena, Error *error) {
  size_t tensors = (size_t)c->trainable_count + (size_t)c->frozen_count, moments = (size_t)c->moment_count, n = 0;
  size_t properties = (size_t)c->property_count, best = (size_t)c->best_count, averages = (size_t)c->average_count,
         bases = (size_t)c->base_count, start = (size_t)c->start_count;
  const char **names = room(tensors + moments + properties + best + averages + bases + start, arena, error);
  if (!names) return error->status;
  for (int i = 0; i < c->trainable_count; i++) names[n++] = c->trainable[i].name;
  for (int i = 0; i < c->frozen_count; i++) names[n++] = c->frozen[i].name;
  TRY(check_unique(names, tensors, "parameters", error));
  for (size_t i = 0; i < moments; i++) names[i] = c->moments[i].parameter;
  TRY(check_unique(names, moments, "sets of moments for a parameter", error));
  for (size_t i = 0; i < best; i++) names[i] = c->best[i].name;
  TRY(check_unique(names, best, "best parameters", error));
  for (size_t i = 0; i < averages; i++) names[i] = c->averages[i].name;
  TRY(check_unique(names, averages, "averages of a parameter", error));
  for (size_t i = 0; i < bases; i++) names[i] = c->bases[i].name;
  TRY(check_unique(names, bases, "bases of a parameter", error));
  for (size_t i = 0; i < start; i++) names[i] = c->start[i].name;
  TRY(check_unique(names, start, "first values of a parameter", error));
  for (int i = 0; i < c->adapter_count; i++) TRY(check_adapter(&c->adapters[i], arena, error));
  TRY(check_adapters(c, arena, error));
  for (size_t i = 0; i < properties; i++) names[i] = c->properties[i].name;
  return check_unique(names, properties, "properties", error);
}

bool checkpoint_rate_is_good(float learning_rate) { return learning_rate >= 0 && learning_rate < INFINITY; }

bool checkpoint_group_is_good(const CheckpointGroup *g) {
  return g->lr_scale >= 0 && g->lr_scale < INFINITY && g->weight_decay >= 0 && g->weight_decay < INFINITY &&
         g->anchor >= 0 && g->anchor < INFINITY;
}
