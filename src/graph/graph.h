/* Graph: nodes in topological order, joined by values. A Graph that exists is valid: every node passed its op's infer,
 * or is deferred until a run has computed the contents that it needs (Deferred).
 *
 *   Graph ─▶ inputs[]   Value ◀── in[] ── Node ── out[] ──▶ Value ◀── outputs[] ── Graph
 *         ─▶ nodes[]                      │ op, attrs, params
 */
#pragma once
#include "arena.h"
#include "rng.h"
#include "shape.h"
#include "status.h"
#include "threads.h"

typedef struct Op Op;
typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Subgraph Subgraph;

typedef enum ValueKind {
  VALUE_NODE,     /* computed by a node */
  VALUE_INPUT,    /* fed by the caller */
  VALUE_CONSTANT, /* bytes that never change: an initializer, a Constant's value */
  VALUE_STATE,    /* lives in the session: a parameter, a gradient accumulator */
  VALUE_SEQUENCE, /* a list of others, which only operators on sequences read: it has no bytes (graph/sequence.h) */
} ValueKind;

/* The declaration in the file of a value that may be a sequence, an optional, both, a map or a sequence of maps. The
 * value has no type until it is bound to a feed. A map is two tensors, its keys and its values. A sequence of maps with
 * the same keys is one tensor of keys and one of all values, a row for each map. */
typedef struct Declared {
  bool sequence, optional;
  DType map;   /* type of the keys of a map, or of each map of the sequence; NONE: no maps */
  DType type;  /* type of the tensor, of each of the sequence, or of the values of maps */
  Shape shape; /* shape of each; rank -1: any */
} Declared;

/* An exporter's notes on an initializer. NOTE_ATTRIBUTE: a module's parameter or buffer, by its name. */
typedef enum ExporterNote { NOTE_NONE, NOTE_ATTRIBUTE, NOTE_PARAMETER, NOTE_NO_PARAMETER } ExporterNote;

typedef struct Value {
  const char *name; /* never NULL, unique in its graph */
  void *data;       /* VALUE_CONSTANT: its bytes. Otherwise NULL until a plan places the value */
  Shape shape;
  DType type;
  ValueKind kind;
  int index;  /* in graph->values: an algorithm keeps what it knows of each value in an array of its own. No run reads
                 it,  nor what follows (VALUE_RUN_BYTES) */
  bool fixed; /* VALUE_STATE that no step changes: a frozen parameter */
  bool initializer; /* VALUE_CONSTANT from the model's initializer list: it may become a parameter */
  Node *producer;   /* VALUE_NODE only */
  /* contents known before any run, as dims (symbols: dim_is_symbol; numbers may be < 0); NULL when not */
  const Dim *known;
  /* set for an input that may be a sequence or an optional, and for an output whose type is not known yet; else NULL */
  const Declared *declared;
  struct Value **items; /* VALUE_SEQUENCE only */
  int item_count;
  bool absent; /* VALUE_SEQUENCE that stands for an empty optional */
  bool ahead;  /* VALUE_NODE whose data was computed while the graph was built (graph/known.h) */
  /* VALUE_CONSTANT whose contents an infer has read, such as the scales of a Resize: it must stay as it is. */
  bool shape_constant;
  /* Plan only. */
  bool in_state;      /* a root computed straight into the session's state, not into the arena */
  struct Value *root; /* the value that owns the bytes: itself unless it is a view or written in place */
  size_t offset;      /* in the step arena */
  int first, last;    /* steps that write and last read the root's bytes */
  /* Passes only (passes/rewrite.h). */
  struct Value *instead; /* its readers are to read this one instead */
  int readers;           /* nodes that read it, and once more where it is an output of the graph */
  bool fetched;          /* an output of the graph; train/mode.c marks them, too */
  /* Others. */
  bool statistic; /* train/mode.h only: running mean or variance of a BatchNormalization */
  bool quantized; /* VALUE_CONSTANT that stands for a frozen weight, or a part of that (model/quantize.h) */
  bool depends;   /* backward only: it depends on a value whose gradient is wanted */
  bool stretched; /* backward only: it depends on a broadcast of different symbols (Node.stretches) */
  ExporterNote note;
  const char *computed_from; /* the parameter from which an exporter computed this constant; NULL: none */
  bool computed_masked;      /* from no other parameter, but from a buffer too */
  bool computed_changed;     /* the exporter did more than move and add elements */
  struct Value *copy;        /* in the graph that this one was last cloned to; NULL when that does not want it */
  /* stands for it in clones: a constant, its contents computed ahead (program/dynamic_shapes.h), or what was fed
   * (program/feed.h) */
  const struct Value *pin;
  struct Contribution *contributions; /* backward only: gradients that have arrived and wait to be summed */
} Value;
#define VALUE_RUN_BYTES offsetof(Value, index) /* size of a value that is only computed with */

/* Itself, or the value in whose bytes it stands. */
static inline Value *value_root(const Value *v) {
  while (v->root != v) v = v->root;
  return (Value *)v;
}
static inline size_t value_bytes(const Value *v) { return shape_elements(&v->shape) * dtype_bytes(v->type); }

typedef enum AttrKind {
  ATTR_NONE,
  ATTR_FLOAT,
  ATTR_INT,
  ATTR_STRING,
  ATTR_TENSOR,
  ATTR_FLOATS,
  ATTR_INTS,
  ATTR_STRINGS,
  ATTR_GRAPH
} AttrKind;

typedef struct Attr {
  const char *name;
  AttrKind kind;
  int count; /* number of floats, ints or strings */
  union {
    float f;
    int64_t i;
    const char *s;
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    const Value *tensor; /* a VALUE_CONSTANT that belongs to no graph */
    const Subgraph *subgraph;
  };
} Attr;

/* A deferred node needs contents that only a run computes (program/dynamic_shapes.h), so its outputs have no type or
 * shape. */
typedef struct Deferred {
  bool pending;
  Value *input; /* whose contents infer must know; NULL when it is an input's type and shape */
  int64_t done; /* iterations that a Loop has already done; > 0 if it is run alone */
} Deferred;

struct Node {
  const Op *op;
  Value **in;  /* in[i] is NULL when an optional input is absent */
  Value **out; /* out[i] is NULL when an optional output is not wanted */
  int in_count, out_count;
  void *params;  /* the op's own struct, which infer made from the attributes */
  void *scratch; /* available during run, 64-byte aligned; never NULL, because addresses are computed from it even when
                    nothing is there */
  Graph *graph;
  const char *name;     /* never NULL; made up from the op and its first output when the model has none */
  int version;          /* the op's since-version in force: the highest of op->since that is ≤ the graph's opset */
  int stream;           /* random numbers: the node's number in the graph that was read, the same in every clone */
  size_t scratch_bytes; /* set by infer when shapes are numbers: bytes wanted during run */
  /* The node that this one is a part of, where others make that up (Op.expand); else NULL. No run reads it, nor what
   * follows (NODE_RUN_BYTES). */
  Node *expanded_from;
  bool stretches;     /* two dims that met in a broadcast as different symbols: either may turn out to be 1 */
  const char *module; /* that it was in, as its exporter says; else NULL */
  bool in_training;   /* a BatchNormalization of which its exporter says so */
  Attr *attrs;
  int attr_count;
  Deferred deferred;
};
#define NODE_RUN_BYTES offsetof(Node, expanded_from) /* size of a node that only runs */

typedef struct Opset {
  const char *domain; /* "" is ai.onnx */
  int version;
} Opset;

/* Hash table: name → index + 1 in a list of the graph, whose first `count` are in it. */
typedef struct NameTable {
  int *slots;
  int slot_count, count;
} NameTable;

/* Deferred nodes. Where an infer, or the expansion around it, needs contents that only a run computes, node_defer
 * returns STATUS_DEFERRED, and the node is deferred instead of being refused. */
typedef struct Deferral {
  bool allowed;  /* else such an infer gives a symbol for each size, or fails with a sentence */
  bool resumes;  /* Loops go on where they left off; otherwise they are deferred to run alone */
  bool pending;  /* a node of the graph is deferred */
  bool tries;    /* an infer or an expansion that can be deferred is in progress */
  Value *needed; /* the contents that the last infer or expansion needed */
} Deferral;

struct Graph {
  Error *error;
  const Rng *rng; /* source of random operators; set by the session before a run */
  Arena *arena; /* holds what a run reads: contents, params, and what these point to. No run reads it, nor what follows
                     (GRAPH_RUN_BYTES) */
  /* holds nodes, values and names: the same one, unless nothing but runs needs the graph (session/trainer.c) */
  Arena *frame;
  Node **nodes;
  int node_count, node_capacity;
  Value **inputs;
  int input_count, input_capacity;
  Value **outputs;
  int output_count, output_capacity;
  Value **values; /* every value, in the order of making */
  int value_count, value_capacity;
  const char **symbols; /* names of symbolic dims; "" for one without a name */
  int symbol_count, symbol_capacity;
  Opset *opsets;
  int opset_count, opset_capacity;
  const char **reserved; /* names that the file gives to values that are not read yet; a made-up name is none of them */
  int reserved_count, reserved_capacity;
  const Graph *origin; /* while this graph is copied from it: a made-up name is none of its names */
  NameTable value_names, symbol_names, reserved_names;
  int made;                         /* counter for made-up names */
  int first_stream;                 /* Node.stream of the first node */
  double work_ahead;                /* multiply-adds computed while it was built or planned (graph/work.h) */
  double work_expanded, work_limit; /* multiply-adds of expanded operators, and their limit in a run; 0: WORK_DEFAULT */
  const ThreadsStop *stop;          /* stops the run for which the graph is planned; NULL: none */
  int inlined;                      /* size of the subgraphs that were added (graph/subgraph.h) */
  Deferral deferral;
  bool predicts;      /* a model for inference: Dropout drops nothing */
  Node *expanding;    /* the node that is being made of others, the outermost; NULL: none */
  const char *module; /* Node.module of the nodes that are added next */
  struct {
    const char **keys, **texts;
    int count, capacity;
  } metadata;         /* the model's metadata_props */
  const char *folded; /* the first weight of which an exporter says that a BatchNormalization became part of it */
  const char *lost;   /* the first parameter that its notes name and the file lacks */
  int lost_count;     /* number of such parameters */
  int ir_version;
  int file_opset; /* the version of ai.onnx in the file from which nodes are read; the graph's own is 13 or higher */
};

#define GRAPH_RUN_BYTES offsetof(Graph, arena) /* size of a graph whose nodes only run */

Graph *graph_new(Arena *arena, Error *error);
/* An empty graph with the symbols, opsets and metadata of g. */
Graph *graph_new_like(const Graph *g, Arena *arena, Error *error);
/* The version of a domain's opset the graph imports; 0 when it does not. */
int graph_opset(const Graph *g, const char *domain);
Status graph_import(Graph *g, const char *domain, int version); /* keeps the first import of a domain */
/* The warning about a file whose ai.onnx opset is newer than all that we know; NULL if it is not. */
const char *graph_opset_warning(const Graph *g, Arena *arena);

/* Values. A name that is already taken is invalid-model; NULL asks for a made-up name. NULL is returned on failure. */
Value *graph_value(Graph *g, const char *name, DType type, const Shape *shape, ValueKind kind);
Value *graph_find(const Graph *g, const char *name);
Value *graph_constant(Graph *g, const char *name, DType type, const Shape *shape,
                      const void *data); /* data is not copied */
Status graph_add_input(Graph *g, Value *v);
Status graph_add_output(Graph *g, Value *v);
Status graph_rename(Graph *g, Value *v, const char *stem); /* to graph_stable_name(stem) */
Status graph_claim(Graph *g, const char *name); /* an inner value of that name gets another: something needs just it */
Status graph_reserve(Graph *g, const char *name);         /* before the value of that name is added */
const char *graph_fresh_name(Graph *g, const char *stem); /* "stem", or "stem_7" … if taken */
/* The same with the lowest number that is free: train and eval model get the same name. */
const char *graph_stable_name(Graph *g, const char *stem);
char *graph_list_names(Value *const *values, int count, const char *between,
                       Arena *arena); /* one text; NULL when memory is out */
enum { KNOWN_MAX = 64 };              /* elements of Value.known, at most */
bool graph_know(Graph *g, Value *v); /* sets `known` from the data of a small integer value; false when memory is out */
const char *graph_metadata(const Graph *g, const char *key); /* NULL when absent */
Status graph_set_metadata(Graph *g, const char *key, const char *text);

Dim graph_symbol(Graph *g, const char *name);         /* the symbol of that name, made on first use */
Dim graph_fresh_dim(Graph *g);                        /* a symbol unlike any other */
const char *graph_symbol_name(const Graph *g, Dim d); /* "" for a fresh one */

/* A node of the op, `out_count` outputs with the given names (NULL array or NULL entry: made up; "" : absent). Runs the
 * op's infer. NULL in `in` is an absent optional input. */
Node *graph_node(Graph *g, const Op *op, const char *name, Value *const *in, int in_count, const char *const *out_names,
                 int out_count, const Attr *attrs, int attr_count);

/* A node as a model has it: an operator that is made of others (Op.expand) is replaced by these; float16 and bfloat16
 * are computed in float32, small ints in int64, between casts. `out_names` as for graph_node. */
typedef struct Added {
  const Op *op;
  const char *name;
  Value *const *in;
  int in_count;
  const char *const *out_names;
  int out_count;
  const Attr *attrs;
  int attr_count;
  int64_t done;
} Added;
Status graph_add(Graph *g, const Added *a);
bool graph_is_expanded(const Added *a); /* it is made of others */
bool graph_is_plain(const Added *a);    /* it is not, and needs no casts: graph_add adds just this node */
Status graph_expand(Graph *g, const Added *a,
                    Value **out); /* the same without casts, the outputs under made-up names */

/* Copies the nodes that `outputs` need into a new graph in `arena` and infers each of them again. Pinned values are
 * replaced by their pins, and symbols by `numbers` where those are ≥ 0. Values of other kinds than VALUE_NODE are
 * copied with their data. `copy` of each old value points to its copy. */
Graph *graph_clone(Graph *g, Arena *arena, Error *error, const Dim *numbers, Value *const *outputs, int output_count);

/* Emitting: errors are sticky, NULL in gives NULL out; the error is in g->error. emit returns output 0. */
typedef struct AttrList {
  const Attr *items;
  int count;
} AttrList;
#define NO_ATTRS ((AttrList){NULL, 0})
#define ATTRS(...) ((AttrList){(Attr[]){__VA_ARGS__}, (int)(sizeof((Attr[]){__VA_ARGS__}) / sizeof(Attr))})
#define EMIT_LIST(...) (Value *[]){__VA_ARGS__}, (int)(sizeof((Value *[]){__VA_ARGS__}) / sizeof(Value *))
#define emit(g, op_name, ...) emit_plain(g, op_name, EMIT_LIST(__VA_ARGS__))
#define emit_with(g, op_name, attrs, ...) emit_first(g, op_name, attrs, EMIT_LIST(__VA_ARGS__))
Value *emit_listed(Graph *g, const char *op_name, const Attr *attrs, int attr_count, Value *const *in, int in_count);
Value *emit_unary(Graph *g, const char *op_name, Value *x);
Value *emit_binary(Graph *g, const char *op_name, Value *a, Value *b);
Value *emit_ternary(Graph *g, const char *op_name, Value *a, Value *b, Value *c);
/* Inline, as arguments of a call take less code than structs and lists in memory. */
#define EMIT_INLINE static inline __attribute__((always_inline))
EMIT_INLINE Value *emit_first(Graph *g, const char *op_name, AttrList attrs, Value *const *in, int in_count) {
  return emit_listed(g, op_name, attrs.items, attrs.count, in, in_count);
}
EMIT_INLINE Value *emit_plain(Graph *g, const char *op_name, Value *const *in, int in_count) {
  if (in_count == 1) return emit_unary(g, op_name, in[0]);
  if (in_count == 2) return emit_binary(g, op_name, in[0], in[1]);
  if (in_count == 3) return emit_ternary(g, op_name, in[0], in[1], in[2]);
  return emit_listed(g, op_name, NULL, 0, in, in_count);
}
/* The same with several outputs, all wanted where want is NULL or want[i]; NULL on failure. An input that is
 * EMIT_ABSENT is an absent optional one. */
Node *emit_node(Graph *g, const char *op_name, AttrList attrs, Value *const *in, int in_count, int out_count,
                const bool *want);
extern Value emit_absent;
#define EMIT_ABSENT (&emit_absent)
Value *emit_float(Graph *g, float x);                                  /* scalar constant */
Value *emit_floats(Graph *g, const float *floats, const Shape *shape); /* constant */
Value *emit_ints(Graph *g, const int64_t *ints, int count);            /* int64 vector constant */
Value *emit_truth(Graph *g, bool truth);                               /* scalar constant */
Value *emit_int(Graph *g, int64_t x);                                  /* scalar constant */
Value *emit_shape(Graph *g, Value *like);                              /* Shape(like) */

static inline Attr attr_of_int(const char *name, int64_t i) { return (Attr){.name = name, .kind = ATTR_INT, .i = i}; }
static inline Attr attr_of_float(const char *name, float f) { return (Attr){.name = name, .kind = ATTR_FLOAT, .f = f}; }
static inline Attr attr_of_string(const char *name, const char *s) {
  return (Attr){.name = name, .kind = ATTR_STRING, .s = s};
}
static inline Attr attr_of_ints(const char *name, const int64_t *ints, int count) {
  return (Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = ints};
}

/* The graph as text, one node a line; for tests, errors and people. */
char *graph_print(const Graph *g, Arena *arena);
