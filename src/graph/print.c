/* The graph as text, one node a line, for tests and people:  y (N, 10) = Gemm 'fc1'(x, w, b) */
#include "graph/print.h"

#include "graph/op.h"

static void put_shape(Printer *p, const Graph *g, const Shape *s) {
  printer_put(p, "(");
  for (int i = 0; i < s->rank; i++) {
    const char *symbol = graph_symbol_name(g, s->dim[i]);
    printer_put(p, i ? ", " : "");
    if (dim_is_number(s->dim[i])) printer_int(p, s->dim[i]);
    else printer_put(p, *symbol ? symbol : "?");
  }
  printer_put(p, ")");
}

void graph_print_node(Printer *p, const Node *n, GraphNote *note) {
  for (int k = 0; k < n->out_count; k++) {
    const Value *v = n->out[k];
    printer_put(p, k ? ", " : "");
    printer_put(p, v ? v->name : "-");
    if (v) printer_put(p, " "), put_shape(p, n->graph, &v->shape);
    if (v && note) note(p, v);
  }
  printer_put(p, " = "), printer_put(p, n->op->name);
  printer_put(p, " '"), printer_put(p, n->name), printer_put(p, "'(");
  for (int k = 0; k < n->in_count; k++) printer_put(p, k ? ", " : ""), printer_put(p, n->in[k] ? n->in[k]->name : "-");
  printer_put(p, ")");
}

char *graph_print(const Graph *g, Arena *arena) {
  Printer p = printer_new(arena);
  for (int i = 0; i < g->node_count; i++) graph_print_node(&p, g->nodes[i], NULL), printer_put(&p, "\n");
  return p.text;
}
