/* The plan as text: each node's line with where its outputs lie and how long:  12  y (64, 10) @5120+2560 [12, 15] =
 * Gemm 'fc1'(x, w, b) */
#include "program/plan_print.h"

#include "graph/print.h"

static void put_life(TextBuilder *p, const Value *root) {
  bool stays = root->last >= root->producer->graph->node_count;
  if (stays) text_print(p, " [%d, end]", root->first);
  else text_print(p, " [%d, %d]", root->first, root->last);
}

static void put_place(TextBuilder *p, const Value *v) {
  const Value *root = value_root(v);
  if (root->kind == VALUE_NODE && !root->in_state && root->first >= 0) {
    text_print(p, " @%zu+%zu", root->offset, shape_elements(&root->shape) * dtype_bytes(root->type));
    put_life(p, root);
  }
  if (root->in_state) text_put(p, " in the state");
  else if (root != v) text_put(p, " in "), text_put(p, root->name);
}

void plan_print(TextBuilder *to, const Program *p) {
  const Graph *g = p->graph;
  text_print(to, "%d nodes, %d of them run, in an arena of %zu bytes; most are alive at node %d: %zu bytes\n",
             g->node_count, p->step_count, p->arena_bytes, p->peak_step, p->lower_bound_bytes);
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    text_print(to, "%4d  ", i);
    graph_print_node(to, n, put_place);
    if (n->scratch_bytes)
      text_print(to, " scratch @%zu+%zu", (size_t)((char *)n->scratch - (char *)p->base), n->scratch_bytes);
    text_put(to, "\n");
  }
}
