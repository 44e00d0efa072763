/* Sparse tensors of ONNX files become dense ones: values, and where each stands, in ascending order.
 *
 *   dims (2, 3)   values 5 7   indices 1 3, or (0, 1) (1, 0)   ─▶   0 5 0   7 0 0
 */
#include <string.h>

#include "onnx/parts.h"

typedef struct Sparse {
  const char *what, *name;
  const Onnx__SparseTensorProto *from;
  Error *error;
  Value values, indices;
  size_t count; /* number of values */
} Sparse;

static Status refuse(const Sparse *s, const char *why) {
  return error_set(s->error, STATUS_INVALID_MODEL, NULL, "%s '%.128s' is a sparse tensor %s", s->what, s->name, why);
}

static Status read_parts(Sparse *s, Arena *arena) {
  const Onnx__SparseTensorProto *t = s->from;
  if (!t->values || !t->indices) return refuse(s, "without values or indices");
  TRY(onnx_tensor_read(t->values, s->what, s->name, arena, s->error, &s->values));
  TRY(onnx_tensor_read(t->indices, s->what, s->name, arena, s->error, &s->indices));
  const Shape *at = &s->indices.shape;
  s->count = shape_elements(&s->values.shape);
  if (s->values.shape.rank != 1 || s->values.type == DTYPE_STRING)
    return refuse(s, "whose values are no vector of numbers");
  bool fits = at->rank == 1 || (at->rank == 2 && (size_t)at->dim[1] == t->n_dims);
  if (!fits || s->indices.type != DTYPE_INT64 || (size_t)at->dim[0] != s->count)
    return refuse(s, "whose indices do not fit its values and dims");
  return STATUS_OK;
}

/* The element that value i is; negative where an index is outside of its dim. */
static int64_t element_of(const Sparse *s, size_t i, const Shape *shape, size_t total) {
  const int64_t *indices = s->indices.data;
  if (s->indices.shape.rank == 1) return (uint64_t)indices[i] < total ? indices[i] : -1;
  int64_t at = 0;
  for (int d = 0; d < shape->rank; d++) {
    int64_t index = indices[i * (size_t)shape->rank + (size_t)d];
    if ((uint64_t)index >= (uint64_t)shape->dim[d]) return -1;
    at = at * shape->dim[d] + index;
  }
  return at;
}

Status onnx_sparse_read(const Onnx__SparseTensorProto *from, const char *what, const char *name, Arena *arena,
                        Error *error, Value *out) {
  Sparse s = {.what = what, .name = name, .from = from, .error = error};
  size_t total, bytes;
  TRY(read_parts(&s, arena));
  *out = (Value){.name = name, .type = s.values.type, .kind = VALUE_CONSTANT, .shape = {.rank = (int)from->n_dims}};
  if (from->n_dims > RANK_MAX) return refuse(&s, "of too many dims");
  for (int i = 0; i < out->shape.rank; i++)
    if ((out->shape.dim[i] = from->dims[i]) < 0) return refuse(&s, "with a negative dim");
  size_t item = dtype_bytes(out->type);
  bool counts = shape_count(&out->shape, &total) && size_multiply(total, item, &bytes);
  if (!counts || !(out->data = arena_alloc(arena, bytes)))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "%s '%.128s' does not fit this machine's memory", what, name);
  int64_t last = -1;
  for (size_t i = 0; i < s.count; i++) {
    int64_t at = element_of(&s, i, &out->shape, total);
    if (at <= last) return refuse(&s, "whose indices do not ascend, or lie outside of its dims");
    memcpy((char *)out->data + (size_t)at * item, (const char *)s.values.data + i * item, item);
    last = at;
  }
  return STATUS_OK;
}

/* A .ort file tells no more than how many there are. */
Status onnx_sparse_initializer_read(const Onnx__GraphProto *from, size_t i, Arena *arena, Error *error, Value *out) {
  const Onnx__SparseTensorProto *t = from->sparse_initializer ? from->sparse_initializer[i] : NULL;
  const char *name = t && t->values ? t->values->name : NULL;
  if (!t)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL,
                     "the .ort file keeps weights as sparse tensors, which are read from .onnx files only");
  if (!name || !*name) return error_set(error, STATUS_INVALID_MODEL, NULL, "sparse initializer %zu has no name", i);
  return onnx_sparse_read(t, "initializer", name, arena, error, out);
}
