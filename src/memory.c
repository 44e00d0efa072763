/* Memory: from malloc, or a free piece that fits of the bytes that were given: the first of them for what lasts, the
 * last for what is temporary, so that this leaves no gaps.
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

static void *take(size_t bytes, Lifetime life) {
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
  uint8_t life; /* a Lifetime, where it is used */
} Piece;

static struct {
  char *start, *end; /* NULL: memory is malloc's */
  size_t least_room; /* the fewest bytes there ever were between what lasts and what is temporary */
} given;
static atomic_size_t blocks; /* taken and not given back */

static Piece *piece_after(const Piece *p) { return (Piece *)((char *)(uintptr_t)p + p->bytes); }
static Piece *first_piece(void) { return (Piece *)(void *)given.start; }
static bool is_piece(const Piece *p) { return (const char *)p < given.end; }

static void join_free(Piece *p) {
  for (Piece *next = piece_after(p); is_piece(next) && !next->used; next = piece_after(p)) p->bytes += next->bytes;
}

static void cut(Piece *p, size_t bytes) {
  size_t rest = p->bytes - bytes;
  if (rest < sizeof *p) return;
  p->bytes = bytes;
  *piece_after(p) = (Piece){.bytes = rest};
}

/* The piece of so many bytes: with fewer bytes given, the same calls find the same ones. */
static Piece *find_free(size_t bytes, Lifetime life) {
  Piece *found = NULL;
  for (Piece *p = first_piece(); is_piece(p) && !(found && life == LASTS); p = piece_after(p)) {
    if (p->used) continue;
    join_free(p);
    if (p->bytes >= bytes) found = p;
  }
  if (!found || life == LASTS || found->bytes - bytes < sizeof *found) return found;
  cut(found, found->bytes - bytes);
  return piece_after(found);
}

static void note_room(void) {
  const char *lasting = given.start, *temporary = given.end;
  for (const Piece *p = first_piece(); is_piece(p); p = piece_after(p)) {
    if (p->used && p->life == LASTS) lasting = (char *)piece_after(p);
    else if (p->used && temporary == given.end) temporary = (const char *)p;
  }
  size_t room = lasting < temporary ? (size_t)(temporary - lasting) : 0;
  if (room < given.least_room) given.least_room = room;
}

static void *from_given(size_t bytes, Lifetime life) {
  if (!size_add(bytes, sizeof(Piece), &bytes)) return NULL;
  Piece *p = find_free(bytes, life);
  if (!p) return NULL;
  cut(p, bytes);
  p->used = true;
  p->life = (uint8_t)life;
  note_room();
  return p + 1;
}

static void *take(size_t bytes, Lifetime life) {
  void *block = given.start ? from_given(bytes, life) : from_malloc(bytes);
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

bool memory_trim(void *block, size_t bytes) {
  if (!given.start) return false;
  Piece *piece = (Piece *)block - 1;
  ASAN_UNPOISON_MEMORY_REGION((char *)block + bytes, piece->bytes - sizeof *piece - bytes);
  cut(piece, bytes + sizeof *piece);
  return true;
}

size_t memory_given(void) { return (size_t)(given.end - given.start); }

bool trainlet_use_memory(void *bytes, size_t count) {
  uintptr_t start = ((uintptr_t)bytes + 15) & ~(uintptr_t)15, end = ((uintptr_t)bytes + count) & ~(uintptr_t)15;
  if (atomic_load(&blocks) || (bytes && count < 64)) return false;
  given.start = bytes ? (char *)start : NULL;
  given.end = bytes ? (char *)end : NULL;
  given.least_room = memory_given();
  if (bytes) *first_piece() = (Piece){.bytes = memory_given()};
  return true;
}

size_t trainlet_memory_used(void) { return memory_given() - given.least_room; }
#endif

void *memory_take(size_t bytes, Lifetime life) {
  size_t padded;
  if (!size_add(bytes, 15, &padded)) return NULL;
  padded &= ~(size_t)15;
  return take(padded ? padded : 16, life);
}
