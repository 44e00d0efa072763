/* Modules: the layers of a model that read a frozen weight, by the names that they had where the model was written.
 *
 *   what its exporter notes:   ['', 'model', 'model.fc', 'linear']       ─▶  model.fc
 *   else the name of the node:  /model/layers.0/self_attn/q_proj/MatMul  ─▶  model.layers.0.self_attn.q_proj
 *   else of the weight:        model.layers.0.self_attn.q_proj.weight   ─▶  model.layers.0.self_attn.q_proj
 *
 * Weights of one name get names of their own. In PyTorch's MultiheadAttention `self_attn` has two, as in PEFT:
 *
 *   self_attn.in_proj_weight ─▶ self_attn        self_attn.out_proj.weight ─▶ self_attn.out_proj, within self_attn
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
  const char *within; /* the name of the module that it is a part of; NULL: none */
  ModuleKind kind;
  Node *node;          /* that computes with it */
  const Value *weight; /* the constant that it follows from; of several nodes with the same one, the module is one */
  Dim in, out;
  bool turned;    /* a linear layer: the exporter has transposed the weight, which is (in, out) now */
  bool in_first;  /* a linear layer: the constant's first dim is its input's */
  bool on_weight; /* linear layers read the weight in several ways: parts of it, or turned, so it is adapted itself */
  bool last;      /* no other linear layer comes after it */
} Module;

typedef struct Modules {
  Module *items;
  int count, capacity;
} Modules;

/* Finds the modules of model g, in the order of its nodes. `names` has "node or weight=module" each, which override the
 * modules that are found. */
Status modules_find(Graph *g, const NameList *names, Arena *arena, Modules *out);

/* Both read the same weight the same way. */
bool modules_share(const Module *a, const Module *b);

/* PyTorch's exporter names what it has transposed or folded by a number: `onnx::MatMul_9772`, `val_12`. */
bool module_is_numbered(const char *name);
/* From the exporter's note or the node's path; NULL if there is neither. */
const char *module_of_node(const Node *n, Arena *arena);
/* The module of a parameter: its name without what follows the last dot. */
const char *module_of_parameter(const char *name, Arena *arena);

/* A pattern is a module's name or its end, from a dot on, as in PEFT (`q_proj`), or a glob over one of these. */
bool module_matches(const char *pattern, const char *name);
bool module_matches_any(const NameList *patterns, const char *name);
