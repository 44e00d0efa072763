/* Reads the subgraphs of ONNX nodes: names become slots; names that nothing in the subgraph makes are captured from
 * around it. */
#include <string.h>

#include "onnx/parts.h"
#include "graph/op.h"

enum {
  SUBGRAPH_MAX = 1 << 16,
  PORTS_MAX = 1 << 10
}; /* nodes, initializers, ports of a node; inputs or outputs of the subgraph: each may be stacked */

typedef struct Reader {
  const Onnx__GraphProto *from;
  Graph *names; /* its values stand for the slots, by their index */
  Arena *arena;
  Error *error;
  Subgraph *to;
} Reader;

static Status out_of_memory(Reader *r) { return error_memory(r->error, "for a subgraph"); }

/* A new slot; refused when the name has one. */
static Status make_slot(Reader *r, const char *name, int *slot) {
  Value *v = graph_value(r->names, name, DTYPE_NONE, NULL, VALUE_NODE);
  if (!v) return r->error->status;
  *slot = v->index;
  return STATUS_OK;
}

/* The slot of a name that is read; one that nothing has made so far is captured. */
static Status find_slot(Reader *r, const char *name, int *slot) {
  Subgraph *s = r->to;
  Value *v = graph_find(r->names, name);
  if (v) return *slot = v->index, STATUS_OK;
  TRY(make_slot(r, name, slot));
  if (!(s->captures = arena_list_grow(r->arena, s->captures, s->capture_count, &s->capture_capacity,
                                      sizeof *s->captures)))
    return out_of_memory(r);
  s->captures[s->capture_count++] = *slot;
  return STATUS_OK;
}

static Status add_constant(Reader *r, const char *name, const Value *tensor) {
  int i = r->to->constant_count++;
  Value *c = &r->to->constants[i];
  *c = *tensor;
  c->name = name;
  return make_slot(r, name, &r->to->constant_slots[i]);
}

static Status read_inputs(Reader *r) {
  for (size_t i = 0; i < r->from->n_input; i++) {
    const char *name = r->from->input[i]->name;
    int slot;
    if (!name || !*name) return error_set(r->error, STATUS_INVALID_MODEL, NULL, "an input of a subgraph has no name");
    TRY(make_slot(r, name, &slot));
  }
  r->to->input_count = (int)r->from->n_input;
  return STATUS_OK;
}

static Status read_initializers(Reader *r) {
  for (size_t i = 0; i < r->from->n_sparse_initializer; i++) {
    Value tensor;
    TRY(onnx_sparse_initializer_read(r->from, i, r->arena, r->error, &tensor));
    TRY(add_constant(r, tensor.name, &tensor));
  }
  for (size_t i = 0; i < r->from->n_initializer; i++) {
    const Onnx__TensorProto *t = r->from->initializer[i];
    Value tensor = {0};
    if (!t->name || !*t->name)
      return error_set(r->error, STATUS_INVALID_MODEL, NULL, "initializer %zu of a subgraph has no name", i);
    TRY(onnx_tensor_read(t, "initializer", t->name, r->arena, r->error, &tensor));
    TRY(add_constant(r, t->name, &tensor));
  }
  return STATUS_OK;
}

/* ---- nodes ---- */

static Status read_node_inputs(Reader *r, const Onnx__NodeProto *n, SubgraphNode *to) {
  int count = (int)n->n_input;
  for (int i = 0; i < to->attr_count; i++)
    if (to->attrs[i].kind == ATTR_GRAPH) count += to->attrs[i].subgraph->capture_count;
  int *in = ARENA_ARRAY(r->arena, int, count), at = 0;
  if (!in) return out_of_memory(r);
  for (size_t i = 0; i < n->n_input; i++, at++) {
    in[at] = -1;
    if (*n->input[i]) TRY(find_slot(r, n->input[i], &in[at]));
  }
  for (int i = 0; i < to->attr_count; i++) {
    const Subgraph *s = to->attrs[i].kind == ATTR_GRAPH ? to->attrs[i].subgraph : NULL;
    for (int k = 0; s && k < s->capture_count; k++) TRY(find_slot(r, s->names[s->captures[k]], &in[at++]));
  }
  to->in = in;
  to->in_count = count;
  return STATUS_OK;
}

static Status read_node_outputs(Reader *r, const Onnx__NodeProto *n, SubgraphNode *to) {
  int *out = ARENA_ARRAY(r->arena, int, n->n_output);
  if (!out) return out_of_memory(r);
  for (size_t i = 0; i < n->n_output; i++) {
    out[i] = -1;
    if (*n->output[i]) TRY(make_slot(r, n->output[i], &out[i]));
  }
  to->out = out;
  to->out_count = (int)n->n_output;
  return STATUS_OK;
}

static Status read_node(Reader *r, const Onnx__NodeProto *n) {
  const char *title = onnx_node_title(n);
  Value tensor;
  if (n->n_input > SUBGRAPH_MAX || n->n_output > SUBGRAPH_MAX || n->n_attribute > SUBGRAPH_MAX)
    return error_set(r->error, STATUS_INVALID_MODEL, title, "node '%.128s' has too many inputs, outputs or attributes",
                     title);
  if (onnx_constant_is(n)) {
    TRY(onnx_constant_read(n, r->arena, r->error, &tensor));
    return add_constant(r, n->output[0], &tensor);
  }
  SubgraphNode *to = &r->to->nodes[r->to->node_count++];
  Attr *attrs;
  *to = (SubgraphNode){.op = op_find_in(onnx_domain(n->domain), n->op_type ? n->op_type : ""), .name = title};
  if (!to->op)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, title,
                     "node '%.128s' of a subgraph has an operator we lack there: %.48s", title, n->op_type);
  TRY(onnx_attrs_read(n, r->arena, r->error, &attrs));
  to->attrs = attrs;
  to->attr_count = (int)n->n_attribute;
  TRY(read_node_inputs(r, n, to));
  return read_node_outputs(r, n, to);
}

static void declare(const Onnx__ValueInfoProto *from, Value *to) {
  const Onnx__TypeProto *type = from->type;
  *to = (Value){.name = from->name};
  if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
  const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
  if (dtype_bytes((DType)type->tensor_type->elem_type)) to->type = (DType)type->tensor_type->elem_type;
  to->shape.rank = shape && shape->n_dim < RANK_MAX ? (int)shape->n_dim : 0;
  for (int i = 0; i < to->shape.rank; i++) {
    bool number = shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                  shape->dim[i]->dim_value > 0;
    to->shape.dim[i] = number ? shape->dim[i]->dim_value : 0;
  }
}

static Status read_outputs(Reader *r) {
  Subgraph *s = r->to;
  for (size_t i = 0; i < r->from->n_output; i++) {
    const char *name = r->from->output[i]->name;
    if (!name || !*name) return error_set(r->error, STATUS_INVALID_MODEL, NULL, "an output of a subgraph has no name");
    TRY(find_slot(r, name, &s->outputs[i]));
    declare(r->from->output[i], &s->declared[i]);
  }
  s->output_count = (int)r->from->n_output;
  return STATUS_OK;
}

static void count_size(Subgraph *s) {
  size_t size = (size_t)s->slot_count + 4 * (size_t)s->output_count + 1;
  for (int i = 0; i < s->node_count; i++)
    size += 1 + (size_t)s->nodes[i].in_count + (size_t)s->nodes[i].out_count + (size_t)s->nodes[i].attr_count;
  s->size = size > SUBGRAPH_MOST ? SUBGRAPH_MOST + 1 : (int)size;
}

static Status name_slots(Reader *r) {
  Subgraph *s = r->to;
  s->slot_count = r->names->value_count;
  if (!(s->names = ARENA_ARRAY(r->arena, const char *, s->slot_count))) return out_of_memory(r);
  for (int i = 0; i < s->slot_count; i++) s->names[i] = r->names->values[i]->name;
  count_size(s);
  return STATUS_OK;
}

Status onnx_subgraph_read(const Onnx__GraphProto *from, Arena *arena, Error *error, Subgraph *out) {
  Reader r = {from, graph_new(arena, error), arena, error, out};
  if (from->n_node > SUBGRAPH_MAX || from->n_initializer > SUBGRAPH_MAX || from->n_sparse_initializer > SUBGRAPH_MAX ||
      from->n_input > PORTS_MAX || from->n_output > PORTS_MAX)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL,
                     "subgraph '%.100s' has more than %d nodes or initializers, or more than %d inputs or outputs",
                     from->name ? from->name : "", SUBGRAPH_MAX, PORTS_MAX);
  size_t constants = from->n_initializer + from->n_sparse_initializer + from->n_node;
  *out = (Subgraph){.constants = ARENA_ARRAY(arena, Value, constants),
                    .constant_slots = ARENA_ARRAY(arena, int, constants),
                    .nodes = ARENA_ARRAY(arena, SubgraphNode, from->n_node),
                    .outputs = ARENA_ARRAY(arena, int, from->n_output),
                    .declared = ARENA_ARRAY(arena, Value, from->n_output)};
  if (!r.names || !out->constants || !out->constant_slots || !out->nodes || !out->outputs || !out->declared)
    return out_of_memory(&r);
  TRY(read_inputs(&r));
  TRY(read_initializers(&r));
  for (size_t i = 0; i < from->n_node; i++) TRY(read_node(&r, from->node[i]));
  TRY(read_outputs(&r));
  return name_slots(&r);
}
