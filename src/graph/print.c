/* The graph as text, one node a line, for tests and people:  y (N, 10) = Gemm 'fc1'(x, w, b) */
#include "graph/print.h"

#include "graph/op.h"

static void put_shape(TextBuilder *p, const Graph *g, const Shape *s) {
  text_put(p, "(");
  for (int i = 0; i < s->rank; i++) {
    const char *symbol = graph_symbol_name(g, s->dim[i]);
    text_put(p, i ? ", " : "");
    if (dim_is_number(s->dim[i])) text_int(p, s->dim[i]);
    else text_put(p, *symbol ? symbol : "?");
  }
  text_put(p, ")");
}

void graph_print_node(TextBuilder *p, const Node *n, GraphNote *note) {
  for (int k = 0; k < n->out_count; k++) {
    const Value *v = n->out[k];
    text_put(p, k ? ", " : "");
    text_put(p, v ? v->name : "-");
    if (v) text_put(p, " "), put_shape(p, n->graph, &v->shape);
    if (v && note) note(p, v);
  }
  text_put(p, " = "), text_put(p, n->op->name);
  text_put(p, " '"), text_put(p, n->name), text_put(p, "'(");
  for (int k = 0; k < n->in_count; k++) text_put(p, k ? ", " : ""), text_put(p, n->in[k] ? n->in[k]->name : "-");
  text_put(p, ")");
}

char *graph_print(const Graph *g, Arena *arena) {
  TextBuilder p = text_new(arena);
  for (int i = 0; i < g->node_count; i++) graph_print_node(&p, g->nodes[i], NULL), text_put(&p, "\n");
  return p.text;
}
