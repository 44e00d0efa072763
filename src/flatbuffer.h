/* FlatBuffers by hand: reading that checks every offset against the bytes, writing parents before children.
 *
 *   table ─ −soffset ─▶ vtable [bytes][table bytes][offset of field 0][offset of field 1] …
 *   field of table, vector or string kind ─ +uoffset ─▶ it        (format: the FlatBuffers "Internals" page)
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* ---- reading ---- */
typedef struct FlatBytes {
  const uint8_t *bytes;
  size_t count;
  size_t budget; /* bytes of vectors that may still be looked at: offsets of a hostile file lead to the same ones again
                    and again */
  bool damaged;  /* an offset led outside (everything read since then is empty), or a text is not valid */
} FlatBytes;

typedef struct FlatTable {
  FlatBytes *from; /* NULL: the table is absent */
  size_t at, vtable, vtable_bytes;
} FlatTable;

typedef struct FlatVector {
  FlatBytes *from;
  size_t at; /* element 0's */
  size_t count;
} FlatVector;

FlatBytes flat_bytes(const void *bytes, size_t count);
FlatTable flat_root(FlatBytes *from);
FlatTable flat_table(FlatTable t, int field);
/* Elements of `element_bytes` each; empty when absent. */
FlatVector flat_vector(FlatTable t, int field, size_t element_bytes);
FlatTable flat_element(FlatVector v, size_t i); /* takes a vector of tables (element_bytes 4) */
const uint8_t *flat_data(FlatVector v);
int32_t flat_int32(FlatTable t, int field, int32_t otherwise);
int64_t flat_int64(FlatTable t, int field, int64_t otherwise);
float flat_float(FlatTable t, int field, float otherwise);
uint8_t flat_byte(FlatTable t, int field); /* 0 when absent */
/* A copy that ends in NUL, "" when absent. A NUL inside and what is not UTF-8 count as damage. NULL when memory is out.
 */
const char *flat_string(FlatTable t, int field, Arena *arena);
const char *flat_string_element(FlatVector v, size_t i, Arena *arena); /* takes a vector of strings (element_bytes 4) */
int64_t flat_int64_element(FlatVector v, size_t i);

/* ---- writing: everything goes to one Block; places are offsets from its start ---- */
typedef struct FlatWriter {
  Block block;
  size_t count;
  bool failed; /* out of memory, or over the format's 2 GB */
} FlatWriter;

/* A table whose field i has field_bytes[i] bytes (0: absent). places[i] becomes where to write the field. Gives the
 * table's place. */
size_t flat_put_table(FlatWriter *w, int field_count, const uint8_t *field_bytes, size_t *places);
size_t flat_put_vector(FlatWriter *w, size_t count, size_t element_bytes); /* zeroed; the place of its length word */
size_t flat_put_string(FlatWriter *w, const char *text);
void flat_set(FlatWriter *w, size_t place, const void *value, size_t bytes);
void flat_point(FlatWriter *w, size_t place, size_t to); /* the uoffset at `place` leads to `to`, which lies after it */
