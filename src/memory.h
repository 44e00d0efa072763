/* Memory: what chunks and blocks are made of, pieces of malloc's or of the bytes that trainlet_use_memory was given. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#endif

typedef enum Lifetime {
  LASTS,
  TEMPORARY
} Lifetime; /* TEMPORARY: it is given back long before what is taken meanwhile */

/* 16-byte aligned; NULL when memory is out. */
void *memory_take(size_t bytes, Lifetime life);
void memory_give(void *block); /* NULL is ignored */

#ifdef __wasm__ /* there it grows as it is needed, and nobody gives any */
static inline size_t memory_given(void) { return 0; }
static inline bool memory_trim(void *block, size_t bytes) { return (void)block, (void)bytes, false; }
#else
/* Leaves the block so many of its bytes, a multiple of 16; false where memory is malloc's. */
bool memory_trim(void *block, size_t bytes);
size_t memory_given(void); /* bytes given; 0: memory is malloc's */
#endif
