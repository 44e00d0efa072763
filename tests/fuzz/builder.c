/* Protobuf structs of an ONNX model. */
#include "builder.h"

#include <stdlib.h>
#include <string.h>

static char *text(const char *s) { return (char *)(uintptr_t)s; }

void builder_begin(Builder *b, int opset) {
  *b = (Builder){
      .model = ONNX__MODEL_PROTO__INIT, .graph = ONNX__GRAPH_PROTO__INIT, .opset = ONNX__OPERATOR_SET_ID_PROTO__INIT};
  b->opset.has_version = true, b->opset.version = opset;
  b->opsets[0] = &b->opset;
  b->graph.node = b->nodes, b->graph.input = b->inputs, b->graph.output = b->outputs,
  b->graph.initializer = b->initializers;
  b->model.has_ir_version = true, b->model.ir_version = 8;
  b->model.graph = &b->graph, b->model.n_opset_import = 1, b->model.opset_import = b->opsets;
}

static Onnx__TensorShapeProto__Dimension *dimension(Builder *b, int64_t d, const char *symbol) {
  Onnx__TensorShapeProto__Dimension *dim = ARENA_NEW(&b->arena, Onnx__TensorShapeProto__Dimension);
  onnx__tensor_shape_proto__dimension__init(dim);
  if (d < 0) dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM, dim->dim_param = text(symbol);
  else dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE, dim->dim_value = d;
  return dim;
}

static Onnx__ValueInfoProto *declared(Builder *b, const char *name, const char *symbol, int rank, const int64_t *dims) {
  Onnx__ValueInfoProto *v = ARENA_NEW(&b->arena, Onnx__ValueInfoProto);
  onnx__value_info_proto__init(v);
  v->name = text(name);
  v->type = ARENA_NEW(&b->arena, Onnx__TypeProto);
  onnx__type_proto__init(v->type);
  Onnx__TypeProto__Tensor *tensor = ARENA_NEW(&b->arena, Onnx__TypeProto__Tensor);
  onnx__type_proto__tensor__init(tensor);
  v->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE, v->type->tensor_type = tensor;
  tensor->has_elem_type = true, tensor->elem_type = 1;
  tensor->shape = ARENA_NEW(&b->arena, Onnx__TensorShapeProto);
  onnx__tensor_shape_proto__init(tensor->shape);
  tensor->shape->n_dim = (size_t)rank;
  tensor->shape->dim = ARENA_ARRAY(&b->arena, Onnx__TensorShapeProto__Dimension *, rank);
  for (int i = 0; i < rank; i++) tensor->shape->dim[i] = dimension(b, dims[i], symbol);
  return v;
}

void builder_input(Builder *b, const char *name, const char *symbol, int rank, const int64_t *dims) {
  b->inputs[b->graph.n_input++] = declared(b, name, symbol, rank, dims);
}
void builder_output(Builder *b, const char *name, const char *symbol, int rank, const int64_t *dims) {
  b->outputs[b->graph.n_output++] = declared(b, name, symbol, rank, dims);
}

static Onnx__TensorProto *initializer(Builder *b, const char *name, int rank, const int64_t *dims, int type) {
  Onnx__TensorProto *t = b->initializers[b->graph.n_initializer++] = ARENA_NEW(&b->arena, Onnx__TensorProto);
  onnx__tensor_proto__init(t);
  t->name = text(name), t->has_data_type = true, t->data_type = type;
  t->n_dims = (size_t)rank;
  t->dims = ARENA_ARRAY(&b->arena, int64_t, rank);
  for (int i = 0; i < rank; i++) t->dims[i] = dims[i];
  return t;
}

Onnx__TensorProto *builder_floats(Builder *b, const char *name, int rank, const int64_t *dims, const float *data) {
  Onnx__TensorProto *t = initializer(b, name, rank, dims, 1);
  t->n_float_data = 1;
  for (int i = 0; i < rank; i++) t->n_float_data *= (size_t)dims[i];
  t->float_data = (float *)(uintptr_t)data;
  return t;
}

/* A Constant node, so that nobody takes it for a parameter. */
void builder_ints(Builder *b, const char *name, const int64_t *ints, int count) {
  Onnx__NodeProto *n = builder_node(b, "Constant", "", NULL, 0, name);
  builder_int_list(b, n, "value_ints", ints, count);
}

void builder_keep_outside(Builder *b, Onnx__TensorProto *t, const char *location) {
  Onnx__StringStringEntryProto *entry = ARENA_NEW(&b->arena, Onnx__StringStringEntryProto);
  onnx__string_string_entry_proto__init(entry);
  entry->key = text("location"), entry->value = text(location);
  t->n_float_data = 0, t->float_data = NULL;
  t->has_data_location = true, t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  t->n_external_data = 1, t->external_data = ARENA_ARRAY(&b->arena, Onnx__StringStringEntryProto *, 1);
  t->external_data[0] = entry;
}

Onnx__NodeProto *builder_node(Builder *b, const char *op, const char *name, const char *const *in, int in_count,
                              const char *out) {
  Onnx__NodeProto *n = b->nodes[b->graph.n_node++] = ARENA_NEW(&b->arena, Onnx__NodeProto);
  onnx__node_proto__init(n);
  n->op_type = text(op), n->name = text(name);
  n->n_input = (size_t)in_count, n->input = ARENA_ARRAY(&b->arena, char *, in_count);
  for (int i = 0; i < in_count; i++) n->input[i] = text(in[i] ? in[i] : "");
  n->n_output = 1, n->output = ARENA_ARRAY(&b->arena, char *, 1);
  n->output[0] = text(out);
  n->attribute = ARENA_ARRAY(&b->arena, Onnx__AttributeProto *, 8);
  return n;
}

static Onnx__AttributeProto *attribute(Builder *b, Onnx__NodeProto *n, const char *name,
                                       Onnx__AttributeProto__AttributeType type) {
  Onnx__AttributeProto *a = n->attribute[n->n_attribute++] = ARENA_NEW(&b->arena, Onnx__AttributeProto);
  onnx__attribute_proto__init(a);
  a->name = text(name), a->has_type = true, a->type = type;
  return a;
}

void builder_int(Builder *b, Onnx__NodeProto *n, const char *name, int64_t x) {
  Onnx__AttributeProto *a = attribute(b, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  a->has_i = true, a->i = x;
}

void builder_float(Builder *b, Onnx__NodeProto *n, const char *name, float x) {
  Onnx__AttributeProto *a = attribute(b, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  a->has_f = true, a->f = x;
}

void builder_int_list(Builder *b, Onnx__NodeProto *n, const char *name, const int64_t *ints, int count) {
  Onnx__AttributeProto *a = attribute(b, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  a->n_ints = (size_t)count, a->ints = ARENA_ARRAY(&b->arena, int64_t, count);
  if (count) memcpy(a->ints, ints, (size_t)count * sizeof *ints);
}

uint8_t *builder_end(Builder *b, size_t *bytes) {
  uint8_t *packed = malloc(onnx__model_proto__get_packed_size(&b->model));
  *bytes = onnx__model_proto__pack(&b->model, packed);
  arena_free(&b->arena);
  return packed;
}
