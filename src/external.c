/* External data: a list of files by name. */
#include "external.h"

#include <stdio.h>
#include <string.h>

enum { OWN = 1 }; /* the first letter of a name that no user gives */

/* The file that the new one replaces: one of that location or, among our own files, any that nobody needs. */
static ExternalFile *find_replaced(External *x, const char *location) {
  for (int i = 0; i < x->count; i++) {
    ExternalFile *file = &x->files[i];
    bool same = *location == OWN ? *file->location == OWN && (file->done || file->spent)
                                 : strcmp(file->location, location) == 0;
    if (same && !file->in_place) return file;
  }
  return NULL;
}

/* One more place at the end of the list, which is not counted yet. */
static ExternalFile *append(External *x, const char *location, Arena *arena) {
  ExternalFile *grown = arena_list_grow(arena, x->files, x->count, &x->capacity, sizeof *grown);
  if (!grown) return NULL;
  x->files = grown;
  grown[x->count] = (ExternalFile){.location = arena_copy_text(arena, location)};
  return grown[x->count].location ? &grown[x->count] : NULL;
}

void *external_add(External *x, const char *location, size_t bytes, Arena *arena) {
  ExternalFile *replaced = find_replaced(x, location), *file = replaced ? replaced : append(x, location, arena);
  if (!file) return NULL;
  file->bytes = 0;
  if (!block_reserve(&file->block, bytes)) return NULL;
  file->bytes = bytes;
  file->done = file->spent = false;
  x->count += !replaced;
  return file->block.data;
}

void *external_add_file(External *x, size_t bytes, Arena *arena) {
  char name[16];
  snprintf(name, sizeof name, "%c%d", OWN, x->count);
  return external_add(x, name, bytes, arena);
}

void external_settle(ExternalFile *file, bool good, bool needed) {
  file->in_place &= good;
  file->spent = !good;
  file->done = good && !file->in_place && !needed;
}

ExternalFile *external_at(const External *x, const void *bytes) {
  for (int i = 0; bytes && x && i < x->count; i++)
    if (x->files[i].block.data == bytes) return &x->files[i];
  return NULL;
}

static const char *plain(const char *location) { return strncmp(location, "./", 2) == 0 ? location + 2 : location; }

ExternalFile *external_find(const External *x, const char *location) {
  for (int i = 0; x && i < x->count; i++)
    if (strcmp(plain(x->files[i].location), plain(location)) == 0) return &x->files[i];
  return NULL;
}

const char *external_contents(const External *x, Arena *arena) {
  const char *text = "which has nothing", *next = "which has ";
  for (int i = 0; text && x && i < x->count; i++) {
    if (*x->files[i].location == OWN) continue;
    text = arena_print(arena, "%s'%s'", next, x->files[i].location);
    next = text ? arena_print(arena, "%s, ", text) : NULL;
    if (!next) break;
  }
  return text ? text : "which has other names";
}

void external_free_unused(External *x) {
  for (int i = 0; i < x->count; i++)
    if (!x->files[i].in_place) block_free(&x->files[i].block);
}

void external_free(External *x) {
  for (int i = 0; i < x->count; i++) block_free(&x->files[i].block);
}
