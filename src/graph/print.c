/* The graph as text, one node a line, for tests and people:  y (N, 10) = Gemm 'fc1'(x, w, b) */
#include <stdio.h>
#include <string.h>

#include "graph/op.h"

typedef struct Text {
  char *at, *end; /* snprintf counts past the end are cut */
} Text;

static void put(Text *t, const char *s) {
  while (*s && t->at < t->end) *t->at++ = *s++;
}

static size_t text_bound(const Graph *g) {
  size_t bytes = 1;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    bytes += strlen(n->name) + strlen(n->op->name) + 16;
    for (int k = 0; k < n->in_count; k++) bytes += 3 + (n->in[k] ? strlen(n->in[k]->name) : 1);
    for (int k = 0; k < n->out_count; k++) bytes += 4 + SHAPE_TEXT + (n->out[k] ? strlen(n->out[k]->name) : 1);
  }
  return bytes;
}

char *graph_print(const Graph *g, Arena *arena) {
  size_t bytes = text_bound(g);
  char *text = arena_alloc(arena, bytes), dims[SHAPE_TEXT];
  if (!text) return NULL;
  Text t = {text, text + bytes - 1};
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    for (int k = 0; k < n->out_count; k++) {
      put(&t, k ? ", " : "");
      put(&t, n->out[k] ? n->out[k]->name : "-");
      if (n->out[k]) put(&t, " "), put(&t, shape_print(&n->out[k]->shape, dims));
    }
    put(&t, " = "), put(&t, n->op->name), put(&t, " '"), put(&t, n->name), put(&t, "'(");
    for (int k = 0; k < n->in_count; k++) put(&t, k ? ", " : ""), put(&t, n->in[k] ? n->in[k]->name : "-");
    put(&t, ")\n");
  }
  return text;
}
