/* Reads and writes ONNX models that are not networks: nodes over sequences of tensors, not checked against our
 * operators. */
#include "onnx/onnx.h"
#include "onnx/parts.h"

enum { NODES_MAX = 1 << 16 };

static const char *or_empty(const char *s) { return s ? s : ""; }

static Status read_metadata(const Onnx__ModelProto *model, Arena *arena, Error *error, OnnxPlain *out) {
  const char **keys = ARENA_ARRAY(arena, const char *, model->n_metadata_props);
  const char **texts = ARENA_ARRAY(arena, const char *, model->n_metadata_props);
  if (!keys || !texts || model->n_metadata_props > NODES_MAX)
    return ERROR_MEMORY(error, "for a model's %zu metadata entries", model->n_metadata_props);
  out->metadata_count = (int)model->n_metadata_props;
  for (int i = 0; i < out->metadata_count; i++) {
    keys[i] = or_empty(model->metadata_props[i]->key);
    texts[i] = or_empty(model->metadata_props[i]->value);
  }
  out->metadata_keys = keys;
  out->metadata_texts = texts;
  return STATUS_OK;
}

Status onnx_read_nodes(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error,
                       OnnxPlain *out) {
  const Onnx__ModelProto *model = onnx_model_parse(bytes, count, external, arena, error);
  if (!model) return error->status;
  TRY(onnx_model_check(model, error));
  const Onnx__GraphProto *g = model->graph;
  if (g->n_node > NODES_MAX)
    return error_set(error, STATUS_INVALID_MODEL, NULL, "the model has %zu nodes, too many", g->n_node);
  OnnxNode *nodes = ARENA_ARRAY(arena, OnnxNode, g->n_node);
  if (!nodes) return ERROR_MEMORY(error, "for a model of %zu nodes", g->n_node);
  *out = (OnnxPlain){.nodes = nodes, .node_count = (int)g->n_node};
  for (int i = 0; i < out->node_count; i++) {
    const Onnx__NodeProto *n = g->node[i];
    if (n->n_input > NODES_MAX || n->n_output > NODES_MAX || n->n_attribute > NODES_MAX)
      return error_set(error, STATUS_INVALID_MODEL, n->name, "node %d has too many inputs, outputs or attributes", i);
    Attr *attrs;
    TRY(onnx_attrs_read(n, arena, error, &attrs));
    nodes[i] = (OnnxNode){or_empty(n->op_type),
                          onnx_domain(n->domain),
                          or_empty(n->name),
                          (const char *const *)n->input,
                          (const char *const *)n->output,
                          (int)n->n_input,
                          (int)n->n_output,
                          attrs,
                          (int)n->n_attribute};
  }
  return read_metadata(model, arena, error, out);
}

/* ---- writing ---- */

/* Wraps the tensor type of `info` in a sequence type. */
static bool make_sequence(Onnx__ValueInfoProto *info, Arena *arena) {
  Onnx__TypeProto *outer = ARENA_NEW(arena, Onnx__TypeProto);
  Onnx__TypeProto__Sequence *sequence = ARENA_NEW(arena, Onnx__TypeProto__Sequence);
  if (!outer || !sequence) return false;
  onnx__type_proto__init(outer);
  onnx__type_proto__sequence__init(sequence);
  outer->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
  outer->sequence_type = sequence;
  sequence->elem_type = info->type;
  info->type->tensor_type->shape = NULL; /* tensors of any shape */
  info->type = outer;
  return true;
}

static bool write_ports(const OnnxPort *ports, int count, Arena *arena, size_t *n, Onnx__ValueInfoProto ***out) {
  *n = (size_t)count;
  if (!(*out = ARENA_ARRAY(arena, Onnx__ValueInfoProto *, count))) return false;
  for (int i = 0; i < count; i++) {
    Shape shape = SHAPE(ports[i].count);
    Onnx__ValueInfoProto *info = onnx_value_write(NULL, ports[i].name, ports[i].type, &shape, arena);
    if (!info || (!ports[i].count && !make_sequence(info, arena))) return false;
    if (ports[i].count == PORT_ANY_SHAPE) info->type->tensor_type->shape = NULL;
    (*out)[i] = info;
  }
  return true;
}

static Onnx__ModelProto *write_plain(const OnnxPlain *from, Arena *arena) {
  Onnx__ModelProto *model = onnx_model_write(from->opsets, from->opset_count, 0, arena);
  if (!model) return NULL;
  Onnx__GraphProto *g = model->graph;
  g->n_node = (size_t)from->node_count;
  if (!(g->node = ARENA_ARRAY(arena, Onnx__NodeProto *, from->node_count))) return NULL;
  for (int i = 0; i < from->node_count; i++) {
    const OnnxNode *n = &from->nodes[i];
    g->node[i] = onnx_node_write(n->op_type, n->domain, n->name, n->in, n->in_count, n->out, n->out_count, n->attrs,
                                 n->attr_count, arena);
    if (!g->node[i]) return NULL;
  }
  bool good = write_ports(from->inputs, from->input_count, arena, &g->n_input, &g->input) &&
              write_ports(from->outputs, from->output_count, arena, &g->n_output, &g->output) &&
              write_ports(from->between, from->between_count, arena, &g->n_value_info, &g->value_info) &&
              onnx_metadata_write(from->metadata_keys, from->metadata_texts, from->metadata_count, arena, model);
  return good ? model : NULL;
}

Status onnx_write_nodes(const OnnxPlain *from, Error *error, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Status status = onnx_model_pack(write_plain(from, &arena), error, out, out_bytes);
  arena_free(&arena);
  return status;
}
