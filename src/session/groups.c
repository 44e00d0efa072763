/* Groups: parameters with a learning rate and a weight decay of their own, as the public API sets them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "session/session.h"
#include "train/names.h"

typedef struct Group {
  const char *pattern;
  float lr_scale, weight_decay, anchor;
} Group;

/* Cuts the text at its first line break. */
static char *take_line(char **text) {
  char *line = *text, *end = strchr(line, '\n');
  *text = end ? end + 1 : line + strlen(line);
  if (end) *end = '\0';
  return line;
}

static Status take_number(TrainletSession *s, const char *pattern, const char *what, const char *text, float absent,
                          float *out) {
  char *end;
  *out = *text ? strtof(text, &end) : absent;
  if (!*text || (!*end && *out >= 0 && *out < INFINITY)) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                   "parameter groups: %s of '%.200s' must be a number from 0 up, not %.40s", what, pattern, text);
}

static bool is_in(const Group *g, const Parameter *p) {
  return p->type == DTYPE_FLOAT32 && name_matches(g->pattern, p->name);
}

static Status take_group(TrainletSession *s, char **text, Group *g) {
  g->pattern = take_line(text);
  const char *lr_scale = take_line(text), *weight_decay = take_line(text), *anchor = take_line(text);
  TRY(take_number(s, g->pattern, "lrScale", lr_scale, 1, &g->lr_scale));
  TRY(take_number(s, g->pattern, "weightDecay", weight_decay, s->optimizer.weight_decay, &g->weight_decay));
  TRY(take_number(s, g->pattern, "anchor", anchor, 0, &g->anchor));
  for (int i = 0; i < s->state.count; i++)
    if (is_in(g, &s->state.parameters[i])) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "parameter groups: '%.200s' matches no float32 parameter",
                   g->pattern);
}

OPTIONAL(anchor_groups, state_anchor);

static Status anchor(TrainletSession *s, const Group *all, int count, Arena *arena) {
  float *strengths = ARENA_ARRAY(arena, float, s->state.count);
  if (!strengths) return session_out_of_memory(s);
  bool any = s->state.bases.data != NULL;
  for (int i = 0; i < s->state.count; i++)
    for (int k = 0; k < count; k++)
      if (is_in(&all[k], &s->state.parameters[i])) any |= (strengths[i] = all[k].anchor) > 0;
  if (!any) return STATUS_OK;
  return part_anchor_groups ? part_anchor_groups(&s->state, strengths, &s->error)
                            : part_missing(&s->error, "anchors of parameters");
}

static Status set_groups(TrainletSession *s, const char *groups, Arena *arena) {
  char *text = arena_copy_text(arena, groups);
  int lines = 0, count = 0;
  for (const char *at = groups; *at; at++) lines += *at == '\n';
  Group *all = ARENA_ARRAY(arena, Group, lines / 4);
  if (!text || !all) return session_out_of_memory(s);
  while (count < lines / 4) TRY(take_group(s, &text, &all[count++]));
  TRY(anchor(s, all, count, arena));
  for (int i = 0; i < s->state.count; i++) {
    Parameter *p = &s->state.parameters[i];
    p->lr_scale = 1, p->weight_decay = s->optimizer.weight_decay;
    for (int k = 0; k < count; k++)
      if (is_in(&all[k], p)) p->lr_scale = all[k].lr_scale, p->weight_decay = all[k].weight_decay;
  }
  return STATUS_OK;
}

Status trainlet_session_set_groups(TrainletSession *s, const char *groups) {
  session_enter(s);
  Arena arena = {0};
  Status status = set_groups(s, groups, &arena);
  arena_free(&arena);
  return session_leave(s, status == STATUS_OK);
}
