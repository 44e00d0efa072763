/* Reads the tensor of a Constant node. */
#include <string.h>

#include "graph/op.h"
#include "onnx/parts.h"

/* A scalar or a vector from value_float(s), value_int(s) and value_string(s). */
static bool constant_of_numbers(const Attr *a, Value *out) {
  static const struct {
    const char *name;
    AttrKind kind;
    DType type;
  } forms[] = {{"value_float", ATTR_FLOAT, DTYPE_FLOAT32},  {"value_floats", ATTR_FLOATS, DTYPE_FLOAT32},
               {"value_int", ATTR_INT, DTYPE_INT64},        {"value_ints", ATTR_INTS, DTYPE_INT64},
               {"value_string", ATTR_STRING, DTYPE_STRING}, {"value_strings", ATTR_STRINGS, DTYPE_STRING}};
  for (int i = 0; i < 6; i++) {
    if (a->kind != forms[i].kind || strcmp(a->name, forms[i].name) != 0) continue;
    bool list = i & 1;
    const void *data = list ? (const void *)a->ints /* the other lists share its place */ : (const void *)&a->i;
    *out = (Value){
        .type = forms[i].type, .data = (void *)(uintptr_t)data, .shape = list ? SHAPE(a->count) : (Shape){0}};
    return true;
  }
  return false;
}

Status onnx_constant_read(const Onnx__NodeProto *n, Arena *arena, Error *error, Value *out) {
  const char *node = onnx_node_title(n);
  if (n->n_output != 1 || !has_name(n->output[0]) || n->n_attribute != 1)
    return error_set(error, STATUS_INVALID_MODEL, node, "Constant '%.128s' must have one output and one attribute",
                     node);
  if (n->attribute[0]->sparse_tensor)
    return onnx_sparse_read(n->attribute[0]->sparse_tensor, "Constant", node, arena, error, out);
  Attr *a;
  TRY(onnx_attrs_read(n, arena, error, &a));
  const Value *tensor = a->kind == ATTR_TENSOR && strcmp(a->name, "value") == 0 ? a->tensor : NULL;
  if (tensor) *out = *tensor;
  else if (!constant_of_numbers(a, out))
    return error_set(error, STATUS_UNSUPPORTED_OP, node, "Constant '%.128s' holds a '%.32s', which we do not read",
                     node, a->name);
  static const uint8_t nothing[8]; /* an empty list has no data, a constant has */
  if (!out->data) out->data = (void *)(uintptr_t)nothing;
  return STATUS_OK;
}
