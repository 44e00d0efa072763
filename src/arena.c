/* Arena: chunks of memory, blocks cut from them in order. */
#include "arena.h"

#include "budget.h"
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#ifdef __wasm__
#include <unistd.h>
#endif
#ifdef __SANITIZE_ADDRESS__ /* no block owns what lies between two of them */
enum { GAP = 16 };
#else
enum { GAP = 0 };
#endif

struct ArenaChunk {
  ArenaChunk *next;
  size_t used, capacity;
  _Alignas(16) uint8_t bytes[];
};

/* Small chunks if the caller gave a fixed amount of memory. */
static size_t chunk_bytes(void) { return memory_given() ? 1024 : 16 * 1024; }

/* ---- what counts for the budget that is entered ---- */

#ifdef TRAINLET_MISSES /* tests let memory run out where they like: at the n-th chunk or block, or at the n-th piece   \
                          that is cut from a chunk, too */
extern long memory_countdown;
extern bool memory_counts_pieces;
long memory_countdown;
bool memory_counts_pieces;
static bool ends_here(bool piece) {
  return (!piece || memory_counts_pieces) && memory_countdown > 0 && --memory_countdown == 0;
}
#else
static bool ends_here(bool piece) { return (void)piece, false; }
#endif

static void *take(size_t bytes, Lifetime life) {
  if (!ends_here(false) && budget_take(bytes)) {
    void *block = memory_take(bytes, life);
    if (block) return block;
    budget_give(bytes);
    budget_lack(bytes);
  }
  budget_miss();
  return NULL;
}

static void give(void *block, size_t bytes) {
  if (block) budget_give(bytes);
  memory_give(block);
}

/* ---- arenas ---- */

static ArenaChunk *chunk_new(size_t capacity, Lifetime life) {
  size_t bytes;
  if (!size_add(sizeof(ArenaChunk), capacity, &bytes)) return budget_miss(), NULL;
  ArenaChunk *chunk = take(bytes, life);
  if (chunk) *chunk = (ArenaChunk){.capacity = capacity};
  return chunk;
}

static void *fail(Arena *arena) {
  arena->failed = true;
  budget_miss();
  return NULL;
}

void *arena_alloc(Arena *arena, size_t bytes) {
  size_t rounded;
  if (!size_add(bytes, 15 + GAP, &rounded) || ends_here(true)) return fail(arena);
  rounded &= ~(size_t)15;
  ArenaChunk *chunk = arena->chunk;
  if (!chunk || chunk->capacity - chunk->used < rounded) {
    bool large = rounded > chunk_bytes() / 4;
    ArenaChunk *fresh = chunk_new(large ? rounded : chunk_bytes(), arena->temporary ? TEMPORARY : LASTS);
    if (!fresh) return fail(arena);
    bool keep_cutting = chunk && large; /* a large block must not end a chunk that has room */
    fresh->next = keep_cutting ? chunk->next : chunk;
    if (keep_cutting) chunk->next = fresh;
    else arena->chunk = fresh;
    chunk = fresh;
  }
  void *block = chunk->bytes + chunk->used;
  chunk->used += rounded;
  arena->used_bytes += rounded - GAP;
  memset(block, 0, rounded - GAP);
  ASAN_POISON_MEMORY_REGION((char *)block + bytes, rounded - bytes);
  return block;
}

void *arena_alloc_array(Arena *arena, size_t count, size_t bytes) {
  size_t total;
  if (!size_multiply(count, bytes, &total)) return fail(arena);
  return arena_alloc(arena, total);
}

char *arena_copy_part(Arena *arena, const char *text, size_t bytes) {
  char *copy = arena_alloc(arena, bytes + 1);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

char *arena_copy_text(Arena *arena, const char *text) { return arena_copy_part(arena, text, strlen(text)); }

char *arena_print(Arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = length < 0 ? fail(arena) : arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void arena_free(Arena *arena) {
  for (ArenaChunk *chunk = arena->chunk, *next; chunk; chunk = next) {
    next = chunk->next;
    give(chunk, sizeof *chunk + chunk->capacity);
  }
  *arena = (Arena){0};
}

void arena_trim(Arena *arena) {
  ArenaChunk *chunk = arena->chunk;
  if (!chunk || !memory_trim(chunk, sizeof *chunk + chunk->used)) return;
  budget_give(chunk->capacity - chunk->used);
  chunk->capacity = chunk->used;
}

void *arena_list_grow(Arena *arena, void *items, int count, int *capacity, size_t item_bytes) {
  if (count < *capacity) return items;
  int grown = *capacity ? *capacity * 2 : 8;
  void *copy = arena_alloc_array(arena, (size_t)grown, item_bytes);
  if (!copy) return NULL;
  if (count) memcpy(copy, items, (size_t)count * item_bytes);
  *capacity = grown;
  return copy;
}

/* ---- blocks ---- */

/* Memory above it is zero: wasm's memory grows that way, and writing zeros would only touch every page. NULL where this
 * cannot be known. */
static char *heap_end(void) {
#ifdef __wasm__
  return sbrk(0);
#else
  return NULL;
#endif
}

bool block_reserve(Block *block, size_t bytes) {
  if (bytes <= block->capacity && block->raw) return true;
  block_free(block);
  size_t padded;
  if (!size_add(bytes, BLOCK_EXTRA, &padded)) return budget_miss(), false;
  if (!(block->raw = take(padded, LASTS))) return false;
  block->data = (void *)(((uintptr_t)block->raw + 63) & ~(uintptr_t)63);
  block->capacity = bytes;
  return true;
}

bool block_reserve_zeroed(Block *block, size_t bytes) {
  block_free(block);
  char *end = heap_end();
  if (!block_reserve(block, bytes)) return false;
  char *at = block->data;
  size_t used = !end ? bytes : at < end ? (size_t)(end - at) : 0;
  if (used) memset(at, 0, used < bytes ? used : bytes);
  return true;
}

void block_free(Block *block) {
  give(block->raw, block->capacity + BLOCK_EXTRA);
  *block = (Block){0};
}
