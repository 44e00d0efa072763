/* Memory: from malloc, or the first free piece that fits of the bytes that were given.
 *
 *   │ Piece │ bytes of the block │ Piece │ bytes of the block │ …      from the first byte given to the last
 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

#include "arena.h"

static void *from_malloc(size_t bytes) { return aligned_alloc(16, bytes); /* emmalloc's malloc aligns to 8 only */ }

#ifdef __wasm__
/* Emmalloc adds a size to an address without checking for overflow, so near 4 GB a block may end beyond the memory. */
static bool ends_in_memory(const void *block, size_t bytes) {
  return (uint64_t)(uintptr_t)block + bytes <= (uint64_t)__builtin_wasm_memory_size(0) << 16;
}

static void *take(size_t bytes) {
  void *block = from_malloc(bytes);
  if (!block || ends_in_memory(block, bytes)) return block;
  free(block);
  return NULL;
}

void memory_give(void *block) { free(block); }
#else
#include <stdatomic.h>

#include "trainlet.h"

typedef struct Piece {
  _Alignas(16) size_t bytes; /* this struct's, too */
  bool used;
} Piece;

static struct {
  char *start, *end; /* NULL: memory is malloc's */
  char *most;        /* behind the last byte that was ever used */
} given;
static atomic_size_t blocks; /* taken and not given back */

static Piece *piece_after(Piece *p) { return (Piece *)((char *)p + p->bytes); }

static void join_free(Piece *p) {
  for (Piece *next = piece_after(p); (char *)next < given.end && !next->used; next = piece_after(p))
    p->bytes += next->bytes;
}

static void cut(Piece *p, size_t bytes) {
  size_t rest = p->bytes - bytes;
  if (rest < sizeof *p) return;
  p->bytes = bytes;
  *piece_after(p) = (Piece){.bytes = rest};
}

/* The lowest that fits: with fewer bytes given, the same calls find the same pieces. */
static void *from_given(size_t bytes) {
  if (!size_add(bytes, sizeof(Piece), &bytes)) return NULL;
  for (Piece *p = (Piece *)given.start; (char *)p < given.end; p = piece_after(p)) {
    if (p->used) continue;
    join_free(p);
    if (p->bytes < bytes) continue;
    cut(p, bytes);
    p->used = true;
    if ((char *)piece_after(p) > given.most) given.most = (char *)piece_after(p);
    return p + 1;
  }
  return NULL;
}

static void *take(size_t bytes) {
  void *block = given.start ? from_given(bytes) : from_malloc(bytes);
  if (block) atomic_fetch_add(&blocks, 1);
  return block;
}

void memory_give(void *block) {
  if (!block) return;
  atomic_fetch_sub(&blocks, 1);
  Piece *piece = (Piece *)block - 1;
  if (!given.start) return free(block);
  ASAN_UNPOISON_MEMORY_REGION(block, piece->bytes - sizeof *piece);
  piece->used = false;
}

size_t memory_given(void) { return (size_t)(given.end - given.start); }

bool trainlet_use_memory(void *bytes, size_t count) {
  uintptr_t start = ((uintptr_t)bytes + 15) & ~(uintptr_t)15, end = ((uintptr_t)bytes + count) & ~(uintptr_t)15;
  if (atomic_load(&blocks) || (bytes && count < 64)) return false;
  given.start = given.most = bytes ? (char *)start : NULL;
  given.end = bytes ? (char *)end : NULL;
  if (bytes) *(Piece *)given.start = (Piece){.bytes = (size_t)(given.end - given.start)};
  return true;
}

size_t trainlet_memory_used(void) { return (size_t)(given.most - given.start); }
#endif

void *memory_take(size_t bytes) {
  size_t padded;
  if (!size_add(bytes, 15, &padded)) return NULL;
  padded &= ~(size_t)15;
  return take(padded ? padded : 16);
}
