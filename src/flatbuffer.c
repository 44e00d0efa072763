/* FlatBuffers by hand: no offset is followed before it has been checked. */
#include "flatbuffer.h"

#include <string.h>

#include "utf8.h"

/* Little-endian, at any alignment. */
static uint64_t read_bytes(const FlatBytes *f, size_t at, size_t bytes) {
  uint64_t x = 0;
  for (size_t i = 0; i < bytes; i++) x |= (uint64_t)f->bytes[at + i] << (8 * i);
  return x;
}

static bool inside(FlatBytes *f, size_t at, size_t bytes) {
  if (at <= f->count && bytes <= f->count - at) return true;
  f->damaged = true;
  return false;
}

/* Writers share names among the tables that use them, so even in an honest file some bytes are read several times. */
FlatBytes flat_bytes(const void *bytes, size_t count) {
  enum { TIMES = 16, SMALL = 1 << 16 };
  return (FlatBytes){bytes, count, count < (SIZE_MAX - SMALL) / TIMES ? count * TIMES + SMALL : SIZE_MAX, false};
}

static bool spend(FlatBytes *f, size_t bytes) {
  if (bytes > f->budget) return f->damaged = true, f->budget = 0, false;
  f->budget -= bytes;
  return true;
}

static FlatTable table_at(FlatBytes *f, size_t at) {
  FlatTable none = {0};
  if (!inside(f, at, 4)) return none;
  int64_t vtable = (int64_t)at - (int32_t)read_bytes(f, at, 4);
  if (vtable < 0 || (uint64_t)vtable > f->count) return f->damaged = true, none;
  FlatTable t = {f, at, (size_t)vtable, 0};
  if (!inside(f, t.vtable, 4)) return none;
  t.vtable_bytes = (size_t)read_bytes(f, t.vtable, 2);
  if (t.vtable_bytes < 4 || !inside(f, t.vtable, t.vtable_bytes)) return f->damaged = true, none;
  return t;
}

/* Finds the offset of a field; false if the field is absent. */
static bool field_at(FlatTable t, int field, size_t bytes, size_t *at) {
  size_t slot = 4 + 2 * (size_t)field;
  if (!t.from || slot + 2 > t.vtable_bytes) return false;
  size_t offset = (size_t)read_bytes(t.from, t.vtable + slot, 2);
  *at = t.at + offset;
  return offset != 0 && inside(t.from, *at, bytes);
}

static bool follow(FlatBytes *f, size_t at, size_t *to) {
  size_t offset = (size_t)read_bytes(f, at, 4);
  if (offset > f->count - at) return f->damaged = true, false;
  *to = at + offset;
  return inside(f, *to, 4);
}

FlatTable flat_root(FlatBytes *f) {
  size_t at;
  return inside(f, 0, 8) && follow(f, 0, &at) ? table_at(f, at) : (FlatTable){0};
}

FlatTable flat_table(FlatTable t, int field) {
  size_t at, to;
  return field_at(t, field, 4, &at) && follow(t.from, at, &to) ? table_at(t.from, to) : (FlatTable){0};
}

static FlatVector vector_at(FlatBytes *f, size_t at, size_t element_bytes) {
  size_t count = (size_t)read_bytes(f, at, 4), bytes;
  if (!size_multiply(count, element_bytes, &bytes) || !inside(f, at + 4, bytes))
    return f->damaged = true, (FlatVector){0};
  return spend(f, bytes + 4) ? (FlatVector){f, at + 4, count} : (FlatVector){0};
}

FlatVector flat_vector(FlatTable t, int field, size_t element_bytes) {
  size_t at, to;
  bool there = field_at(t, field, 4, &at) && follow(t.from, at, &to);
  return there ? vector_at(t.from, to, element_bytes) : (FlatVector){0};
}

FlatTable flat_element(FlatVector v, size_t i) {
  size_t to;
  return i < v.count && follow(v.from, v.at + 4 * i, &to) ? table_at(v.from, to) : (FlatTable){0};
}

const uint8_t *flat_data(FlatVector v) { return v.from ? v.from->bytes + v.at : NULL; }
int64_t flat_int64_element(FlatVector v, size_t i) {
  return i < v.count ? (int64_t)read_bytes(v.from, v.at + 8 * i, 8) : 0;
}

int32_t flat_int32(FlatTable t, int field, int32_t otherwise) {
  size_t at;
  return field_at(t, field, 4, &at) ? (int32_t)read_bytes(t.from, at, 4) : otherwise;
}
int64_t flat_int64(FlatTable t, int field, int64_t otherwise) {
  size_t at;
  return field_at(t, field, 8, &at) ? (int64_t)read_bytes(t.from, at, 8) : otherwise;
}
float flat_float(FlatTable t, int field, float otherwise) {
  int32_t bits;
  memcpy(&bits, &otherwise, sizeof bits);
  bits = flat_int32(t, field, bits);
  memcpy(&otherwise, &bits, sizeof bits);
  return otherwise;
}
uint8_t flat_byte(FlatTable t, int field) {
  size_t at;
  return field_at(t, field, 1, &at) ? t.from->bytes[at] : 0;
}

static const char *copy_string(FlatVector v, Arena *arena) {
  char *copy = arena_alloc(arena, v.count + 1);
  if (!copy || !v.count) return copy;
  memcpy(copy, flat_data(v), v.count);
  if (strlen(copy) != v.count || utf8_whole(copy, v.count) != v.count) v.from->damaged = true;
  return copy;
}

const char *flat_string(FlatTable t, int field, Arena *arena) { return copy_string(flat_vector(t, field, 1), arena); }

const char *flat_string_element(FlatVector v, size_t i, Arena *arena) {
  size_t to;
  bool there = i < v.count && follow(v.from, v.at + 4 * i, &to);
  return copy_string(there ? vector_at(v.from, to, 1) : (FlatVector){0}, arena);
}

/* ---- writing ---- */

/* Room for `bytes` zeroed bytes whose start, plus `shift`, is a multiple of `align`. */
static size_t put_room(FlatWriter *w, size_t bytes, size_t align, size_t shift) {
  size_t at = w->count, end;
  while ((at + shift) % align) at++;
  if (w->failed || !size_add(at, bytes, &end) || end > INT32_MAX) return w->failed = true, 0;
  if (end > w->block.capacity) {
    Block grown = {0};
    if (!block_reserve(&grown, end > SIZE_MAX / 2 ? end : end * 2)) return w->failed = true, 0;
    if (w->count) memcpy(grown.data, w->block.data, w->count);
    block_free(&w->block);
    w->block = grown;
  }
  memset((uint8_t *)w->block.data + w->count, 0, end - w->count);
  w->count = end;
  return at;
}

void flat_set(FlatWriter *w, size_t place, const void *value, size_t bytes) {
  if (!w->failed && bytes) memcpy((uint8_t *)w->block.data + place, value, bytes);
}

static void set_number(FlatWriter *w, size_t place, uint32_t x, size_t bytes) {
  uint8_t little[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
  flat_set(w, place, little, bytes);
}

void flat_point(FlatWriter *w, size_t place, size_t to) { set_number(w, place, (uint32_t)(to - place), 4); }

/* The vtable goes right before its table; fields in order, each aligned to its size. */
size_t flat_put_table(FlatWriter *w, int field_count, const uint8_t *field_bytes, size_t *places) {
  size_t vtable_bytes = 4 + 2 * (size_t)field_count, table_bytes = 4;
  for (int i = 0; i < field_count; i++) {
    while (field_bytes[i] && table_bytes % field_bytes[i]) table_bytes++;
    places[i] = table_bytes;
    table_bytes += field_bytes[i];
  }
  size_t vtable = put_room(w, vtable_bytes, 8, vtable_bytes), table = put_room(w, table_bytes, 8, 0);
  set_number(w, vtable, (uint32_t)vtable_bytes, 2);
  set_number(w, vtable + 2, (uint32_t)table_bytes, 2);
  for (int i = 0; i < field_count; i++) {
    set_number(w, vtable + 4 + 2 * (size_t)i, field_bytes[i] ? (uint32_t)places[i] : 0, 2);
    places[i] += table;
  }
  set_number(w, table, (uint32_t)(table - vtable), 4);
  return table;
}

size_t flat_put_vector(FlatWriter *w, size_t count, size_t element_bytes) {
  size_t bytes;
  if (!size_multiply(count, element_bytes, &bytes) || bytes > INT32_MAX) return w->failed = true, 0;
  size_t place = put_room(w, 4 + bytes, element_bytes > 4 ? element_bytes : 4, 4);
  set_number(w, place, (uint32_t)count, 4);
  return place;
}

size_t flat_put_string(FlatWriter *w, const char *text) {
  size_t length = strlen(text), place = put_room(w, 4 + length + 1, 4, 0);
  set_number(w, place, (uint32_t)length, 4);
  flat_set(w, place + 4, text, length);
  return place;
}
