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

bool external_add_in_pieces(External *x, const char *location, size_t bytes, Arena *arena) {
  if (!external_add(x, location, 0, arena)) return false;
  ExternalFile *file = external_find(x, location);
  file->bytes = bytes;
  return file->in_pieces = true;
}

bool external_note_piece(External *x, ExternalPiece piece, Arena *arena) {
  ExternalPiece *grown = arena_list_grow(arena, x->pieces, x->piece_count, &x->piece_capacity, sizeof *grown);
  if (!grown) return false;
  x->pieces = grown;
  return grown[x->piece_count++] = piece, true;
}

static void fill(Block *landing) {
  float *x = landing->data;
  for (size_t i = 0; i < landing->capacity / sizeof *x; i++) x[i] = (float)(uint32_t)(i * 2654435761u) * 0x1p-38f;
}

bool external_reserve_pieces(External *x) {
  size_t most = 0;
  for (int i = 0; i < x->piece_count; i++) {
    ExternalPiece *piece = &x->pieces[i];
    if (!piece->late && !block_reserve(&piece->block, piece->bytes)) return false;
    if (piece->late && piece->bytes > most) most = piece->bytes;
  }
  if (!most) return true;
  size_t bytes;
  if (!size_add(most, (size_t)x->piece_count * 16, &bytes) || !block_reserve(&x->landing, bytes)) return false;
  return fill(&x->landing), true;
}

void *external_piece_at(const External *x, const ExternalPiece *piece) {
  return piece->late ? (char *)x->landing.data + 16 * (piece - x->pieces) : piece->block.data;
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
  for (int i = 0; i < x->piece_count; i++) block_free(&x->pieces[i].block);
  block_free(&x->landing);
  for (int i = 0; i < x->count; i++) block_free(&x->files[i].block);
}
