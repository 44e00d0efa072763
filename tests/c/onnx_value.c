/* Values of ONNX's cases: from protobuf, into a session, against its outputs. */
#include "onnx_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "protobuf_wire.h"
#include "kernels/number.h"
#include "graph/strings.h"

/* ---- read ---- */

static Status read_tensors(Onnx__TensorProto *const *from, size_t count, Arena *arena, Error *error, OnnxValue *v) {
  v->tensors = ARENA_ARRAY(arena, Value, count);
  v->count = (int)count;
  for (size_t i = 0; i < count; i++) TRY(onnx_tensor_read(from[i], "value", v->name, arena, error, &v->tensors[i]));
  return STATUS_OK;
}

static Status read_sequence(const Onnx__SequenceProto *from, Arena *arena, Error *error, OnnxValue *v) {
  v->sequence = true;
  return read_tensors(from->tensor_values, from->n_tensor_values, arena, error, v);
}

static Status read_optional(const Onnx__OptionalProto *from, Arena *arena, Error *error, OnnxValue *v) {
  if (from->sequence_value) return read_sequence(from->sequence_value, arena, error, v);
  return read_tensors(&from->tensor_value, from->tensor_value != NULL, arena, error, v);
}

/* ONNX's Python keeps bfloat16 in files of uint16; the model says which it is. */
static Status read_tensor(Onnx__TensorProto *from, const Onnx__TypeProto__Tensor *declared, Arena *arena, Error *error,
                          OnnxValue *v) {
  if (from->data_type == DTYPE_UINT16 && declared->elem_type == DTYPE_BFLOAT16) from->data_type = DTYPE_BFLOAT16;
  return read_tensors(&from, 1, arena, error, v);
}

Status onnx_value_read(const Onnx__ValueInfoProto *info, const void *bytes, size_t count, Arena *arena, Error *error,
                       OnnxValue *out) {
  const Onnx__TypeProto *type = info->type;
  bool tensor = type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE,
       sequence = type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
  void *message = wire_unpack(tensor     ? &onnx__tensor_proto__descriptor
                              : sequence ? &onnx__sequence_proto__descriptor
                                         : &onnx__optional_proto__descriptor,
                              bytes, count, "value", STATUS_INVALID_MODEL, arena, error);
  *out = (OnnxValue){.name = info->name};
  if (!message) return error->status;
  return tensor   ? read_tensor(message, type->tensor_type, arena, error, out)
       : sequence ? read_sequence(message, arena, error, out)
                  : read_optional(message, arena, error, out);
}

/* ---- feed ---- */

static Status feed_strings(TrainletSession *s, const char *name, const Value *t) {
  const char *const *strings = t->data;
  size_t count = shape_elements(&t->shape), bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += strlen(strings[i]) + 1;
  char *to = trainlet_session_feed_text(s, TRAINLET_MODEL, name, t->shape.rank, t->shape.dim, bytes);
  for (size_t i = 0; to && i < count; i++) to = stpcpy(to, strings[i]) + 1;
  return trainlet_session_error(s)->status;
}

static Status feed_tensor(TrainletSession *s, const char *name, const Value *t) {
  if (t->type == DTYPE_STRING) return feed_strings(s, name, t);
  void *to = trainlet_session_feed(s, TRAINLET_MODEL, name, (int)t->type, t->shape.rank, t->shape.dim);
  if (to) memcpy(to, t->data, shape_elements(&t->shape) * dtype_bytes(t->type));
  return trainlet_session_error(s)->status;
}

Status onnx_value_feed(const OnnxValue *v, TrainletSession *s) {
  if (v->sequence) TRY(trainlet_session_feed_sequence(s, TRAINLET_MODEL, v->name, v->count));
  for (int i = 0; i < v->count; i++) TRY(feed_tensor(s, v->name, &v->tensors[i]));
  return STATUS_OK;
}

/* ---- compare ---- */

static double float_at(DType type, const void *data, size_t i) {
  Numbers one;
  return numbers_load(&one, data, type, i, 1, 1), one.floats[0];
}

static bool is_close(double got, double wanted, Tolerance t) {
  return got == wanted || (isnan(got) && isnan(wanted)) ||
         (isfinite(wanted) && fabs(got - wanted) <= t.absolute + t.relative * fabs(wanted));
}

static bool is_same(DType type, const void *got, const void *wanted, size_t i, Tolerance t) {
  size_t bytes = dtype_bytes(type);
  if (type == DTYPE_STRING)
    return strcmp(strings_text(((const char *const *)got)[i]), strings_text(((const char *const *)wanted)[i])) == 0;
  if (dtype_is_float(type)) return is_close(float_at(type, got, i), float_at(type, wanted, i), t);
  return memcmp((const char *)got + i * bytes, (const char *)wanted + i * bytes, bytes) == 0;
}

enum { ELEMENT_TEXT = 64 };
static const char *element_print(DType type, const void *data, size_t i, char text[ELEMENT_TEXT]) {
  Numbers one;
  if (type == DTYPE_STRING) snprintf(text, ELEMENT_TEXT, "'%.50s'", strings_text(((const char *const *)data)[i]));
  else if (dtype_is_float(type)) snprintf(text, ELEMENT_TEXT, "%.9g", float_at(type, data, i));
  else numbers_load(&one, data, type, i, 1, 1), snprintf(text, ELEMENT_TEXT, "%lld", (long long)one.ints[0]);
  return text;
}

static Status compare_tensor(const char *name, const TrainletTensor *got, const Value *wanted, Tolerance t,
                             Error *error) {
  if (wanted->type == DTYPE_BFLOAT16) t.relative = fmax(t.relative, 0x1p-6);
  Shape shape = shape_of(got->rank, got->dims);
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  if (got->type != (int)wanted->type || !shape_equal(&shape, &wanted->shape))
    return error_set(error, STATUS_INTERNAL, NULL, "'%s' is %s %s, wanted %s %s", name, dtype_name((DType)got->type),
                     shape_print(&shape, a), dtype_name(wanted->type), shape_print(&wanted->shape, b));
  for (size_t i = 0; i < got->count; i++)
    if (!is_same(wanted->type, got->data, wanted->data, i, t))
      return error_set(error, STATUS_INTERNAL, NULL, "element %zu of '%s' is %s, wanted %s", i, name,
                       element_print(wanted->type, got->data, i, a), element_print(wanted->type, wanted->data, i, b));
  return STATUS_OK;
}

/* The place of an output: before its tensors, if it is a sequence. -1 when there is none. */
static int find_output(const TrainletSession *s, const char *name) {
  const TrainletTensor *t;
  for (int i = 0; (t = trainlet_session_output(s, i)); i += t->rank == TRAINLET_SEQUENCE ? 1 + (int)t->count : 1)
    if (strcmp(t->name, name) == 0) return i;
  return -1;
}

Status onnx_value_compare(const OnnxValue *wanted, const TrainletSession *s, Tolerance t, Error *error) {
  int at = find_output(s, wanted->name), count = wanted->count;
  if (at < 0) return error_set(error, STATUS_INTERNAL, NULL, "there is no output '%s'", wanted->name);
  const TrainletTensor *got = trainlet_session_output(s, at);
  bool sequence = got->rank == TRAINLET_SEQUENCE, nothing = got->rank == TRAINLET_NOTHING;
  if (sequence != wanted->sequence || nothing != (!sequence && count == 0) || (sequence && (int)got->count != count))
    return error_set(error, STATUS_INTERNAL, NULL, "'%s' is no %s of %d tensors", wanted->name,
                     wanted->sequence ? "sequence" : "optional", count);
  for (int i = 0; i < count; i++)
    TRY(compare_tensor(wanted->name, trainlet_session_output(s, at + i + sequence), &wanted->tensors[i], t, error));
  return STATUS_OK;
}
