/* ORT format: ONNX Runtime's own files of models (.ort: FlatBuffers, identifier "ORTM"), turned into the form in which
 * ONNX files are parsed.
 *
 *   InferenceSession ─▶ Model ─▶ Graph ─┬▶ initializers
 *                                       ├▶ nodes (in any order)
 *                                       ├▶ node_args (types of values)
 *                                       └▶ inputs, outputs
 *
 * The runtime has already optimized such a graph: nodes are not sorted, and an activation may be fused into the node
 * before it. Field numbers: ONNX Runtime's ort.fbs. */
#include <stdlib.h>
#include <string.h>

#include "flatbuffer.h"
#include "onnx/parts.h"

enum { SESSION_VERSION, SESSION_MODEL };
enum { VERSION_MAX = 6 }; /* older versions have fewer fields: their kernels are ONNX Runtime's own, and not read */
enum { MODEL_IR = 0, MODEL_OPSETS = 1, MODEL_GRAPH = 7, MODEL_METADATA = 9 };
enum { ENTRY_KEY, ENTRY_VALUE }; /* metadata: key, value; an opset: domain, version */
enum { GRAPH_INITIALIZERS, GRAPH_ARGS, GRAPH_NODES, GRAPH_INPUTS = 5, GRAPH_OUTPUTS, GRAPH_SPARSE };
enum { NODE_NAME = 0, NODE_DOMAIN = 2, NODE_OP = 5, NODE_INPUTS = 8, NODE_OUTPUTS, NODE_ATTRIBUTES };
enum {
  ATTR_NAME = 0,
  ATTR_TYPE = 2,
  ATTR_F,
  ATTR_I,
  ATTR_S,
  ATTR_T,
  ATTR_FLOAT_LIST = 8,
  ATTR_INT_LIST,
  ATTR_STRING_LIST
};
enum { TENSOR_NAME = 0, TENSOR_DIMS = 2, TENSOR_TYPE, TENSOR_RAW, TENSOR_OUTSIDE = 6 };
enum { ARG_NAME = 0, ARG_TYPE = 2 };
enum { TYPE_KIND = 1, TYPE_VALUE, KIND_TENSOR = 1 };
enum { TENSOR_TYPE_ELEMENT, TENSOR_TYPE_SHAPE };
enum { DIM_VALUE = 0, DIM_KIND = 0, DIM_NUMBER, DIM_NAME, DIM_IS_NUMBER = 1, DIM_IS_NAMED };

/* Failed allocations are sticky: the arena remembers them, and the reader stops at the next list. */
typedef struct Reader {
  FlatBytes bytes;
  Arena *arena;
} Reader;

static char *text_of(Reader *r, FlatTable t, int field) { return (char *)(uintptr_t)flat_string(t, field, r->arena); }

static ProtobufCBinaryData bytes_of(char *text) {
  return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)text};
}

/* A copy of a vector of numbers, as aligned as the arena's. */
static void *copy_of(Reader *r, FlatVector v, size_t element_bytes) {
  void *copy = arena_alloc_array(r->arena, v.count, element_bytes);
  if (copy && v.count) memcpy(copy, flat_data(v), v.count * element_bytes);
  return copy;
}

/* `n` fresh messages of one type behind an array of pointers; does nothing more when memory is out. */
#define MESSAGES(r, Type, init, count, n, list)                                                                        \
  Type *messages_ = ARENA_ARRAY((r)->arena, Type, count);                                                              \
  (list) = ARENA_ARRAY((r)->arena, Type *, count);                                                                     \
  if (!messages_ || !(list)) return false;                                                                             \
  (n) = (count);                                                                                                       \
  for (size_t i_ = 0; i_ < (n); i_++) init((list)[i_] = &messages_[i_])

static bool read_texts(Reader *r, FlatVector v, size_t *n, char ***list) {
  if (!(*list = ARENA_ARRAY(r->arena, char *, v.count))) return false;
  *n = v.count;
  for (size_t i = 0; i < v.count; i++)
    if (!((*list)[i] = (char *)(uintptr_t)flat_string_element(v, i, r->arena))) return false;
  return true;
}

/* ---- tensors and types ---- */

static void read_tensor(Reader *r, FlatTable t, Onnx__TensorProto *to) {
  FlatVector dims = flat_vector(t, TENSOR_DIMS, 8), raw = flat_vector(t, TENSOR_RAW, 1);
  onnx__tensor_proto__init(to);
  to->name = text_of(r, t, TENSOR_NAME);
  to->dims = copy_of(r, dims, 8);
  to->n_dims = to->dims ? dims.count : 0;
  to->has_data_type = to->has_raw_data = true;
  to->data_type = flat_int32(t, TENSOR_TYPE, 0);
  to->raw_data.data = copy_of(r, raw, 1);
  to->raw_data.len = to->raw_data.data ? raw.count : 0;
  if (flat_int64(t, TENSOR_OUTSIDE, -1) >= 0) to->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static bool read_tensors(Reader *r, FlatVector v, Onnx__GraphProto *to) {
  MESSAGES(r, Onnx__TensorProto, onnx__tensor_proto__init, v.count, to->n_initializer, to->initializer);
  for (size_t i = 0; i < v.count; i++) read_tensor(r, flat_element(v, i), to->initializer[i]);
  return true;
}

static bool read_shape(Reader *r, FlatTable t, Onnx__TensorShapeProto *to) {
  FlatVector dims = flat_vector(t, 0, 4);
  onnx__tensor_shape_proto__init(to);
  MESSAGES(r, Onnx__TensorShapeProto__Dimension, onnx__tensor_shape_proto__dimension__init, dims.count, to->n_dim,
           to->dim);
  for (size_t i = 0; i < dims.count; i++) {
    FlatTable value = flat_table(flat_element(dims, i), DIM_VALUE);
    int kind = flat_byte(value, DIM_KIND);
    if (kind == DIM_IS_NUMBER) {
      to->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      to->dim[i]->dim_value = flat_int64(value, DIM_NUMBER, 0);
    } else if (kind == DIM_IS_NAMED && (to->dim[i]->dim_param = text_of(r, value, DIM_NAME))) {
      to->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    }
  }
  return true;
}

/* Type of a value that is a tensor; any other kind stays without a type, which the graph's reader refuses. */
static bool read_type(Reader *r, FlatTable arg, Onnx__ValueInfoProto *to) {
  FlatTable type = flat_table(arg, ARG_TYPE);
  if (flat_byte(type, TYPE_KIND) != KIND_TENSOR) return true;
  FlatTable tensor = flat_table(type, TYPE_VALUE), shape = flat_table(tensor, TENSOR_TYPE_SHAPE);
  Onnx__TypeProto *info = ARENA_NEW(r->arena, Onnx__TypeProto);
  Onnx__TypeProto__Tensor *of = ARENA_NEW(r->arena, Onnx__TypeProto__Tensor);
  Onnx__TensorShapeProto *dims = ARENA_NEW(r->arena, Onnx__TensorShapeProto);
  if (!info || !of || !dims) return false;
  onnx__type_proto__init(info);
  onnx__type_proto__tensor__init(of);
  info->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  info->tensor_type = of;
  of->elem_type = flat_int32(tensor, TENSOR_TYPE_ELEMENT, 0);
  of->shape = shape.from ? dims : NULL;
  to->type = info;
  return !shape.from || read_shape(r, shape, dims);
}

/* ---- inputs and outputs: names, whose types are listed with those of all values ---- */

typedef struct Named {
  const char *name;
  size_t i;
} Named;

static int compare_named(const void *a, const void *b) {
  return strcmp(((const Named *)a)->name, ((const Named *)b)->name);
}

static const Named *find_named(const Named *sorted, size_t count, const char *name) {
  return count ? bsearch(&(Named){name, 0}, sorted, count, sizeof *sorted, compare_named) : NULL;
}

static bool read_values(Reader *r, FlatVector names, FlatVector args, const Named *sorted, size_t *n,
                        Onnx__ValueInfoProto ***list) {
  MESSAGES(r, Onnx__ValueInfoProto, onnx__value_info_proto__init, names.count, *n, *list);
  for (size_t i = 0; i < names.count; i++) {
    Onnx__ValueInfoProto *to = (*list)[i];
    if (!(to->name = (char *)(uintptr_t)flat_string_element(names, i, r->arena))) return false;
    const Named *arg = find_named(sorted, args.count, to->name);
    if (arg && !read_type(r, flat_element(args, arg->i), to)) return false;
  }
  return true;
}

static bool read_ports(Reader *r, FlatTable graph, Onnx__GraphProto *to) {
  FlatVector args = flat_vector(graph, GRAPH_ARGS, 4);
  Named *sorted = ARENA_ARRAY(r->arena, Named, args.count);
  for (size_t i = 0; sorted && i < args.count; i++)
    if (!(sorted[i] = (Named){flat_string(flat_element(args, i), ARG_NAME, r->arena), i}).name) return false;
  if (!sorted) return false;
  qsort(sorted, args.count, sizeof *sorted, compare_named);
  return read_values(r, flat_vector(graph, GRAPH_INPUTS, 4), args, sorted, &to->n_input, &to->input) &&
         read_values(r, flat_vector(graph, GRAPH_OUTPUTS, 4), args, sorted, &to->n_output, &to->output);
}

/* ---- nodes ---- */

static bool read_attr(Reader *r, FlatTable t, Onnx__AttributeProto *a) {
  FlatVector floats = flat_vector(t, ATTR_FLOAT_LIST, 4), ints = flat_vector(t, ATTR_INT_LIST, 8),
             strings = flat_vector(t, ATTR_STRING_LIST, 4);
  FlatTable tensor = flat_table(t, ATTR_T);
  char **texts;
  a->name = text_of(r, t, ATTR_NAME);
  a->has_type = true;
  a->type = (Onnx__AttributeProto__AttributeType)flat_int32(t, ATTR_TYPE, 0);
  a->f = flat_float(t, ATTR_F, 0);
  a->i = flat_int64(t, ATTR_I, 0);
  a->s = bytes_of(text_of(r, t, ATTR_S));
  a->floats = copy_of(r, floats, 4);
  a->ints = copy_of(r, ints, 8);
  if (tensor.from) {
    if (!(a->t = ARENA_NEW(r->arena, Onnx__TensorProto))) return false;
    read_tensor(r, tensor, a->t);
  }
  if (!a->name || !a->s.data || !a->floats || !a->ints || !read_texts(r, strings, &a->n_strings, &texts)) return false;
  if (!(a->strings = ARENA_ARRAY(r->arena, ProtobufCBinaryData, strings.count))) return false;
  for (size_t i = 0; i < strings.count; i++) a->strings[i] = bytes_of(texts[i]);
  a->n_floats = floats.count;
  a->n_ints = ints.count;
  return true;
}

static bool read_node(Reader *r, FlatTable t, Onnx__NodeProto *to) {
  FlatVector attrs = flat_vector(t, NODE_ATTRIBUTES, 4);
  to->name = text_of(r, t, NODE_NAME);
  to->domain = text_of(r, t, NODE_DOMAIN);
  to->op_type = text_of(r, t, NODE_OP);
  if (!to->name || !to->domain || !to->op_type) return false;
  if (!read_texts(r, flat_vector(t, NODE_INPUTS, 4), &to->n_input, &to->input)) return false;
  if (!read_texts(r, flat_vector(t, NODE_OUTPUTS, 4), &to->n_output, &to->output)) return false;
  MESSAGES(r, Onnx__AttributeProto, onnx__attribute_proto__init, attrs.count, to->n_attribute, to->attribute);
  for (size_t i = 0; i < attrs.count; i++)
    if (!read_attr(r, flat_element(attrs, i), to->attribute[i])) return false;
  return true;
}

static bool read_nodes(Reader *r, FlatVector v, size_t *n, Onnx__NodeProto ***nodes) {
  MESSAGES(r, Onnx__NodeProto, onnx__node_proto__init, v.count, *n, *nodes);
  for (size_t i = 0; i < v.count; i++)
    if (!read_node(r, flat_element(v, i), (*nodes)[i])) return false;
  return true;
}

/* ---- sorting: every node after those that make its inputs, otherwise as in the file ---- */

/* Outputs of all nodes by name, with the node's number. */
static Named *list_makers(Reader *r, Onnx__NodeProto *const *nodes, size_t n, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < n; i++) *count += nodes[i]->n_output;
  Named *makers = ARENA_ARRAY(r->arena, Named, *count);
  size_t at = 0;
  for (size_t i = 0; makers && i < n; i++)
    for (size_t k = 0; k < nodes[i]->n_output; k++) makers[at++] = (Named){nodes[i]->output[k], i};
  if (makers) qsort(makers, *count, sizeof *makers, compare_named);
  return makers;
}

/* Depth first, without recursion. A cycle stays as it is: the graph's reader names it. */
static bool sort_nodes(Reader *r, Onnx__NodeProto *const *nodes, size_t n, Onnx__NodeProto **sorted) {
  size_t maker_count, *stack = ARENA_ARRAY(r->arena, size_t, n), *next = ARENA_ARRAY(r->arena, size_t, n), done = 0;
  bool *seen = ARENA_ARRAY(r->arena, bool, n);
  Named *makers = list_makers(r, nodes, n, &maker_count);
  if (!stack || !next || !seen || !makers) return false;
  for (size_t root = 0; root < n; root++) {
    size_t depth = 0;
    if (!seen[root]) seen[root] = true, stack[depth++] = root;
    while (depth) {
      Onnx__NodeProto *node = nodes[stack[depth - 1]];
      size_t *input = &next[stack[depth - 1]];
      if (*input == node->n_input) {
        sorted[done++] = node;
        depth--;
        continue;
      }
      const char *name = node->input[(*input)++];
      const Named *maker = *name ? find_named(makers, maker_count, name) : NULL;
      if (maker && !seen[maker->i]) seen[maker->i] = true, stack[depth++] = maker->i;
    }
  }
  return true;
}

static bool read_graph(Reader *r, FlatTable t, Onnx__GraphProto *to) {
  Onnx__NodeProto **nodes;
  size_t n;
  onnx__graph_proto__init(to);
  to->n_sparse_initializer = flat_vector(t, GRAPH_SPARSE, 4).count; /* refused just because of their number */
  if (!read_tensors(r, flat_vector(t, GRAPH_INITIALIZERS, 4), to) || !read_ports(r, t, to)) return false;
  if (!read_nodes(r, flat_vector(t, GRAPH_NODES, 4), &n, &nodes)) return false;
  to->n_node = n;
  return (to->node = ARENA_ARRAY(r->arena, Onnx__NodeProto *, n)) && sort_nodes(r, nodes, n, to->node);
}

/* ---- the model ---- */

static bool read_opsets(Reader *r, FlatVector v, Onnx__ModelProto *to) {
  MESSAGES(r, Onnx__OperatorSetIdProto, onnx__operator_set_id_proto__init, v.count, to->n_opset_import,
           to->opset_import);
  for (size_t i = 0; i < v.count; i++) {
    FlatTable t = flat_element(v, i);
    to->opset_import[i]->domain = text_of(r, t, ENTRY_KEY);
    to->opset_import[i]->version = flat_int64(t, ENTRY_VALUE, 0);
  }
  return true;
}

static bool read_metadata(Reader *r, FlatVector v, Onnx__ModelProto *to) {
  MESSAGES(r, Onnx__StringStringEntryProto, onnx__string_string_entry_proto__init, v.count, to->n_metadata_props,
           to->metadata_props);
  for (size_t i = 0; i < v.count; i++) {
    FlatTable t = flat_element(v, i);
    to->metadata_props[i]->key = text_of(r, t, ENTRY_KEY);
    to->metadata_props[i]->value = text_of(r, t, ENTRY_VALUE);
  }
  return true;
}

static bool read_model(Reader *r, FlatTable t, Onnx__ModelProto *to) {
  FlatTable graph = flat_table(t, MODEL_GRAPH);
  onnx__model_proto__init(to);
  to->ir_version = flat_int64(t, MODEL_IR, 0);
  if (!read_opsets(r, flat_vector(t, MODEL_OPSETS, 4), to) || !read_metadata(r, flat_vector(t, MODEL_METADATA, 4), to))
    return false;
  return !graph.from || ((to->graph = ARENA_NEW(r->arena, Onnx__GraphProto)) && read_graph(r, graph, to->graph));
}

/* It is a text in the file. */
static bool is_version(const char *text) { return *text >= '1' && *text <= '0' + VERSION_MAX && !text[1]; }

bool onnx_ort_format_is(const uint8_t *bytes, size_t count) { return count >= 8 && memcmp(bytes + 4, "ORTM", 4) == 0; }

const Onnx__ModelProto *onnx_ort_format_read(const uint8_t *bytes, size_t count, Arena *arena, Error *error) {
  Reader r = {flat_bytes(bytes, count), arena};
  Onnx__ModelProto *model = ARENA_NEW(arena, Onnx__ModelProto);
  FlatTable session = flat_root(&r.bytes);
  const char *version = flat_string(session, SESSION_VERSION, arena);
  if (version && !r.bytes.damaged && !is_version(version))
    return error_set(error, STATUS_UNSUPPORTED_VERSION, NULL,
                     "the ORT-format model is of version '%.20s' of the format, we read versions 1 to %d", version,
                     VERSION_MAX),
           NULL;
  bool good = model && version && read_model(&r, flat_table(session, SESSION_MODEL), model);
  if (r.bytes.damaged)
    error_set(error, STATUS_INVALID_MODEL, NULL,
              "the ORT-format model is damaged: an offset leads outside of the file, or a text is not UTF-8");
  else if (!good || arena->failed) ERROR_MEMORY(error, "while reading an ORT-format model of %zu bytes", count);
  else return model;
  return NULL;
}
