/* Writes ONNX files: builds protobuf-c structs that point into the Graph, and packs them once. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/parts.h"
#include "graph/op.h"

/* IR 4 is the first in which an initializer need not be an input; 8 goes with the newest opset that all readers of
 * today know. */
enum { IR_OLDEST = 4, IR_DEFAULT = 8 };

static char *text(const char *s) {
  return (char *)(uintptr_t)s;
} /* protobuf-c's strings are not const, but only read */

static bool write_opset(Onnx__ModelProto *model, size_t i, const char *domain, int version, Arena *arena) {
  Onnx__OperatorSetIdProto *opset = model->opset_import[i] = ARENA_NEW(arena, Onnx__OperatorSetIdProto);
  if (!opset) return false;
  onnx__operator_set_id_proto__init(opset);
  opset->domain = text(domain);
  opset->has_version = true;
  opset->version = version;
  return true;
}

Onnx__ModelProto *onnx_model_write(const Opset *opsets, int opset_count, int ir_version, Arena *arena) {
  Onnx__ModelProto *model = ARENA_NEW(arena, Onnx__ModelProto);
  Onnx__GraphProto *graph = ARENA_NEW(arena, Onnx__GraphProto);
  if (!model || !graph) return NULL;
  onnx__model_proto__init(model);
  onnx__graph_proto__init(graph);
  graph->name = text("graph");
  model->graph = graph;
  model->has_ir_version = true;
  model->ir_version = ir_version == 0 ? IR_DEFAULT : ir_version < IR_OLDEST ? IR_OLDEST : ir_version;
  model->producer_name = text("trainlet");
  model->n_opset_import = (size_t)opset_count;
  if (!(model->opset_import = ARENA_ARRAY(arena, Onnx__OperatorSetIdProto *, opset_count))) return NULL;
  for (int i = 0; i < opset_count; i++)
    if (!write_opset(model, (size_t)i, opsets[i].domain, opsets[i].version, arena)) return NULL;
  return model;
}

/* The opset of ai.onnx that a node needs, where operators are made of newer ones or recognised in their pieces. ONNX
 * Runtime's models have LayerNormalization in every opset. */
static int opset_of(const Node *n) {
  if (n->op->domain) return 0;
  if (strcmp(n->op->name, "LayerNormalization") == 0) return 17;
  if (node_attr(n, "reduction", ATTR_STRING) && strncmp(n->op->name, "Scatter", 7) == 0) return 16;
  return strcmp(n->op->name, "AveragePool") == 0 && node_attr(n, "dilations", ATTR_INTS) ? 19 : n->op->since[0];
}

/* Up to 17, and from 18 to 19, what nodes of older opsets say holds, but for RoiAlign's default before 16. */
static int opset_needed(const Graph *g) {
  int needed = 0;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    int opset = opset_of(n);
    if (opset > needed) needed = opset;
    if (n->version < 16 && strcmp(n->op->name, "RoiAlign") == 0) return 0;
  }
  return needed;
}

Onnx__ModelProto *onnx_frame_write(const Graph *g, Arena *arena) {
  Onnx__ModelProto *model = onnx_model_write(g->opsets, g->opset_count, g->ir_version, arena);
  int needed = opset_needed(g);
  for (int i = 0; model && i < g->opset_count; i++)
    if (!*g->opsets[i].domain && g->opsets[i].version < needed) model->opset_import[i]->version = needed;
  return model;
}

/* ---- values ---- */

static Onnx__TensorShapeProto__Dimension *write_dim(const Graph *g, Dim d, Arena *arena) {
  Onnx__TensorShapeProto__Dimension *dim = ARENA_NEW(arena, Onnx__TensorShapeProto__Dimension);
  if (!dim) return NULL;
  onnx__tensor_shape_proto__dimension__init(dim);
  const char *symbol = g ? graph_symbol_name(g, d) : "";
  if (dim_is_number(d)) {
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = d;
  } else if (*symbol) {
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    dim->dim_param = text(symbol);
  }
  return dim;
}

Onnx__ValueInfoProto *onnx_value_write(const Graph *g, const char *name, DType type, const Shape *shape, Arena *arena) {
  Onnx__ValueInfoProto *info = ARENA_NEW(arena, Onnx__ValueInfoProto);
  Onnx__TypeProto *proto = ARENA_NEW(arena, Onnx__TypeProto);
  Onnx__TypeProto__Tensor *tensor = ARENA_NEW(arena, Onnx__TypeProto__Tensor);
  Onnx__TensorShapeProto *dims = ARENA_NEW(arena, Onnx__TensorShapeProto);
  if (!info || !proto || !tensor || !dims) return NULL;
  onnx__value_info_proto__init(info);
  onnx__type_proto__init(proto);
  onnx__type_proto__tensor__init(tensor);
  onnx__tensor_shape_proto__init(dims);
  info->name = text(name);
  info->type = proto;
  proto->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  proto->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = (int32_t)type;
  tensor->shape = dims;
  dims->n_dim = (size_t)shape->rank;
  if (!(dims->dim = ARENA_ARRAY(arena, Onnx__TensorShapeProto__Dimension *, shape->rank))) return NULL;
  for (int i = 0; i < shape->rank; i++)
    if (!(dims->dim[i] = write_dim(g, shape->dim[i], arena))) return NULL;
  return info;
}

bool onnx_values_write(const Graph *g, Value *const *values, int count, Arena *arena, size_t *n,
                       Onnx__ValueInfoProto ***out) {
  *n = 0;
  if (!(*out = ARENA_ARRAY(arena, Onnx__ValueInfoProto *, count))) return false;
  for (int i = 0; i < count; i++) {
    const Value *v = values[i];
    if (!((*out)[(*n)++] = onnx_value_write(g, v->name, v->type, &v->shape, arena))) return false;
  }
  return true;
}

static bool is_in(const Graph *g, const Value *v) { return g && graph_find(g, v->name); }

/* A former parameter among the inputs is an initializer now, and no input. */
static bool write_inputs(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to) {
  Value **fed = ARENA_ARRAY(arena, Value *, g->input_count);
  int count = 0;
  for (int i = 0; fed && i < g->input_count; i++)
    if (g->inputs[i]->kind != VALUE_CONSTANT && !is_in(without, g->inputs[i])) fed[count++] = g->inputs[i];
  return fed && onnx_values_write(g, fed, count, arena, &to->n_input, &to->input);
}

static bool write_initializers(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to) {
  if (!(to->initializer = ARENA_ARRAY(arena, Onnx__TensorProto *, g->value_count))) return false;
  for (int i = 0; i < g->value_count; i++) {
    if (g->values[i]->kind != VALUE_CONSTANT || !g->values[i]->initializer || is_in(without, g->values[i])) continue;
    if (!(to->initializer[to->n_initializer++] = onnx_tensor_write(g->values[i], arena))) return false;
  }
  return true;
}

/* Other constants become Constant nodes, so that nobody who trains the written model takes them for parameters. */
static bool write_constants(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to) {
  if (!(to->node = ARENA_ARRAY(arena, Onnx__NodeProto *, g->value_count + g->node_count))) return false;
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    const Attr value = {.name = "value", .kind = ATTR_TENSOR, .tensor = v};
    if (v->kind != VALUE_CONSTANT || v->initializer || is_in(without, v)) continue;
    if (!(to->node[to->n_node++] = onnx_node_write("Constant", "", v->name, NULL, 0, &v->name, 1, &value, 1, arena)))
      return false;
  }
  return true;
}

/* ---- nodes ---- */

static const char **value_names(Value *const *values, int count, Arena *arena) {
  const char **names = ARENA_ARRAY(arena, const char *, count);
  for (int i = 0; names && i < count; i++) names[i] = values[i] ? values[i]->name : "";
  return names;
}

static bool node_is_in(const Graph *g, const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) return is_in(g, n->out[i]);
  return false;
}

static bool write_nodes(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (node_is_in(without, n)) continue;
    const char **in = value_names(n->in, n->in_count, arena), **out = value_names(n->out, n->out_count, arena);
    if (!in || !out) return false;
    to->node[to->n_node] = onnx_node_write(n->op->name, n->op->domain ? n->op->domain : "", n->name, in, n->in_count,
                                           out, n->out_count, n->attrs, n->attr_count, arena);
    if (!to->node[to->n_node++]) return false;
  }
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(Onnx__NodeProto *const *)a)->name, (*(Onnx__NodeProto *const *)b)->name);
}

/* ONNX Runtime refuses two nodes with the same name, and a model may use a name that we make up: all but one of these
 * nodes get no name.
 */
static bool part_names(Onnx__GraphProto *g, Arena *arena) {
  Onnx__NodeProto **sorted = ARENA_ARRAY(arena, Onnx__NodeProto *, g->n_node);
  if (!sorted) return false;
  size_t count = 0;
  for (size_t i = 0; i < g->n_node; i++)
    if (g->node[i]->name) sorted[count++] = g->node[i];
  qsort(sorted, count, sizeof *sorted, by_name);
  for (size_t i = 1; i < count; i++)
    if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) sorted[i - 1]->name = text("");
  return true;
}

/* ONNX Runtime's kernels for these two take the shape of their output from the file, since none of their inputs has it.
 */
static bool needs_shape(const Node *n, const Value *v) {
  bool asks = strcmp(n->op->name, "MaxPoolGrad") == 0 || strcmp(n->op->name, "AveragePoolGrad") == 0;
  return asks && v == n->out[0];
}

static bool write_types(const Graph *g, bool all, Arena *arena, Onnx__GraphProto *to) {
  Value **shaped = ARENA_ARRAY(arena, Value *, g->value_count);
  int count = 0;
  for (int i = 0; shaped && i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    for (int k = 0; k < n->out_count; k++)
      if (n->out[k] && n->out[k]->type != DTYPE_NONE && (all || needs_shape(n, n->out[k]))) shaped[count++] = n->out[k];
  }
  return shaped && onnx_values_write(g, shaped, count, arena, &to->n_value_info, &to->value_info);
}

bool onnx_metadata_write(const char *const *keys, const char *const *texts, int count, Arena *arena,
                         Onnx__ModelProto *model) {
  model->n_metadata_props = (size_t)count;
  if (!(model->metadata_props = ARENA_ARRAY(arena, Onnx__StringStringEntryProto *, count))) return false;
  for (int i = 0; i < count; i++) {
    Onnx__StringStringEntryProto *entry = model->metadata_props[i] = ARENA_NEW(arena, Onnx__StringStringEntryProto);
    if (!entry) return false;
    onnx__string_string_entry_proto__init(entry);
    entry->key = text(keys[i]);
    entry->value = text(texts[i]);
  }
  return true;
}

/* ---- the file ---- */

bool onnx_graph_write(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to) {
  return write_initializers(g, without, arena, to) && write_constants(g, without, arena, to) &&
         write_nodes(g, without, arena, to) && part_names(to, arena) && write_inputs(g, without, arena, to);
}

Onnx__ModelProto *onnx_model_of(const Graph *g, bool types, Arena *arena) {
  Onnx__ModelProto *model = onnx_frame_write(g, arena);
  if (!model) return NULL;
  Onnx__GraphProto *to = model->graph;
  bool good = onnx_metadata_write(g->metadata.keys, g->metadata.texts, g->metadata.count, arena, model) &&
              onnx_graph_write(g, NULL, arena, to) && write_types(g, types, arena, to) &&
              onnx_values_write(g, g->outputs, g->output_count, arena, &to->n_output, &to->output);
  return good ? model : NULL;
}

Status onnx_model_pack(const Onnx__ModelProto *model, Error *error, Block *out, size_t *out_bytes) {
  size_t bytes = model ? onnx__model_proto__get_packed_size(model) : 0;
  if (!model || !block_reserve(out, bytes)) return error_memory(error, "while writing the model");
  *out_bytes = onnx__model_proto__pack(model, out->data);
  return STATUS_OK;
}

Status onnx_write(const Graph *g, bool types, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Status status = onnx_model_pack(onnx_model_of(g, types, &arena), g->error, out, out_bytes);
  arena_free(&arena);
  return status;
}
