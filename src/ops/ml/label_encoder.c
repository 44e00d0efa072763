/* LabelEncoder: elements replaced by the values of their keys, others by a default. In its first version the keys are
 * words and the values their numbers, or the other way. */
#include "ops/ml/mapping.h"

typedef struct List {
  DType type;
  size_t count;
  const void *data;
} List;

static bool take(const Node *n, const char *name, AttrKind kind, DType type, List *out) {
  const Attr *a = node_attr(n, name, kind);
  if (!a) return false;
  *out = kind == ATTR_TENSOR ? (List){a->tensor->type, shape_elements(&a->tensor->shape), a->tensor->data}
                             : (List){type, (size_t)a->count, a->ints /* the other lists share its place */};
  return true;
}

static bool take_keys(const Node *n, List *out) {
  return take(n, "keys_strings", ATTR_STRINGS, DTYPE_STRING, out) ||
         take(n, "keys_int64s", ATTR_INTS, DTYPE_INT64, out) ||
         take(n, "keys_floats", ATTR_FLOATS, DTYPE_FLOAT32, out) || take(n, "keys_tensor", ATTR_TENSOR, 0, out);
}

static bool take_values(const Node *n, List *out) {
  return take(n, "values_strings", ATTR_STRINGS, DTYPE_STRING, out) ||
         take(n, "values_int64s", ATTR_INTS, DTYPE_INT64, out) ||
         take(n, "values_floats", ATTR_FLOATS, DTYPE_FLOAT32, out) || take(n, "values_tensor", ATTR_TENSOR, 0, out);
}

/* Finds the value for elements that are no key: default_tensor, or the attribute of the values' type. */
static Status find_default(const Node *n, DType type, const void **out) {
  const Attr *tensor = node_attr(n, "default_tensor", ATTR_TENSOR);
  if (tensor && (tensor->tensor->type != type || shape_elements(&tensor->tensor->shape) < 1))
    return node_invalid(n, "default_tensor is no %s", dtype_name(type));
  union {
    const char *s;
    int64_t i;
    float f;
    double d;
    int32_t i32;
    int16_t i16;
  } *x = arena_alloc(n->graph->arena, sizeof *x);
  if (!x) return STATUS_OUT_OF_MEMORY;
  *out = tensor ? tensor->tensor->data : x;
  if (type == DTYPE_STRING) x->s = node_string(n, "default_string", "_Unused");
  else if (type == DTYPE_FLOAT32) x->f = node_float(n, "default_float", -0.0f);
  else if (type == DTYPE_FLOAT64) x->d = -0.0;
  else if (type == DTYPE_INT32) x->i32 = -1;
  else if (type == DTYPE_INT16) x->i16 = -1;
  else x->i = node_int(n, "default_int64", -1);
  return STATUS_OK;
}

/* Version 1: words and their numbers, in the direction that the input asks for. */
static Status first_version(const Node *n, List *keys, List *values) {
  if (!take(n, "classes_strings", ATTR_STRINGS, DTYPE_STRING, keys))
    return node_invalid(n, "its attribute 'classes_strings' must be there");
  int64_t *numbers = ARENA_ARRAY(n->graph->arena, int64_t, keys->count);
  if (!numbers) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < keys->count; i++) numbers[i] = (int64_t)i;
  *values = (List){DTYPE_INT64, keys->count, numbers};
  if (n->in[0]->type == DTYPE_STRING) return STATUS_OK;
  List words = *keys;
  *keys = *values;
  *values = words;
  return STATUS_OK;
}

static Status label_encoder_infer(Node *n) {
  List keys, values;
  if (n->version == 1) TRY(first_version(n, &keys, &values));
  else if (!take_keys(n, &keys) || !take_values(n, &values)) return node_invalid(n, "it must have keys and values");
  if (keys.count != values.count) return node_invalid(n, "it has %zu keys and %zu values", keys.count, values.count);
  Mapping m = {.keys = {.type = keys.type, .keys = keys.data}, .type = values.type, .values = values.data};
  TRY(find_default(n, values.type, &m.otherwise));
  return mapping_infer(n, &m, keys.count);
}

OPERATOR(label_encoder) = {
    .name = "LabelEncoder",
    .domain = "ai.onnx.ml",
    .since = {1, 2, 4},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = label_encoder_infer,
    .run = mapping_run,
    .work = mapping_work,
    .cases = CASES({"v:i64[2,3]=1,2,3,4,5,1", "keys_int64s=[5,1,3,1] values_int64s=[50,10,30,11] default_int64=7",
                    .opset = 2},
                   {"v:f32[4]=1,2,3,4", "keys_floats=[3.0,1.0] values_floats=[30.0,10.0]", .opset = 4}),
};
