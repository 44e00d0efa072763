/* Names: lists of them, patterns with * and ?, and how a sentence lists them. */
#include "train/names.h"

#include <stdio.h>
#include <string.h>

bool names_add(NameList *list, const char *name, Arena *arena) {
  const char *copy = arena_copy_text(arena, name);
  int capacity = list->capacity;
  const char **names = arena_list_grow(arena, list->names, list->count, &capacity, sizeof *names);
  if (!copy || !names) return false;
  list->names = names;
  list->capacity = capacity;
  list->names[list->count++] = copy;
  return true;
}

bool name_matches(const char *pattern, const char *name) {
  const char *star = NULL, *retry = NULL;
  while (*name) {
    if (*pattern == '*') star = ++pattern, retry = name;
    else if (*pattern == '?' || *pattern == *name) pattern++, name++;
    else if (star) pattern = star, name = ++retry;
    else return false;
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

bool names_match(const NameList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (name_matches(list->names[i], name)) return true;
  return false;
}

bool names_have(const NameList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0) return true;
  return false;
}

const char *names_listed(char text[LISTED_MAX], Names *name, const char *more, const char *word) {
  int count = 0, at = 0;
  while (name(count)) count++;
  int total = count + (more != NULL);
  for (int i = 0; i < total && at < LISTED_MAX; i++) {
    const char *here = i < count ? name(i) : more;
    if (i == total - 1) at += snprintf(text + at, (size_t)(LISTED_MAX - at), " %s %s", word, here);
    else at += snprintf(text + at, (size_t)(LISTED_MAX - at), "%s%s", i ? ", " : "", here);
  }
  return text;
}
