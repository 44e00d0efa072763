/* Reads the graph of an ONNX file: adds constants, inputs, nodes and outputs to a Graph in that order. */
#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/parts.h"
#include "graph/lengths.h"
#include "graph/op.h"
#include "part.h"

enum { NODE_PORTS_MAX = 1 << 20 };

typedef OnnxReader Reader;

static Status invalid(Reader *r, const char *node, const char *sentence, const char *name) {
  return error_set(r->error, STATUS_INVALID_MODEL, node, sentence, name);
}

/* ---- the model around the graph ---- */

OPTIONAL(onnx_gradient, onnx_gradient_read);

Status onnx_frame_read(Reader *r, const Onnx__ModelProto *model) {
  Graph *g = r->graph;
  r->by_pytorch = model->producer_name && strcmp(model->producer_name, "pytorch") == 0;
  g->ir_version = model->ir_version < 1 ? 0 : (int)model->ir_version;
  for (size_t i = 0; i < model->n_opset_import; i++)
    TRY(graph_import(g, onnx_domain(model->opset_import[i]->domain), (int)model->opset_import[i]->version));
  for (size_t i = 0; i < model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *p = model->metadata_props[i];
    if (p->key) TRY(graph_set_metadata(g, p->key, p->value ? p->value : ""));
  }
  return STATUS_OK;
}

/* ---- operators we lack, all in one sentence ---- */

static const Op *op_of(const Onnx__NodeProto *n) {
  return n->op_type ? op_find_in(onnx_domain(n->domain), n->op_type) : NULL;
}

static bool same_op(const Onnx__NodeProto *a, const Onnx__NodeProto *b) {
  return a->op_type && b->op_type && strcmp(a->op_type, b->op_type) == 0 &&
         strcmp(onnx_domain(a->domain), onnx_domain(b->domain)) == 0;
}

enum { MISSING_MAX = 24 }; /* more do not fit into the sentence */

/* Adds those of a graph and its subgraphs to `missing`, each once. */
static Status find_missing(Reader *r, const Onnx__GraphProto *g, const Onnx__NodeProto **missing, int *count) {
  for (size_t i = 0; i < g->n_node && *count < MISSING_MAX; i++) {
    const Onnx__NodeProto *n = g->node[i];
    if (!has_name(n->op_type))
      return invalid(r, onnx_node_title(n), "node '%.128s' does not say what its operator is", onnx_node_title(n));
    for (size_t k = 0; k < n->n_attribute; k++)
      if (n->attribute[k]->g) TRY(find_missing(r, n->attribute[k]->g, missing, count));
    if (onnx_constant_is(n) || onnx_gradient_is(n) || op_of(n) || *count == MISSING_MAX) continue;
    int k = 0;
    while (k < *count && !same_op(missing[k], n)) k++;
    if (k == *count) missing[(*count)++] = n;
  }
  return STATUS_OK;
}

static Status check_ops(Reader *r) {
  const Onnx__NodeProto *missing[MISSING_MAX];
  int count = 0;
  TRY(find_missing(r, r->from, missing, &count));
  if (!count) return STATUS_OK;
  char names[400];
  size_t at = 0;
  for (int i = 0; i < count && at < sizeof names; i++) {
    const char *domain = onnx_domain(missing[i]->domain);
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%.32s%s%.48s", i ? ", " : "", domain, *domain ? "." : "",
                           missing[i]->op_type);
  }
  if (is_shrunk()) return part_missing_operators(r->error, onnx_node_title(missing[0]), names);
  return error_set(r->error, STATUS_UNSUPPORTED_OP, onnx_node_title(missing[0]), "the model uses %s we lack: %s",
                   count == 1 ? "an operator" : "operators", names);
}

/* ---- constants ---- */

static Status add_constant(Reader *r, const char *name, const Value *tensor, bool initializer) {
  Value *v = graph_constant(r->graph, name, tensor->type, &tensor->shape, tensor->data);
  if (v) v->initializer = initializer;
  return v ? STATUS_OK : r->error->status;
}

/* True if no other value may take its type. Then weights of 4 bits become weights of 8 bits, which more engines read.
 */
static bool is_only_dequantized(Reader *r, const char *name) {
  bool only = true;
  for (size_t i = 0; i < r->from->n_node; i++) {
    const Onnx__NodeProto *n = r->from->node[i];
    for (size_t k = 0; k < n->n_input; k++)
      only &= strcmp(n->input[k], name) != 0 || strcmp(n->op_type, "DequantizeLinear") == 0;
  }
  for (size_t i = 0; i < r->from->n_output; i++) {
    const char *output = r->from->output[i]->name; /* NULL: refused later */
    only &= !output || strcmp(output, name) != 0;
  }
  return only;
}

static Status read_initializers(Reader *r) {
  for (size_t i = 0; i < r->from->n_sparse_initializer; i++) {
    Value tensor;
    TRY(onnx_sparse_initializer_read(r->from, i, r->arena, r->error, &tensor));
    TRY(add_constant(r, tensor.name, &tensor, true));
  }
  for (size_t i = 0; i < r->from->n_initializer; i++) {
    Onnx__TensorProto *t = r->from->initializer[i], *wide;
    if (!has_name(t->name)) return error_set(r->error, STATUS_INVALID_MODEL, NULL, "initializer %zu has no name", i);
    bool widens = dtype_packed((DType)t->data_type) > 1 && is_only_dequantized(r, t->name);
    if (!(wide = widens ? onnx_tensor_widen(t, r->arena, r->error) : t))
      return ERROR_MEMORY(r->error, "for initializer '%.128s'", t->name);
    t = wide;
    Value tensor = {0};
    TRY(onnx_tensor_read(t, "initializer", t->name, r->arena, r->error, &tensor));
    TRY(add_constant(r, t->name, &tensor, true));
  }
  return STATUS_OK;
}

/* ---- inputs and outputs ---- */

static Status read_dim(Reader *r, const char *name, const Onnx__TensorShapeProto__Dimension *from, Dim *out) {
  if (from->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && has_name(from->dim_param))
    *out = graph_symbol(r->graph, from->dim_param);
  else if (from->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && from->dim_value >= 0)
    *out = from->dim_value;
  else if (from->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && from->dim_value != -1)
    return invalid(r, NULL, "input '%.128s' has a negative dimension", name);
  else *out = graph_fresh_dim(r->graph); /* converters write -1 for unknown, too */
  return r->error->status;
}

static Status read_tensor_type(Reader *r, const char *name, const Onnx__TypeProto__Tensor *tensor, Declared *out) {
  out->type = (DType)tensor->elem_type;
  if (!dtype_bytes(out->type))
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL, "input '%.128s' has elements of type %s, which we lack",
                     name, dtype_name(out->type));
  out->shape.rank = -1;
  if (!tensor->shape) return STATUS_OK;
  if (tensor->shape->n_dim > RANK_MAX)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL, "input '%.128s' has %zu dimensions, we have up to %d", name,
                     tensor->shape->n_dim, RANK_MAX);
  out->shape.rank = (int)tensor->shape->n_dim;
  for (int i = 0; i < out->shape.rank; i++) TRY(read_dim(r, name, tensor->shape->dim[i], &out->shape.dim[i]));
  return STATUS_OK;
}

/* A tensor, a sequence of tensors, an optional of either, or a map or a sequence of maps. */
static Status read_type(Reader *r, const char *name, const Onnx__TypeProto *type, Declared *out) {
  out->optional = type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
  if (out->optional) type = type->optional_type->elem_type;
  out->sequence = type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
  if (out->sequence) type = type->sequence_type->elem_type;
  bool is_map = type && type->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE && !out->optional;
  if (is_map) {
    out->map = (DType)type->map_type->key_type;
    type = out->map == DTYPE_INT64 || out->map == DTYPE_STRING ? type->map_type->value_type : NULL;
  }
  if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    TRY(read_tensor_type(r, name, type->tensor_type, out));
    if (is_map) out->shape.rank = -1; /* a number for each key */
    return STATUS_OK;
  }
  return error_set(
      r->error, STATUS_UNSUPPORTED_OP, NULL,
      "input '%.128s' is %s; we feed graphs with tensors, sequences of tensors, optionals of these and maps", name,
      is_map          ? "a map whose keys are neither int64 nor string"
      : out->sequence ? "a sequence of what are no tensors"
      : out->optional ? "an optional of what is neither a tensor nor a sequence"
                      : "of no type");
}

static Status declare(Reader *r, const char *name, const Declared *d, Value *v) {
  Declared *kept = ARENA_NEW(r->arena, Declared);
  if (!kept) return ERROR_MEMORY(r->error, "for '%.128s'", name);
  *kept = *d;
  v->declared = kept;
  return STATUS_OK;
}

static Status read_input(Reader *r, const Onnx__ValueInfoProto *from) {
  const char *name = from->name;
  if (!has_name(name)) return error_set(r->error, STATUS_INVALID_MODEL, NULL, "an input of the model has no name");
  const Value *constant = graph_find(r->graph, name);
  if (constant && constant->kind == VALUE_CONSTANT)
    return STATUS_OK; /* files of IR 3 list their initializers here, too */
  Declared d = {0};
  TRY(read_type(r, name, from->type, &d));
  bool declares = d.sequence || d.optional || d.map;
  if (d.sequence && d.map)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL, "input '%.128s' is a sequence of maps; we feed single maps",
                     name);
  if (!r->graph->deferral.allowed && d.type == DTYPE_STRING)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL,
                     "input '%.128s' has elements of type string; training feeds graphs with numbers alone", name);
  if (declares && !r->graph->deferral.allowed)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL,
                     "input '%.128s' is %s; training feeds graphs with tensors alone", name,
                     d.optional   ? "an optional"
                     : d.sequence ? "a sequence"
                                  : "a map");
  if (!declares && d.shape.rank < 0)
    return invalid(r, NULL, "input '%.128s' has no shape; dims may be unknown, their number must be given", name);
  Value *v = declares ? graph_value(r->graph, name, DTYPE_NONE, NULL, VALUE_INPUT)
                      : graph_value(r->graph, name, d.type, &d.shape, VALUE_INPUT);
  if (!v || graph_add_input(r->graph, v) != STATUS_OK) return r->error->status;
  if (!declares) return STATUS_OK;
  return declare(r, name, &d, v);
}

/* Stores the file's declaration of an output whose type only a run can know. A type that makes no sense counts as none.
 */
static Status declare_output(Reader *r, const Onnx__TypeProto *type, Value *v) {
  Error ignored = {0};
  Reader quiet = *r;
  Declared d = {0};
  quiet.error = &ignored;
  bool typed = v->type != DTYPE_NONE && v->kind != VALUE_SEQUENCE;
  return typed || v->declared || read_type(&quiet, v->name, type, &d) != STATUS_OK ? r->error->status
                                                                                   : declare(r, v->name, &d, v);
}

Status onnx_outputs_read(Reader *r) {
  if (!r->from->n_output) return error_set(r->error, STATUS_INVALID_MODEL, NULL, "the model has no outputs");
  for (size_t i = 0; i < r->from->n_output; i++) {
    const char *name = r->from->output[i]->name;
    Value *v = has_name(name) ? graph_find(r->graph, name) : NULL;
    if (!v) return invalid(r, NULL, "the model's output '%.128s' is made by no node", has_name(name) ? name : "");
    if (!r->graph->deferral.allowed && (v->kind == VALUE_SEQUENCE || v->type == DTYPE_STRING))
      return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL,
                       "the model's output '%.128s' is %s; graphs that train give tensors of numbers alone", name,
                       v->type == DTYPE_STRING ? "of strings" : "a sequence or an optional");
    TRY(declare_output(r, r->from->output[i]->type, v));
    TRY(graph_add_output(r->graph, v));
  }
  return STATUS_OK;
}

/* ---- nodes ---- */

static Status unknown_input(Reader *r, const Onnx__NodeProto *n, const char *name) {
  for (size_t i = 0; i < r->from->n_node; i++)
    for (size_t k = 0; k < r->from->node[i]->n_output; k++)
      if (strcmp(r->from->node[i]->output[k], name) == 0)
        return error_set(r->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                         "%.48s '%.96s' reads '%.96s', which only %.48s '%.96s' at or after it makes: nodes must "
                         "be sorted, without cycles",
                         n->op_type, onnx_node_title(n), name, r->from->node[i]->op_type,
                         onnx_node_title(r->from->node[i]));
  return error_set(r->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                   "%.48s '%.96s' reads '%.96s', which nothing makes", n->op_type, onnx_node_title(n), name);
}

static Status check_outputs(Reader *r, const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_output; i++)
    if (*n->output[i] && graph_find(r->graph, n->output[i]))
      return error_set(r->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                       "%.48s '%.96s' makes '%.96s', which exists already", n->op_type, onnx_node_title(n),
                       n->output[i]);
  return STATUS_OK;
}

/* A node's inputs, then what its subgraphs capture. */
static Status read_inputs(Reader *r, const Onnx__NodeProto *n, const Attr *attrs, Value ***in, int *count) {
  size_t most = n->n_input;
  for (size_t i = 0; i < n->n_attribute; i++)
    if (attrs[i].kind == ATTR_GRAPH) most += (size_t)attrs[i].subgraph->capture_count;
  if (!(*in = ARENA_ARRAY(r->arena, Value *, most)))
    return error_set(r->error, STATUS_OUT_OF_MEMORY, onnx_node_title(n), "out of memory for node '%.128s'",
                     onnx_node_title(n));
  *count = (int)n->n_input;
  for (size_t i = 0; i < n->n_input; i++)
    if (*n->input[i] && !((*in)[i] = graph_find(r->graph, n->input[i]))) return unknown_input(r, n, n->input[i]);
  for (size_t i = 0; i < n->n_attribute; i++) {
    const Subgraph *s = attrs[i].kind == ATTR_GRAPH ? attrs[i].subgraph : NULL;
    for (int k = 0; s && k < s->capture_count; k++)
      if (!((*in)[(*count)++] = graph_find(r->graph, s->names[s->captures[k]])))
        return unknown_input(r, n, s->names[s->captures[k]]);
  }
  return STATUS_OK;
}

static Status read_node(Reader *r, const Onnx__NodeProto *n) {
  const char *domain = onnx_domain(n->domain);
  if (!graph_opset(r->graph, domain))
    return error_set(r->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                     "%.48s '%.96s' is of the domain '%.64s', which the model does not import", n->op_type,
                     onnx_node_title(n), *domain ? domain : "ai.onnx");
  TRY(check_outputs(r, n));
  if (onnx_constant_is(n)) {
    Value v;
    TRY(onnx_constant_read(n, r->arena, r->error, &v));
    return add_constant(r, n->output[0], &v, false);
  }
  if (onnx_gradient_is(n))
    return part_onnx_gradient ? part_onnx_gradient(r, n) : part_missing(r->error, "Gradient nodes");
  if (n->n_input > NODE_PORTS_MAX || n->n_output > NODE_PORTS_MAX || n->n_attribute > NODE_PORTS_MAX)
    return invalid(r, onnx_node_title(n), "node '%.128s' has too many inputs, outputs or attributes",
                   onnx_node_title(n));
  Attr *attrs;
  Value **in;
  int in_count, attr_count = (int)n->n_attribute;
  TRY(onnx_attrs_read(n, r->arena, r->error, &attrs));
  TRY(read_inputs(r, n, attrs, &in, &in_count));
  TRY(onnx_exporter_read_loop(r, n, &attrs, &attr_count));
  Added added = {op_of(n), n->name, in, in_count, (const char *const *)n->output, (int)n->n_output, attrs, attr_count};
  if (lengths_open(r->graph, &added) >= 0)
    TRY(lengths_settle(r->graph, &added, in, n->n_output ? onnx_exporter_rank(r->from, n->output[0]) : -1));
  return graph_add(r->graph, &added);
}

/* PyTorch's exporter notes with each node which of its rules have made it. */
static void read_folded(Reader *r, const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_metadata_props && !r->graph->folded; i++) {
    const char *rule = n->metadata_props[i]->value;
    const Value *w = n->n_input > 1 && rule && strstr(rule, "FuseBatchNormInto") ? graph_find(r->graph, n->input[1])
                                                                                 : NULL;
    if (w) r->graph->folded = w->name;
  }
}

Status onnx_names_reserve(Graph *g, const Onnx__GraphProto *from) {
  for (size_t i = 0; i < from->n_initializer; i++)
    if (has_name(from->initializer[i]->name)) TRY(graph_reserve(g, from->initializer[i]->name));
  for (size_t i = 0; i < from->n_input; i++)
    if (has_name(from->input[i]->name)) TRY(graph_reserve(g, from->input[i]->name));
  for (size_t i = 0; i < from->n_node; i++)
    for (size_t k = 0; k < from->node[i]->n_output; k++) TRY(graph_reserve(g, from->node[i]->output[k]));
  return STATUS_OK;
}

Status onnx_body_read(Reader *r) {
  TRY(check_ops(r));
  TRY(onnx_names_reserve(r->graph, r->from));
  TRY(read_initializers(r));
  for (size_t i = 0; i < r->from->n_input; i++) TRY(read_input(r, r->from->input[i]));
  TRY(onnx_exporter_read(r));
  for (size_t i = 0; i < r->from->n_node; i++) {
    bool done = false;
    if (r->trains) TRY(onnx_undo(r, r->from->node[i], &done));
    if (done) continue;
    TRY(onnx_exporter_read_module(r, r->from->node[i]));
    TRY(read_node(r, r->from->node[i]));
    read_folded(r, r->from->node[i]);
    TRY(onnx_exporter_read_node(r, r->from->node[i]));
  }
  if (r->trains && !r->keeps_merged && r->placeholder_count) TRY(onnx_split_merged(r));
  if (r->trains && !r->keeps_merged) onnx_undo_find_lost(r);
  r->graph->module = NULL;
  r->graph->reserved_names = (NameTable){0}; /* they are names of values now */
  r->graph->reserved_count = 0;
  return STATUS_OK;
}
