/* Attributes of ONNX nodes, from protobuf to Attr and back. */
#include <limits.h>
#include <string.h>

#include "onnx/parts.h"
#include "part.h"

enum { STRINGS_MAX = 1 << 20 };

/* Bytes to text: ONNX allows any bytes, but we expect names and words, so a zero byte is refused. */
static const char *attr_text(ProtobufCBinaryData s, Arena *arena) {
  if (s.len && memchr(s.data, 0, s.len)) return NULL;
  char *text = arena_alloc(arena, s.len + 1);
  if (text && s.len) memcpy(text, s.data, s.len);
  return text;
}

/* In files older than IR 3, the field that is set tells the kind of the attribute. */
static Onnx__AttributeProto__AttributeType attr_type(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) return a->type;
  if (a->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  if (a->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
  if (a->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  if (a->t) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  if (a->g) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
  if (a->n_floats) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
  if (a->n_strings) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
  return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static bool read_strings(const Onnx__AttributeProto *a, Arena *arena, Attr *out) {
  if (a->n_strings > STRINGS_MAX) return false;
  const char **strings = ARENA_ARRAY(arena, const char *, a->n_strings);
  if (!strings) return false;
  for (size_t i = 0; i < a->n_strings; i++)
    if (!(strings[i] = attr_text(a->strings[i], arena))) return false;
  *out = (Attr){.name = a->name, .kind = ATTR_STRINGS, .count = (int)a->n_strings, .strings = strings};
  return true;
}

static Status read_tensor(const Onnx__AttributeProto *a, Arena *arena, Error *error, Attr *out) {
  Value *tensor = ARENA_NEW(arena, Value);
  if (!tensor) return ERROR_MEMORY(error, "for attribute '%.64s'", a->name);
  *out = (Attr){.name = a->name, .kind = ATTR_TENSOR, .tensor = tensor};
  return onnx_tensor_read(a->t, "attribute", a->name, arena, error, tensor);
}

OPTIONAL(onnx_subgraph, onnx_subgraph_read);

static Status read_subgraph(const Onnx__AttributeProto *a, Arena *arena, Error *error, Attr *out) {
  Subgraph *s = ARENA_NEW(arena, Subgraph);
  if (!s) return ERROR_MEMORY(error, "for subgraph '%.64s'", a->name);
  *out = (Attr){.name = a->name, .kind = ATTR_GRAPH, .subgraph = s};
  if (!part_onnx_subgraph) return part_missing(error, "subgraphs");
  return part_onnx_subgraph(a->g, arena, error, s);
}

static const char no_memory[] = "out of memory for the attributes of %.48s '%.128s'%s";

static Status fail(const Onnx__NodeProto *n, Error *error, Status status, const char *sentence, const char *name) {
  const char *title = onnx_node_title(n);
  return error_set(error, status, title, sentence, n->op_type ? n->op_type : "", title, name);
}

static Status attr_read(const Onnx__NodeProto *n, const Onnx__AttributeProto *a, Arena *arena, Error *error,
                        Attr *out) {
  if (!a->name || a->ref_attr_name)
    return fail(n, error, STATUS_INVALID_MODEL, "%.48s '%.128s' has an attribute without a %s of its own",
                a->name ? "value" : "name");
  const char *s;
  switch (attr_type(a)) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT: return *out = attr_of_float(a->name, a->f), STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT: return *out = attr_of_int(a->name, a->i), STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
      if (!(s = attr_text(a->s, arena))) break;
      return *out = attr_of_string(a->name, s), STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
      if (!read_strings(a, arena, out)) break;
      return STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
      if (!a->t) break;
      return read_tensor(a, arena, error, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
      if (a->n_floats > INT_MAX) break;
      *out = (Attr){.name = a->name, .kind = ATTR_FLOATS, .count = (int)a->n_floats, .floats = a->floats};
      return STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
      if (a->n_ints > INT_MAX) break;
      return *out = attr_of_ints(a->name, a->ints, (int)a->n_ints), STATUS_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
      if (!a->g) break;
      return read_subgraph(a, arena, error, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO:
      return *out = (Attr){.name = a->name}, STATUS_OK; /* the type of an empty Optional */
    default:
      return fail(n, error, STATUS_UNSUPPORTED_OP,
                  "%.48s '%.128s' carries a value we do not read in its attribute '%.64s'", a->name);
  }
  if (arena->failed) return fail(n, error, STATUS_OUT_OF_MEMORY, no_memory, "");
  return fail(n, error, STATUS_INVALID_MODEL, "%.48s '%.128s': attribute '%.64s' does not hold a value of its type",
              a->name);
}

Status onnx_attrs_read(const Onnx__NodeProto *from, Arena *arena, Error *error, Attr **attrs) {
  if (!(*attrs = ARENA_ARRAY(arena, Attr, from->n_attribute)))
    return fail(from, error, STATUS_OUT_OF_MEMORY, no_memory, "");
  for (size_t i = 0; i < from->n_attribute; i++) TRY(attr_read(from, from->attribute[i], arena, error, &(*attrs)[i]));
  return STATUS_OK;
}

/* ---- writing ---- */

static ProtobufCBinaryData attr_bytes(const char *s) {
  return (ProtobufCBinaryData){strlen(s), (uint8_t *)(uintptr_t)s};
}

static bool write_strings(const Attr *from, Arena *arena, Onnx__AttributeProto *a) {
  a->n_strings = (size_t)from->count;
  if (!(a->strings = ARENA_ARRAY(arena, ProtobufCBinaryData, from->count))) return false;
  for (int i = 0; i < from->count; i++) a->strings[i] = attr_bytes(from->strings[i]);
  return true;
}

/* AttrKind's order is not ONNX's. */
static const Onnx__AttributeProto__AttributeType type_of_kind[] = {
    [ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
    [ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
    [ATTR_STRING] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
    [ATTR_TENSOR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
    [ATTR_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
    [ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
    [ATTR_STRINGS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
    [ATTR_GRAPH] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH,
};

static bool attr_write(const Attr *from, Arena *arena, Onnx__AttributeProto *a) {
  onnx__attribute_proto__init(a);
  a->name = (char *)(uintptr_t)from->name;
  a->has_type = true;
  a->type = type_of_kind[from->kind];
  switch (from->kind) {
    case ATTR_FLOAT: return a->has_f = true, a->f = from->f, true;
    case ATTR_INT: return a->has_i = true, a->i = from->i, true;
    case ATTR_STRING: return a->has_s = true, a->s = attr_bytes(from->s), true;
    case ATTR_TENSOR: return (a->t = onnx_tensor_write(from->tensor, arena)) != NULL;
    case ATTR_FLOATS: return a->n_floats = (size_t)from->count, a->floats = (float *)(uintptr_t)from->floats, true;
    case ATTR_INTS: return a->n_ints = (size_t)from->count, a->ints = (int64_t *)(uintptr_t)from->ints, true;
    case ATTR_STRINGS: return write_strings(from, arena, a);
    case ATTR_GRAPH: return false; /* graphs with these are never written */
    case ATTR_NONE: break;
  }
  return true;
}

/* Texts as protobuf-c wants them: an array of char *. */
static char **texts(const char *const *from, int count, Arena *arena) {
  char **out = ARENA_ARRAY(arena, char *, count);
  for (int i = 0; out && i < count; i++) out[i] = (char *)(uintptr_t)from[i];
  return out;
}

Onnx__NodeProto *onnx_node_write(const char *op_type, const char *domain, const char *name, const char *const *in,
                                 int in_count, const char *const *out, int out_count, const Attr *attrs, int attr_count,
                                 Arena *arena) {
  Onnx__NodeProto *n = ARENA_NEW(arena, Onnx__NodeProto);
  Onnx__AttributeProto *a = ARENA_ARRAY(arena, Onnx__AttributeProto, attr_count);
  if (!n || !a) return NULL;
  onnx__node_proto__init(n);
  n->op_type = (char *)(uintptr_t)op_type;
  n->domain = (char *)(uintptr_t)domain;
  n->name = (char *)(uintptr_t)name;
  n->n_input = (size_t)in_count;
  n->n_output = (size_t)out_count;
  n->n_attribute = (size_t)attr_count;
  n->input = texts(in, in_count, arena);
  n->output = texts(out, out_count, arena);
  n->attribute = ARENA_ARRAY(arena, Onnx__AttributeProto *, attr_count);
  if (!n->input || !n->output || !n->attribute) return NULL;
  for (int i = 0; i < attr_count; i++) {
    if (!attr_write(&attrs[i], arena, n->attribute[i] = &a[i])) return NULL;
  }
  return n;
}
