/* Modules: the layers of a model that read a frozen weight, by the names that they had where the model was written.
 *
 *   what its exporter notes:   ['', 'model', 'model.fc', 'linear']       ─▶  model.fc
 *   else the name of the node:  /model/layers.0/self_attn/q_proj/MatMul  ─▶  model.layers.0.self_attn.q_proj
 *   else of the weight:        model.layers.0.self_attn.q_proj.weight   ─▶  model.layers.0.self_attn.q_proj
 */
#pragma once
#include "graph/graph.h"
#include "train/names.h"

typedef enum ModuleKind {
  MODULE_LINEAR,    /* y (…, out) = x (…, in) · W */
  MODULE_CONV,      /* one group */
  MODULE_EMBEDDING, /* rows `in` of `out` numbers, looked up */
} ModuleKind;

typedef struct Module {
  const char *name;
  ModuleKind kind;
  Node *node;          /* that computes with it */
  const Value *weight; /* the constant that it follows from; of several nodes with the same one, the module is one */
  Dim in, out;
  bool turned; /* of a linear layer: the exporter has transposed the weight, which is (in, out) now */
  bool last;   /* no other linear layer comes after it */
} Module;

typedef struct Modules {
  Module *items;
  int count, capacity;
} Modules;

/* Those of model g, in the order of its nodes. `names`: "node or weight=module" each, which go before what is found. */
Status modules_find(Graph *g, const NameList *names, Arena *arena, Modules *out);

/* PyTorch's exporter names what it has transposed or folded by a number: `onnx::MatMul_9772`, `val_12`. */
bool module_is_numbered(const char *name);
/* As the exporter notes it, or by the node's path; NULL where neither is there. */
const char *module_of_node(const Node *n, Arena *arena);
/* The module of a parameter: its name without what follows the last dot. */
const char *module_of_parameter(const char *name, Arena *arena);

/* A pattern is a module's name or its end, from a dot on, as in PEFT (`q_proj`), or a glob over one of these. */
bool module_matches(const char *pattern, const char *name);
bool module_matches_any(const NameList *patterns, const char *name);
