/* External data: a list of files by name. */
#include "external.h"

#include <string.h>

void *external_add(External *x, const char *location, size_t bytes, Arena *arena) {
  ExternalFile *grown = arena_list_grow(arena, x->files, x->count, &x->capacity, sizeof *grown);
  if (!grown) return NULL;
  x->files = grown;
  ExternalFile *file = &x->files[x->count];
  *file = (ExternalFile){.location = arena_copy_text(arena, location), .bytes = bytes};
  if (!file->location || !block_reserve(&file->block, bytes)) return NULL;
  x->count++;
  return file->block.data;
}

enum { OWN = 1 }; /* the first letter of a name that no user gives */

void *external_add_file(External *x, size_t bytes, Arena *arena) {
  const char *name = arena_print(arena, "%c%d", OWN, x->count);
  return name ? external_add(x, name, bytes, arena) : NULL;
}

ExternalFile *external_at(const External *x, const void *bytes) {
  for (int i = 0; x && i < x->count; i++)
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
