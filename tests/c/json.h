/* Json: reads the small JSON files of tests/golden into a tree. */
#pragma once
#include <stdbool.h>

#include "arena.h"

typedef enum JsonKind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } JsonKind;
typedef struct Json {
  JsonKind kind;
  double number; /* 1 or 0 for a bool */
  const char *text;
  const char *key; /* an object member's */
  struct Json *child, *next;
} Json;

Json *json_parse(Arena *arena, const char *text);          /* NULL when it is not JSON */
const Json *json_get(const Json *object, const char *key); /* NULL when absent */
double json_number(const Json *object, const char *key, double otherwise);
const char *json_text(const Json *object, const char *key); /* "" when absent */
int json_length(const Json *list);

/* A whole file in the arena with a NUL behind it; NULL when it cannot be read. */
char *file_read(Arena *arena, const char *path, size_t *bytes);
