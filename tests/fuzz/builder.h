/* Builder: an ONNX model written piece by piece, by protobuf's own structs: the engine has no part in it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "onnx.pb-c.h"

enum { BUILDER_MOST = 256 };

typedef struct Builder {
  Arena arena; /* holds all that the structs point to, except names and data, which must stay */
  Onnx__ModelProto model;
  Onnx__GraphProto graph;
  Onnx__OperatorSetIdProto opset, *opsets[1];
  Onnx__NodeProto *nodes[BUILDER_MOST];
  Onnx__ValueInfoProto *inputs[8], *outputs[8];
  Onnx__TensorProto *initializers[BUILDER_MOST];
} Builder;

void builder_begin(Builder *b, int opset);
/* A dim of -1 is `symbol`. */
void builder_input(Builder *b, const char *name, const char *symbol, int rank, const int64_t *dims);
void builder_output(Builder *b, const char *name, const char *symbol, int rank, const int64_t *dims);
Onnx__TensorProto *builder_floats(Builder *b, const char *name, int rank, const int64_t *dims, const float *data);
void builder_ints(Builder *b, const char *name, const int64_t *ints, int count);
/* The data lies in a file instead. */
void builder_keep_outside(Builder *b, Onnx__TensorProto *t, const char *location);
/* Gives the node, for attributes. A NULL among the inputs is an absent one. */
Onnx__NodeProto *builder_node(Builder *b, const char *op, const char *name, const char *const *in, int in_count,
                              const char *out);
void builder_int(Builder *b, Onnx__NodeProto *n, const char *name, int64_t x);
void builder_float(Builder *b, Onnx__NodeProto *n, const char *name, float x);
void builder_int_list(Builder *b, Onnx__NodeProto *n, const char *name, const int64_t *ints, int count);
/* Bytes of malloc. */
uint8_t *builder_end(Builder *b, size_t *bytes);
