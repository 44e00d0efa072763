/* External data: files in which models and checkpoints keep parts of themselves. They are given as bytes and found by
 * name, only among those given. A file may be given in pieces, one for each tensor: then it is never there whole, and
 * its large matrices come one after the other once the model was read, all of them to the same place:
 *
 *   landing │ filler … the bytes of the largest │       the i-th piece is written from byte 16 · i on */
#pragma once
#include "arena.h"

typedef struct ExternalFile {
  const char *location;
  Block block;
  size_t bytes;
  bool in_place; /* values point into it */
  bool done;     /* it was read, and nothing needs it any more */
  bool spent;    /* reading it in place failed: it may have been changed */
  bool in_pieces;
} ExternalFile;

/* The bytes of a tensor. */
typedef struct ExternalPiece {
  int file;         /* among the files */
  const char *name; /* the tensor's */
  size_t offset, bytes;
  bool late;   /* it comes after the model was read, which until then has filler in its place */
  bool here;   /* it has come */
  Block block; /* the bytes of a piece that is not late */
} ExternalPiece;

typedef struct External {
  ExternalFile *files;
  int count, capacity;
  ExternalPiece *pieces;
  int piece_count, piece_capacity;
  Block landing;
  bool without_weights; /* floats may never come, nor files that nobody has given */
} External;

/* Returns the place to write the file's bytes to; the list lies in `arena`. NULL if memory is out. */
void *external_add(External *x, const char *location, size_t bytes, Arena *arena);

/* Returns the place to write a file that is no external data itself but is to be read in place. The file may replace
 * one that is done or spent. NULL if memory is out. */
void *external_add_file(External *x, size_t bytes, Arena *arena);

/* The file whose bytes these are; NULL when they are somewhere else. */
ExternalFile *external_at(const External *x, const void *bytes);

/* To be called after a file was read, `good` or not; `needed`: it is kept even so. */
void external_settle(ExternalFile *file, bool good, bool needed);

/* A file of so many bytes that is given in pieces; false when memory is out. */
bool external_add_in_pieces(External *x, const char *location, size_t bytes, Arena *arena);
/* Notes one more piece of such a file. False when memory is out. */
bool external_note_piece(External *x, ExternalPiece piece, Arena *arena);
/* Makes room for them. The filler is floats of which no two are equal, so that nobody takes them for anything. */
bool external_reserve_pieces(External *x);
void *external_piece_at(const External *x, const ExternalPiece *piece); /* the address to write to and to read from */

/* NULL when there is none. "./a" and "a" are the same location; nothing else in a location is treated as a path. x may
 * be NULL: no files. */
ExternalFile *external_find(const External *x, const char *location);

/* "which has 'a', 'b'" or "which has nothing", for the sentence about a location that is not there. */
const char *external_contents(const External *x, Arena *arena);

void external_free_unused(External *x); /* frees files into which no value points */
void external_free(External *x);
