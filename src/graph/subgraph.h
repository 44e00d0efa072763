/* Subgraph: the branch or body that a node carries in an attribute. It is not a Graph: its nodes join the graph of the
 * node that carries it, once it is known which subgraph and how many times (If, Loop and Scan are ops made of others:
 * Op.expand).
 *
 *   slots: one a name,  inputs │ constants, captured values, outputs of nodes in the order in which they are met
 */
#pragma once
#include "graph/graph.h"

typedef struct SubgraphNode {
  const Op *op;
  const char *name;
  const int *in, *out; /* slots, -1 is absent; `in` ends with what its own subgraphs capture */
  int in_count, out_count;
  const Attr *attrs;
  int attr_count;
} SubgraphNode;

struct Subgraph {
  const char **names; /* the slots' */
  int slot_count, input_count;
  int *captures; /* slots of values of the surrounding graphs; these are the last inputs of the node, in the order of
                    its attributes */
  int capture_count, capture_capacity;
  Value *constants;
  int *constant_slots, constant_count;
  SubgraphNode *nodes;
  int node_count;
  int *outputs;    /* slots */
  Value *declared; /* types and shapes of the outputs; unknown dims are 0 */
  int output_count;
  int size; /* counted for one run of it: SUBGRAPH_MOST */
};

/* Nodes, their inputs, outputs and attributes, counted together, of all subgraphs that are added to one graph; a node
 * is about five. Beyond the first limit, a Loop leaves its remaining iterations to a graph of its own; beyond the
 * second it is refused; the third is for all such graphs together. */
#ifdef TRAINLET_SHORT_LOOPS /* fuzzers often make Loops that never end */
enum { SUBGRAPH_LONG = 1 << 12, SUBGRAPH_MOST = 1 << 13, SUBGRAPH_PART = 1 << 10, SUBGRAPH_RUN_MAX = 1 << 16 };
#else
enum { SUBGRAPH_LONG = 1 << 17, SUBGRAPH_MOST = 1 << 18, SUBGRAPH_PART = 1 << 12, SUBGRAPH_RUN_MAX = 1 << 23 };
#endif
bool subgraph_is_long(const Graph *g);

/* A node's subgraph, its values' places, constants and captured values filled in; NULL with a sentence when it has none
 * of that name. */
const Subgraph *subgraph_open(const Node *n, const char *attr, Value ***slots);
/* Inputs of the node without those that its subgraphs capture. */
int subgraph_own_inputs(const Node *n);
/* A name for a value within the node, one that no value has in the graph or in one from which it was cloned. */
const char *subgraph_name(const Node *n, const char *stem);
/* Adds the nodes to the graph of `n`: reads the slots of the inputs, fills those of the outputs. */
Status subgraph_inline(const Node *n, const Subgraph *s, Value **slots);
/* `items` joined along a new axis after those `joined` (NULL: none) that already have it. */
Value *subgraph_stack(Graph *g, Value *joined, Value *const *items, int count, int64_t axis);
/* For when no iteration makes an item: an empty value with the declared type and dims. */
Value *subgraph_nothing(Graph *g, const Value *declared, int64_t axis);
