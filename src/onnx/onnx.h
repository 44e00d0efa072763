/* ONNX files: reading one into a Graph, writing a Graph as one. */
#pragma once
#include "external.h"
#include "graph/graph.h"

/* Parses and checks a model, in an ONNX file or in ONNX Runtime's ORT format. All memory the graph needs comes from its
 * arena (the parser allocates there too, so that large initializers exist once); the bytes may be freed when it
 * returns, but files of `external` (NULL: none) whose in_place is set by then must stay. Node order: topological, as
 * ONNX demands; refused otherwise (ORT format is sorted first). Initializers and Constant nodes become VALUE_CONSTANT.
 * NULL on failure with the sentence in error. */
Graph *onnx_read(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error);
/* For inference: shapes may depend on fed values (Graph.deferral). */
Graph *onnx_read_inference(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error);

/* ---- ONNX's own training representation (ModelProto.training_info) ---- */

/* A Gradient node of the algorithm: dy/dx for each of the xs. In the graph, the derivatives are inputs that nobody
 * feeds. */
typedef struct OnnxGradient {
  const char *node;
  Value *y, **xs, **outs; /* outs[i] is NULL where it is not wanted */
  int count;
} OnnxGradient;

/* After a run, the initializer `to` takes the value `from`. */
typedef struct OnnxBinding {
  const char *to, *from;
} OnnxBinding;

typedef struct OnnxTraining {
  int entries;  /* number of training_info; only one can be read */
  Error error;  /* why it was not read, apart from the model itself */
  Graph *graph; /* the model's nodes, then the algorithm's; its outputs are the model's alone */
  OnnxGradient *gradients;
  int gradient_count, gradient_capacity;
  OnnxBinding *updates, *initial;
  int update_count, initial_count;
  Graph *initialization; /* NULL: none */
} OnnxTraining;

/* onnx_read, or onnx_read_inference where it `defers`, and the model's training_info beside it. Parameters that
 * PyTorch's exporters have merged are several again, unless it `keeps` them. */
Graph *onnx_read_training(const uint8_t *bytes, size_t count, const External *external, bool defers, bool keeps,
                          Arena *arena, Error *error, OnnxTraining *training);
/* Writes `model` with one training_info: the first gradient of t, its updates, and as the algorithm whatever t->graph
 * has and the model lacks. */
Status onnx_write_training(const Graph *model, const OnnxTraining *t, Block *out, size_t *out_bytes);

/* Writes a graph: VALUE_CONSTANT as initializers where they are `initializer`, else as Constant nodes; VALUE_INPUT and
 * VALUE_STATE of g->inputs as inputs. */
Status onnx_write(const Graph *g, bool types, Block *out, size_t *out_bytes);

/* Notes the tensors of a model whose files of external data are given in pieces, and makes room for them. */
Status onnx_external_pieces(const uint8_t *bytes, size_t count, External *external, Arena *arena, Error *error);

/* ---- models that are not networks (optimizer models): their nodes as they are in the file ---- */

typedef struct OnnxNode {
  const char *op_type, *domain, *name; /* "" is ai.onnx */
  const char *const *in, *const *out;  /* "" is an absent optional */
  int in_count, out_count;
  const Attr *attrs;
  int attr_count;
} OnnxNode;

/* An input, output or value in between: a vector of `count` elements, a tensor of any shape, or a sequence of those
 * where `count` is 0. */
enum { PORT_ANY_SHAPE = -1 };
typedef struct OnnxPort {
  const char *name;
  DType type;
  int count;
} OnnxPort;

typedef struct OnnxPlain {
  const OnnxNode *nodes;
  const OnnxPort *inputs, *outputs, *between;
  const Opset *opsets;
  const char *const *metadata_keys, *const *metadata_texts;
  int node_count, input_count, output_count, between_count, opset_count, metadata_count;
} OnnxPlain;

/* Reads only the nodes and the metadata, whatever the operators are; memory as in onnx_read. */
Status onnx_read_nodes(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error,
                       OnnxPlain *out);
Status onnx_write_nodes(const OnnxPlain *model, Error *error, Block *out, size_t *out_bytes);
