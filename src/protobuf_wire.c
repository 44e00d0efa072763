/* Wire: protobuf bytes checked before protobuf-c sees them, then unpacked into an arena.
 *
 * protobuf-c recurses for each nested message, on a stack that is small in wasm; it merges a message field that comes
 * twice by copying both, ends strings at a NUL, and multiplies element counts in size_t. So the bytes are first walked
 * along protobuf-c's own descriptors, and what no exporter writes is refused: deep nesting, a singular message field
 * that comes twice, NULs in names, names that are not UTF-8 (JavaScript would confuse them), counts that could
 * overflow. */
#include "protobuf_wire.h"

#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

enum {
  DEPTH_MAX = 32
}; /* a sequence-typed value in a subgraph of a subgraph is 15 deep; a level costs about 1.2 KB of stack */

typedef struct Walk {
  const uint8_t *start;
  const char *what;
  size_t packed; /* bytes of packed numbers so far: each byte may become 8 */
  Status status;
  Error *error;
} Walk;

typedef struct Span {
  const uint8_t *at, *end;
} Span;

static Status damaged(Walk *w, const uint8_t *at) {
  return error_set(w->error, w->status, NULL, "the bytes are not a whole %s: they stop making sense at byte %zu",
                   w->what, (size_t)(at - w->start));
}

static bool read_varint(Span *s, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 70 && s->at < s->end; shift += 7) {
    uint8_t byte = *s->at++;
    if (shift < 64) *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

static bool skip(Span *s, uint64_t bytes) {
  if (bytes > (uint64_t)(s->end - s->at)) return false;
  s->at += bytes;
  return true;
}

static Status check_text(Walk *w, Span s) {
  size_t count = (size_t)(s.end - s.at), whole = utf8_whole(s.at, count), start = (size_t)(s.at - w->start);
  if (whole < count)
    return error_set(w->error, w->status, NULL, "a text of the %s is not UTF-8, at byte %zu", w->what, start + whole);
  if (!memchr(s.at, 0, count)) return STATUS_OK;
  return error_set(w->error, w->status, NULL, "a text of the %s has a zero byte in it, at byte %zu", w->what, start);
}

static Status walk_message(Walk *w, const ProtobufCMessageDescriptor *type, Span s, int depth);

/* One length-delimited field whose contents are `inner`. */
static Status walk_field(Walk *w, const ProtobufCFieldDescriptor *field, Span inner, int depth) {
  switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE: return walk_message(w, field->descriptor, inner, depth + 1);
    case PROTOBUF_C_TYPE_BYTES: return STATUS_OK;
    case PROTOBUF_C_TYPE_STRING: return check_text(w, inner);
    default:
      w->packed += (size_t)(inner.end - inner.at);
      if (w->packed <= SIZE_MAX / 16) return STATUS_OK;
      return error_set(w->error, STATUS_OUT_OF_MEMORY, NULL,
                       "the %s has more numbers outside of raw data than fit this machine", w->what);
  }
}

static Status walk_message(Walk *w, const ProtobufCMessageDescriptor *type, Span s, int depth) {
  if (depth > DEPTH_MAX)
    return error_set(w->error, w->status, NULL, "the %s is nested deeper than %d levels", w->what, DEPTH_MAX);
  uint64_t seen = 0; /* bit i: the message field i came; no type of ours has more than 64 fields */
  while (s.at < s.end) {
    const uint8_t *field_start = s.at;
    uint64_t tag, number;
    if (!read_varint(&s, &tag) || tag >> 3 == 0 || tag > UINT32_MAX) return damaged(w, field_start);
    bool good = false;
    switch (tag & 7) {
      case PROTOBUF_C_WIRE_TYPE_VARINT: good = read_varint(&s, &number); break;
      case PROTOBUF_C_WIRE_TYPE_64BIT: good = skip(&s, 8); break;
      case PROTOBUF_C_WIRE_TYPE_32BIT: good = skip(&s, 4); break;
      case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED: good = read_varint(&s, &number) && skip(&s, number); break;
    }
    if (!good) return damaged(w, field_start);
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
    if (!field || (tag & 7) != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) continue;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED) {
      uint64_t bit = (uint64_t)1 << ((field - type->fields) & 63);
      if (seen & bit) return damaged(w, field_start);
      seen |= bit;
    }
    TRY(walk_field(w, field, (Span){s.at - number, s.at}, depth));
  }
  return STATUS_OK;
}

static void *arena_allocate(void *arena, size_t bytes) { return arena_alloc(arena, bytes); }
static void arena_keep(void *arena, void *block) { (void)arena, (void)block; }

static bool walk(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, const char *what,
                 Status status, Error *error) {
  Walk walk = {.start = bytes, .what = what, .status = status, .error = error};
  return !count || walk_message(&walk, type, (Span){bytes, bytes + count}, 1) == STATUS_OK;
}

void *wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, const char *what,
                  Status status, Arena *arena, Error *error) {
  if (!walk(type, bytes, count, what, status, error)) return NULL;
  ProtobufCAllocator allocator = {.alloc = arena_allocate, .free = arena_keep, .allocator_data = arena};
  void *message = protobuf_c_message_unpack(type, &allocator, count, bytes);
  if (message) return message;
  if (arena->failed) ERROR_MEMORY(error, "while reading a %s of %zu bytes", what, count);
  else error_set(error, status, NULL, "the bytes are not a whole %s: a field has the wrong kind", what);
  return NULL;
}

/* ---- a copy of a model without its large initializers' data ---- */

enum {
  MODEL_GRAPH = 7 << 3 | 2,
  GRAPH_INITIALIZER = 5 << 3 | 2,
  TENSOR_RAW_DATA = 9 << 3 | 2, /* tags of onnx.proto */
  TENSOR_EXTERNAL_DATA = 13 << 3 | 2,
  TENSOR_DATA_LOCATION = 14 << 3,
  LARGE =
      1 << 16, /* bytes. Four of tag and length before these, and four before the tensor: room to move the data by 7 */
  ALIGNED = 8,
};
static const uint64_t path[] = {MODEL_GRAPH, GRAPH_INITIALIZER, TENSOR_RAW_DATA};
enum { IN_TENSOR = 2 };

typedef struct Writer {
  uint8_t *to; /* NULL: only counts */
  size_t count;
  uint8_t *file;
  const char *location;
} Writer;

static void put(Writer *w, const void *bytes, size_t count) {
  if (w->to) memcpy(w->to + w->count, bytes, count);
  w->count += count;
}

static void put_varint(Writer *w, uint64_t number) {
  for (; number >= 0x80; number >>= 7) put(w, &(uint8_t){(uint8_t)(number | 0x80)}, 1);
  put(w, &(uint8_t){(uint8_t)number}, 1);
}

static void put_text(Writer *w, uint64_t tag, const char *text) {
  put_varint(w, tag);
  put_varint(w, strlen(text));
  put(w, text, strlen(text));
}

static void put_entry(Writer *w, const char *key, const char *value) {
  put_varint(w, TENSOR_EXTERNAL_DATA);
  put_varint(w, strlen(key) + strlen(value) + 4);
  put_text(w, 1 << 3 | 2, key);
  put_text(w, 2 << 3 | 2, value);
}

/* Data `s` of the file as external data. */
static void put_reference(Writer *w, Span s) {
  char offset[24], length[24];
  size_t bytes = (size_t)(s.end - s.at), aligned = (size_t)(s.at - w->file) / ALIGNED * ALIGNED;
  if (w->to) memmove(w->file + aligned, s.at, bytes);
  snprintf(offset, sizeof offset, "%zu", aligned);
  snprintf(length, sizeof length, "%zu", bytes);
  put_entry(w, "location", w->location);
  put_entry(w, "offset", offset);
  put_entry(w, "length", length);
  put_varint(w, TENSOR_DATA_LOCATION);
  put_varint(w, 1);
}

/* The next field of a walked message, and what is inside if it has a length. */
static bool next_field(Span *s, uint64_t *tag, Span *inner) {
  uint64_t number = 0;
  if (!read_varint(s, tag)) return false;
  *inner = *s;
  switch (*tag & 7) {
    case PROTOBUF_C_WIRE_TYPE_VARINT: return read_varint(s, &number);
    case PROTOBUF_C_WIRE_TYPE_64BIT: return skip(s, 8);
    case PROTOBUF_C_WIRE_TYPE_32BIT: return skip(s, 4);
  }
  if (!read_varint(s, &number)) return false;
  *inner = (Span){s->at, s->at + number};
  return skip(s, number);
}

/* Its data is large, comes once, and is not said to be elsewhere. */
static bool may_refer(Span tensor) {
  int large = 0, others = 0;
  uint64_t tag;
  for (Span inner; next_field(&tensor, &tag, &inner);) {
    bool data = tag == TENSOR_RAW_DATA;
    large += data && inner.end - inner.at >= LARGE;
    others += (data && inner.end - inner.at < LARGE) || tag == TENSOR_EXTERNAL_DATA || tag == TENSOR_DATA_LOCATION;
  }
  return large == 1 && others == 0;
}

/* Copies the message at `level` of the path. */
static void put_message(Writer *w, Span s, int level) {
  bool refers = level == IN_TENSOR && may_refer(s);
  uint64_t tag;
  for (Span inner, field = s; next_field(&s, &tag, &inner); field = s) {
    if (tag == path[level] && level < IN_TENSOR) {
      Writer counter = {.file = w->file, .location = w->location};
      put_message(&counter, inner, level + 1);
      put_varint(w, tag);
      put_varint(w, counter.count);
      put_message(w, inner, level + 1);
    } else if (tag == TENSOR_RAW_DATA && refers) {
      put_reference(w, inner);
    } else {
      put(w, field.at, (size_t)(s.at - field.at));
    }
  }
}

void *wire_unpack_file(const ProtobufCMessageDescriptor *type, uint8_t *bytes, size_t count, const char *location,
                       const char *what, Status status, Arena *arena, Error *error) {
  if (!walk(type, bytes, count, what, status, error)) return NULL; /* while it is whole: errors say at which byte */
  Writer w = {.file = bytes, .location = location};
  put_message(&w, (Span){bytes, bytes + count}, 0);
  if (!(w.to = arena_alloc(arena, w.count))) {
    ERROR_MEMORY(error, "while reading a %s of %zu bytes", what, count);
    return NULL;
  }
  w.count = 0;
  put_message(&w, (Span){bytes, bytes + count}, 0);
  return wire_unpack(type, w.to, w.count, what, status, arena, error);
}
