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

static const char *plain(const char *location) { return strncmp(location, "./", 2) == 0 ? location + 2 : location; }

ExternalFile *external_find(const External *x, const char *location) {
  for (int i = 0; x && i < x->count; i++)
    if (strcmp(plain(x->files[i].location), plain(location)) == 0) return &x->files[i];
  return NULL;
}

const char *external_contents(const External *x, Arena *arena) {
  const char *text = x && x->count ? "which has " : "which has nothing";
  for (int i = 0; text && x && i < x->count; i++) text = arena_print(arena, "%s%s'%s'", text, i ? ", " : "", x->files[i].location);
  return text ? text : "which has other names";
}

void external_free_unused(External *x) {
  for (int i = 0; i < x->count; i++)
    if (!x->files[i].in_place) block_free(&x->files[i].block);
}

void external_free(External *x) {
  for (int i = 0; i < x->count; i++) block_free(&x->files[i].block);
}
