/* Tensors of ONNX files: raw bytes are used in place, typed fields are converted to the same form. */
#include <string.h>

#include "onnx/parts.h"

static Status tensor_shape(const Onnx__TensorProto *t, const char *what, const char *name, Error *error, Shape *out) {
  if (t->n_dims > RANK_MAX)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL, "%s '%.128s' has %zu dimensions, we have up to %d", what, name,
                     t->n_dims, RANK_MAX);
  *out = (Shape){.rank = (int)t->n_dims};
  for (int i = 0; i < out->rank; i++) {
    if (t->dims[i] < 0)
      return error_set(error, STATUS_INVALID_MODEL, NULL, "%s '%.128s' has the negative dimension %lld", what, name,
                       (long long)t->dims[i]);
    out->dim[i] = t->dims[i];
  }
  return STATUS_OK;
}

/* The typed field of the tensor's type: how many numbers it has, of how many bytes each. */
static const void *typed_field(const Onnx__TensorProto *t, DType type, size_t *count, size_t *bytes) {
  switch (type) {
    case DTYPE_FLOAT32: return *count = t->n_float_data, *bytes = 4, t->float_data;
    case DTYPE_FLOAT64: return *count = t->n_double_data, *bytes = 8, t->double_data;
    case DTYPE_INT64: return *count = t->n_int64_data, *bytes = 8, t->int64_data;
    case DTYPE_UINT32:
    case DTYPE_UINT64: return *count = t->n_uint64_data, *bytes = 8, t->uint64_data;
    case DTYPE_STRING: return *count = t->n_string_data, *bytes = sizeof(char *), NULL;
    default: return *count = t->n_int32_data, *bytes = 4, t->int32_data;
  }
}

/* Keeps the low `to` bytes of each number of `from` bytes, which is how little-endian two's complement is narrowed. */
static void *narrowed(const void *data, size_t count, size_t from, size_t to, Arena *arena) {
  uint8_t *out = arena_alloc_array(arena, count, to);
  if (!out) return NULL;
  for (size_t i = 0; i < count; i++) memcpy(out + i * to, (const uint8_t *)data + i * from, to);
  return out;
}

/* Pointers to the strings; a zero byte would end a string. NULL if there is one, or when memory is out. */
static void *read_strings(const Onnx__TensorProto *t, size_t count, Arena *arena) {
  const char **out = arena_alloc_array(arena, count, sizeof *out);
  for (size_t i = 0; out && i < count; i++) {
    ProtobufCBinaryData s = t->string_data[i];
    char *text = s.len && memchr(s.data, 0, s.len) ? NULL : arena_alloc(arena, s.len + 1);
    if (!(out[i] = text)) return NULL;
    if (s.len) memcpy(text, s.data, s.len);
  }
  return out;
}

/* Elements of 4 or 2 bits, the first in a byte's low bits, or of 8, bytes being `step` apart: each becomes a byte. */
static uint8_t *unpacked(const void *data, size_t step, size_t count, DType type, Arena *arena) {
  uint8_t *out = arena_alloc(arena, count);
  size_t packed = (size_t)dtype_packed(type), bits = 8 / packed;
  bool is_signed = type == DTYPE_INT4 || type == DTYPE_INT2;
  for (size_t i = 0; out && i < count; i++) {
    unsigned low = (unsigned)((const uint8_t *)data)[i / packed * step] >> (i % packed * bits) & ((1u << bits) - 1);
    out[i] = (uint8_t)(is_signed && low >> (bits - 1) ? low | ~0u << bits : low);
  }
  return out;
}

Onnx__TensorProto *onnx_tensor_widen(Onnx__TensorProto *t, Arena *arena, Error *error) {
  if (t->data_type != DTYPE_UINT4 && t->data_type != DTYPE_INT4) return t;
  Shape shape;
  size_t count;
  Onnx__TensorProto *wide = ARENA_NEW(arena, Onnx__TensorProto);
  if (!wide || tensor_shape(t, "initializer", t->name, error, &shape) != STATUS_OK) return NULL;
  bool counts = shape_count(&shape, &count), raw = t->has_raw_data;
  if (!counts || (raw ? t->raw_data.len : t->n_int32_data) != count / 2 + count % 2)
    return error_set(error, STATUS_INVALID_MODEL, NULL,
                     "initializer '%.128s' has not the data of its 4-bit numbers, two to a byte", t->name),
           NULL;
  *wide = *t;
  wide->data_type = t->data_type == DTYPE_INT4 ? DTYPE_INT8 : DTYPE_UINT8;
  wide->has_raw_data = true;
  wide->raw_data.len = count;
  wide->raw_data.data = unpacked(raw ? (const void *)t->raw_data.data : t->int32_data, raw ? 1 : sizeof *t->int32_data,
                                 count, (DType)t->data_type, arena);
  return wide->raw_data.data ? wide : NULL;
}

Status onnx_tensor_read(const Onnx__TensorProto *t, const char *what, const char *name, Arena *arena, Error *error,
                        Value *out) {
  DType type = (DType)t->data_type;
  size_t item = dtype_bytes(type), want, want_bytes, count, field_item;
  if (!item)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL, "%s '%.128s' has elements of type %s, which we lack", what,
                     name, dtype_name(type));
  out->name = name;
  out->type = type;
  out->kind = VALUE_CONSTANT;
  TRY(tensor_shape(t, what, name, error, &out->shape));
  char text[SHAPE_TEXT];
  if (!shape_count(&out->shape, &want) || !size_multiply(want, item, &want_bytes))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "%s '%.128s' of shape %s does not fit this machine's memory",
                     what, name, shape_print(&out->shape, text));
  size_t packed = (size_t)dtype_packed(type), elements = want;
  if (packed > 1) want = want_bytes = want / packed + (want % packed != 0);
  const void *field = typed_field(t, type, &count, &field_item);
  bool raw = t->has_raw_data && type != DTYPE_STRING, fits = raw ? t->raw_data.len == want_bytes : count == want;
  if (!fits)
    return error_set(error, STATUS_INVALID_MODEL, NULL, "%s '%.128s' of shape %s needs %zu %s of data, it has %zu",
                     what, name, shape_print(&out->shape, text), raw ? want_bytes : want,
                     raw                    ? "bytes"
                     : type == DTYPE_STRING ? "strings"
                                            : "numbers",
                     raw ? t->raw_data.len : count);
  /* protobuf-c leaves NULL for no bytes, but a constant has data. */
  out->data = want == 0            ? arena_alloc(arena, 0)
            : type == DTYPE_STRING ? read_strings(t, count, arena)
            : packed > 1         ? unpacked(raw ? t->raw_data.data : field, raw ? 1 : field_item, elements, type, arena)
            : raw                ? t->raw_data.data
            : field_item == item ? (void *)(uintptr_t)field
                                 : narrowed(field, count, field_item, item, arena);
  if (!out->data && type == DTYPE_STRING && !arena->failed)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL,
                     "%s '%.128s' has a string with a zero character, which we do not read", what, name);
  return out->data ? STATUS_OK : ERROR_MEMORY(error, "for %s '%.128s'", what, name);
}

static Onnx__TensorProto *write_strings(Onnx__TensorProto *t, const Value *v, Arena *arena) {
  const char *const *strings = v->data;
  t->n_string_data = shape_elements(&v->shape);
  if (!(t->string_data = arena_alloc_array(arena, t->n_string_data, sizeof *t->string_data))) return NULL;
  for (size_t i = 0; i < t->n_string_data; i++)
    t->string_data[i] = (ProtobufCBinaryData){strlen(strings[i]), (uint8_t *)(uintptr_t)strings[i]};
  return t;
}

static Onnx__TensorProto *write_packed(Onnx__TensorProto *t, const Value *v, Arena *arena) {
  size_t packed = (size_t)dtype_packed(v->type), bits = 8 / packed, count = shape_elements(&v->shape);
  t->raw_data.len = (count + packed - 1) / packed;
  if (!(t->raw_data.data = arena_alloc(arena, t->raw_data.len))) return NULL;
  for (size_t i = 0; i < count; i++)
    t->raw_data.data[i / packed] |= (uint8_t)((((const uint8_t *)v->data)[i] & ((1u << bits) - 1))
                                              << (i % packed * bits));
  return t;
}

Onnx__TensorProto *onnx_tensor_write(const Value *v, Arena *arena) {
  Onnx__TensorProto *t = ARENA_NEW(arena, Onnx__TensorProto);
  if (!t) return NULL;
  onnx__tensor_proto__init(t);
  t->name = (char *)(uintptr_t)v->name;
  t->has_data_type = true;
  t->data_type = (int32_t)v->type;
  t->n_dims = (size_t)v->shape.rank;
  t->dims = (int64_t *)(uintptr_t)v->shape.dim;
  if (v->type == DTYPE_STRING) return write_strings(t, v, arena);
  t->has_raw_data = true;
  t->raw_data.len = value_bytes(v);
  t->raw_data.data = v->data;
  return dtype_packed(v->type) > 1 ? write_packed(t, v, arena) : t;
}
