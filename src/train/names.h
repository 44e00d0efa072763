/* Names: lists of them, patterns with * and ?, and how a sentence lists them. */
#pragma once
#include "arena.h"

typedef struct NameList {
  const char **names;
  int count, capacity;
} NameList;

/* Adds a copy; false when memory is out. */
bool names_add(NameList *list, const char *name, Arena *arena);
bool names_match(const NameList *list, const char *name); /* true if one of the patterns matches */
bool names_have(const NameList *list, const char *name);  /* literally */
/* * is any run of characters, ? is one; anything else is itself. */
bool name_matches(const char *pattern, const char *name);

enum { LISTED_MAX = 200 };
/* Names by their index, NULL past the end. */
typedef const char *Names(int i);
/* "a, b or c": the names and, if given, one more, with `word` before the last. */
const char *names_listed(char text[LISTED_MAX], Names *name, const char *more, const char *word);
