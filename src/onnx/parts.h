/* Parts of ONNX files, for reading and writing, used only within src/onnx: tensors, attributes, and nodes apart from
 * any graph. */
#pragma once
#include "onnx/onnx.h"
#include "graph/subgraph.h"
#include "onnx.pb-c.h"

/* A part of a text. */
typedef struct Span {
  const char *at;
  size_t length;
} Span;

/* A parameter, buffer or constant of a program of torch.export: what its nodes call it, and what its module does. */
typedef struct Placeholder {
  Span name, target;
  bool parameter;
} Placeholder;

/* Reads one GraphProto, or several one after another, into a graph. */
typedef struct OnnxReader {
  const Onnx__GraphProto *from;
  Graph *graph;
  Arena *arena;
  Error *error;
  OnnxTraining *training;    /* records Gradient nodes; NULL: they become nodes of a backward pass */
  bool trains;               /* it is read to make artifacts */
  bool keeps_merged;         /* parameters that an exporter merged stay one */
  Placeholder *placeholders; /* none where the file has no notes */
  size_t placeholder_count;
  int replaced_count; /* readings of what was computed, for which an Identity stands */
  bool by_pytorch;    /* the file's producer */
} OnnxReader;
Status onnx_frame_read(OnnxReader *r, const Onnx__ModelProto *model); /* opsets, metadata */
Status onnx_body_read(OnnxReader *r);                                 /* constants, inputs, nodes */
Status onnx_outputs_read(OnnxReader *r);
/* Keeps made-up names apart from all of `from`, which is read later (onnx_body_read does so for its own graph). */
Status onnx_names_reserve(Graph *g, const Onnx__GraphProto *from);
Status onnx_exporter_read(OnnxReader *r); /* Value.note, of initializers read before */
Status onnx_exporter_read_module(OnnxReader *r, const Onnx__NodeProto *next); /* Graph.module */
Status onnx_exporter_read_node(OnnxReader *r, const Onnx__NodeProto *from);   /* notes on gradients */
int onnx_exporter_rank(const Onnx__GraphProto *from, const char *name); /* declared of an output of a node; -1: none */
const char *onnx_exporter_note(const Onnx__NodeProto *n, const char *key); /* NULL: there is none */
const char *onnx_exporter_origins(const Onnx__ValueInfoProto *from);       /* the names that it was computed from */
/* An operator of the name, such as 'exp_1', computes new elements. */
bool onnx_exporter_changes(const Span *name);
/* Attributes of a Loop, and one more if a note says that it is an embedding bag (ops/control/embedding_bag.h). */
Status onnx_exporter_read_loop(OnnxReader *r, const Onnx__NodeProto *from, Attr **attrs, int *count);
/* The parameter that v is, or from which it was computed; NULL where the file does not say. */
const Placeholder *onnx_exporter_placeholder(const OnnxReader *r, const Value *v);
const Placeholder *onnx_exporter_target(const OnnxReader *r, const char *target);

/* Before node n is read: gives it the parameters that PyTorch's exporters have merged with others or dropped. `done`:
 * the node only stood for one. */
Status onnx_undo(OnnxReader *r, Onnx__NodeProto *n, bool *done);
/* The parameter p, which was merged with v: the one that is there, or a new one; v itself where p has other numbers. */
Value *onnx_undo_parameter(OnnxReader *r, Value *v, const Placeholder *p);
/* When all nodes are read: computes apart what the exporter computes once for several layers (merged.c). */
Status onnx_split_merged(OnnxReader *r);
/* Graph.lost, when all nodes are read. */
void onnx_undo_find_lost(OnnxReader *r);
static inline bool has_name(const char *name) { return name && *name; }
const char *onnx_node_title(const Onnx__NodeProto *n); /* its name in errors: the node's, else its first output's */

/* ai.onnx.preview.training's Gradient. */
bool onnx_gradient_is(const Onnx__NodeProto *n);
Status onnx_gradient_read(OnnxReader *r, const Onnx__NodeProto *n);
/* Fills `out` from the model's training_info; what is wrong with it goes to out->error. */
void onnx_training_read(const Onnx__ModelProto *model, Arena *arena, OnnxTraining *out);

/* Sets type, shape and data of `out`, a VALUE_CONSTANT; `what` and `name` say in errors which tensor it is. */
Status onnx_tensor_read(const Onnx__TensorProto *t, const char *what, const char *name, Arena *arena, Error *error,
                        Value *out);
/* The same of a sparse tensor: zeros but for its values. */
Status onnx_sparse_read(const Onnx__SparseTensorProto *from, const char *what, const char *name, Arena *arena,
                        Error *error, Value *out);
/* Reads a graph's sparse initializer `i`, which has the name of its values. */
Status onnx_sparse_initializer_read(const Onnx__GraphProto *from, size_t i, Arena *arena, Error *error, Value *out);

/* t itself, or where its numbers have 4 bits, the same in 8. NULL with a sentence, or without memory. */
Onnx__TensorProto *onnx_tensor_widen(Onnx__TensorProto *t, Arena *arena, Error *error);

Status onnx_attrs_read(const Onnx__NodeProto *from, Arena *arena, Error *error, Attr **attrs);

/* A node's subgraph; which names are captured from around it is found here. Nesting is bounded by wire.c. */
Status onnx_subgraph_read(const Onnx__GraphProto *from, Arena *arena, Error *error, Subgraph *out);

/* The tensor of a Constant node. */
bool onnx_constant_is(const Onnx__NodeProto *n);
Status onnx_constant_read(const Onnx__NodeProto *n, Arena *arena, Error *error, Value *out);

/* The name by which a domain of a file is known here: "" for ai.onnx, com.trainlet for ai.trainlet, under which earlier
 * versions of Trainlet wrote some of its operators. */
const char *onnx_domain(const char *domain);

/* An ONNX file or, by its identifier, one in ORT format, with its external data; nothing else is checked. NULL with a
 * sentence. */
const Onnx__ModelProto *onnx_model_parse(const uint8_t *bytes, size_t count, const External *external, Arena *arena,
                                         Error *error);

/* Gives raw data to every tensor that is read and has its data in another file. */
Status onnx_external_resolve(const Onnx__ModelProto *model, const External *external, Arena *arena, Error *error);

bool onnx_ort_format_is(const uint8_t *bytes, size_t count);
const Onnx__ModelProto *onnx_ort_format_read(const uint8_t *bytes, size_t count, Arena *arena, Error *error);

/* Checks that the model has a graph and opsets that we know; else a sentence. */
Status onnx_model_check(const Onnx__ModelProto *model, Error *error);

/* Replaces calls of the model's own functions by their bodies. */
Status onnx_functions_inline(const Onnx__ModelProto *model, Arena *arena, Error *error);

/* Defines in `to` those of our operators that the algorithm uses. */
bool onnx_functions_write(const Onnx__GraphProto *algorithm, Arena *arena, Onnx__ModelProto *to);

/* Writing: NULL when memory is out. A tensor's data is pointed to and not copied. */
Onnx__TensorProto *onnx_tensor_write(const Value *v, Arena *arena);
Onnx__NodeProto *onnx_node_write(const char *op_type, const char *domain, const char *name, const char *const *in,
                                 int in_count, const char *const *out, int out_count, const Attr *attrs, int attr_count,
                                 Arena *arena);
/* The initializers, nodes and inputs of g that `without` (NULL: none) lacks. */
bool onnx_graph_write(const Graph *g, const Graph *without, Arena *arena, Onnx__GraphProto *to);
/* A whole model with its outputs; `types`: with the type of every value that has one. */
Onnx__ModelProto *onnx_model_of(const Graph *g, bool types, Arena *arena);
bool onnx_values_write(const Graph *g, Value *const *values, int count, Arena *arena, size_t *n,
                       Onnx__ValueInfoProto ***out);
Onnx__ModelProto *onnx_model_write(const Opset *opsets, int opset_count, int ir_version,
                                   Arena *arena); /* with an empty graph */
/* The same with the graph's opsets, and a newer ai.onnx where its nodes need that. */
Onnx__ModelProto *onnx_frame_write(const Graph *g, Arena *arena);
bool onnx_metadata_write(const char *const *keys, const char *const *texts, int count, Arena *arena,
                         Onnx__ModelProto *model);
/* Type and shape of an input or output; a negative or unnamed symbol is an unknown dim. `graph` gives the symbols'
 * names. */
Onnx__ValueInfoProto *onnx_value_write(const Graph *graph, const char *name, DType type, const Shape *shape,
                                       Arena *arena);
Status onnx_model_pack(const Onnx__ModelProto *model, Error *error, Block *out, size_t *out_bytes);
