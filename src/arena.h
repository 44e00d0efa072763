/* Arena: memory that is freed all at once.
 *
 *   Arena ─▶ chunk ─▶ chunk ─▶ …      blocks are cut from the newest chunk, 16-byte aligned and zeroed
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "size.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  ArenaChunk *chunk;
  size_t used_bytes; /* handed out so far */
  bool failed;       /* an allocation has failed since arena_free */
  bool temporary;    /* it is freed long before what is made meanwhile: its chunks come from the other end (memory.h) */
} Arena;

/* Zeroed bytes, 16-byte aligned; NULL when memory is out (and `failed` is set). 0 bytes give a valid pointer. */
void *arena_alloc(Arena *arena, size_t bytes);

/* count × bytes, checked. */
void *arena_alloc_array(Arena *arena, size_t count, size_t bytes);

char *arena_copy_text(Arena *arena, const char *text);
char *arena_copy_part(Arena *arena, const char *text, size_t bytes); /* and a zero byte */
/* NULL, as out of memory, where it would be 2 GB. */
char *arena_print(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(Arena *arena);
void arena_trim(Arena *arena); /* gives back what is left of the newest chunk, where memory can take it */

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc_array((arena), (size_t)(count), sizeof(Type)))

/* A list that grows by doubling inside an arena: room for one more item, or NULL. */
void *arena_list_grow(Arena *arena, void *items, int count, int *capacity, size_t item_bytes);

/* One growable block outside any arena (the step arena, a feed): contents are not kept. False when memory is out. */
typedef struct Block {
  void *data; /* 64-byte aligned */
  void *raw;
  size_t capacity;
} Block;
bool block_reserve(Block *block, size_t bytes);
bool block_reserve_zeroed(Block *block,
                          size_t bytes); /* all bytes are zero, and pages of them that nobody uses cost nothing */
void block_free(Block *block);
