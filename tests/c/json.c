/* A recursive reader; escapes other than \" and \\ are kept as they stand. */
#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
  Arena *arena;
  const char *at;
} Reader;

static Json *read_value(Reader *r);

static char skip_space(Reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
  return *r->at;
}

static bool eat(Reader *r, const char *word) {
  size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0) return false;
  return r->at += n, true;
}

static const char *read_text(Reader *r) {
  if (!eat(r, "\"")) return NULL;
  char *copy = arena_alloc(r->arena, strcspn(r->at, "\n") + 1), *to = copy;
  for (; *r->at && *r->at != '"'; r->at++) {
    if (*r->at == '\\') r->at++;
    *to++ = *r->at;
  }
  return eat(r, "\"") ? copy : NULL;
}

/* Members of a list or an object, up to `end`. */
static bool read_members(Reader *r, Json *parent, char end) {
  Json **last = &parent->child;
  if (skip_space(r) == end) return r->at++, true;
  for (;;) {
    const char *key = NULL;
    skip_space(r);
    if (end == '}' && (!(key = read_text(r)) || skip_space(r) != ':' || !r->at++)) return false;
    if (!(*last = read_value(r))) return false;
    (*last)->key = key;
    last = &(*last)->next;
    char c = skip_space(r);
    r->at++;
    if (c == end) return true;
    if (c != ',') return false;
  }
}

static Json *read_value(Reader *r) {
  Json *v = ARENA_NEW(r->arena, Json);
  char c = skip_space(r), *end;
  if (c == '{' || c == '[') {
    r->at++;
    v->kind = c == '{' ? JSON_OBJECT : JSON_LIST;
    return read_members(r, v, c == '{' ? '}' : ']') ? v : NULL;
  }
  if (c == '"') return v->kind = JSON_TEXT, (v->text = read_text(r)) ? v : NULL;
  if (eat(r, "null")) return v;
  v->kind = JSON_BOOL;
  if (eat(r, "true")) return v->number = 1, v;
  if (eat(r, "false")) return v;
  v->kind = JSON_NUMBER;
  v->number = strtod(r->at, &end);
  if (end == r->at) return NULL;
  return r->at = end, v;
}

Json *json_parse(Arena *arena, const char *text) {
  Reader r = {arena, text};
  Json *v = read_value(&r);
  return v && !skip_space(&r) ? v : NULL;
}

const Json *json_get(const Json *object, const char *key) {
  for (const Json *m = object ? object->child : NULL; m; m = m->next)
    if (m->key && strcmp(m->key, key) == 0) return m;
  return NULL;
}

double json_number(const Json *object, const char *key, double otherwise) {
  const Json *m = json_get(object, key);
  return m ? m->number : otherwise;
}

const char *json_text(const Json *object, const char *key) {
  const Json *m = json_get(object, key);
  return m && m->text ? m->text : "";
}

int json_length(const Json *list) {
  int count = 0;
  for (const Json *m = list ? list->child : NULL; m; m = m->next) count++;
  return count;
}

char *file_read(Arena *arena, const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = arena_alloc(arena, (size_t)size + 1);
  *bytes = text ? fread(text, 1, (size_t)size, file) : 0;
  fclose(file);
  return text;
}
