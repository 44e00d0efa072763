/* External data: files in which models and checkpoints keep parts of themselves. They are given as bytes and found by
 * name, only among those given. */
#pragma once
#include "arena.h"

typedef struct ExternalFile {
  const char *location;
  Block block;
  size_t bytes;
  bool in_place; /* values point into it */
  bool done;     /* it was read, and nothing needs it any more */
  bool spent;    /* reading it in place failed: it may have been changed */
} ExternalFile;

typedef struct External {
  ExternalFile *files;
  int count, capacity;
} External;

/* Where to write the file's bytes; the list lies in `arena`. NULL when memory is out. */
void *external_add(External *x, const char *location, size_t bytes, Arena *arena);

/* Where to write a file that is not external data itself but is to be read in place. It may take the place of a file
 * that is done or spent. */
void *external_add_file(External *x, size_t bytes, Arena *arena);

/* The file whose bytes these are; NULL when they are somewhere else. */
ExternalFile *external_at(const External *x, const void *bytes);

/* To be called after a file was read, `good` or not; `needed`: it is kept even so. */
void external_settle(ExternalFile *file, bool good, bool needed);

/* NULL when there is none. "./a" and "a" are the same location; nothing else in a location is treated as a path. x may
 * be NULL: no files. */
ExternalFile *external_find(const External *x, const char *location);

/* "which has 'a', 'b'" or "which has nothing", for the sentence about a location that is not there. */
const char *external_contents(const External *x, Arena *arena);

void external_free_unused(External *x); /* those that nothing points into */
void external_free(External *x);
