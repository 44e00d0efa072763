/* Loop: the nodes of its subgraph once an iteration, one after the other, as long as trip count and condition say.
 *
 *   in:  M, condition, carried[] ─▶ body(i, condition, carried[]) ─▶ condition, carried[], scanned[]   out: carried[], scanned[] stacked
 *
 * Where the condition of an iteration is not known yet, the rest is a Loop of its own that starts at iteration `first`, with what is
 * stacked so far after its carried inputs. */
#include <string.h>

#include "graph/subgraph.h"
#include "ops/op.h"

typedef struct Loop {
  const Node *n;
  const Subgraph *body;
  Value **slots, **scanned; /* scanned: (iterations, scans) */
  int64_t first, i, trips;
  int carried, scans, scanned_count, scanned_capacity;
} Loop;

static Status read_scalar(const Node *n, int input, int64_t otherwise, int64_t *out) {
  const Dim *dims;
  int count;
  *out = otherwise;
  if (!has_in(n, input) || input >= subgraph_own_inputs(n)) return STATUS_OK;
  TRY(node_known(n, input, &dims, &count));
  if (count != 1) return node_invalid(n, "input %d must be one element, it has %d", input, count);
  *out = dims[0];
  if (!dim_is_symbol(*out)) return STATUS_OK;
  node_await(n, input);
  return node_fail(n, STATUS_UNSUPPORTED_OP, "the number of iterations must be known before the run, it is a dimension '%.40s'", graph_symbol_name(n->graph, *out));
}

static Status loop_open(Loop *l, const Node *n) {
  *l = (Loop){.n = n, .first = node_int(n, "first", 0)};
  if (!(l->body = subgraph_open(n, "body", &l->slots))) return n->graph->error->status;
  l->carried = l->body->input_count - 2;
  l->scans = l->body->output_count - 1 - l->carried;
  int own = subgraph_own_inputs(n) - (l->first ? l->scans : 0);
  if (l->carried < 0 || l->scans < 0 || own != 2 + l->carried)
    return node_invalid(n, "%d inputs do not fit a body of %d inputs and %d outputs", own, l->body->input_count, l->body->output_count);
  if (n->out_count > l->carried + l->scans) return node_invalid(n, "%d outputs are wanted, its body makes %d", n->out_count, l->carried + l->scans);
  for (int k = 0; k < l->carried; k++)
    if (!(l->slots[2 + k] = n->in[2 + k])) return node_invalid(n, "input %d must be there", 2 + k);
  return STATUS_OK;
}

/* One iteration; the carried values and the condition are in the slots of the body's inputs before and after. */
static Status iterate(Loop *l) {
  Graph *g = l->n->graph;
  const Subgraph *b = l->body;
  if (!(l->slots[0] = emit_int(g, l->i))) return STATUS_OUT_OF_MEMORY;
  TRY(subgraph_inline(l->n, b, l->slots));
  Value **out = ARENA_ARRAY(g->arena, Value *, b->output_count);
  if (!out) return STATUS_OUT_OF_MEMORY;
  for (int k = 0; k < b->output_count; k++) out[k] = l->slots[b->outputs[k]];
  for (int k = 0; k <= l->carried; k++) l->slots[1 + k] = out[k];
  for (int k = 0; k < l->scans; k++) {
    if (!(l->scanned = arena_list_grow(g->arena, l->scanned, l->scanned_count, &l->scanned_capacity, sizeof *l->scanned))) return STATUS_OUT_OF_MEMORY;
    l->scanned[l->scanned_count++] = out[1 + l->carried + k];
  }
  return STATUS_OK;
}

/* Scan output k of the iterations so far; NULL when there are none. */
static Value *stacked(Loop *l, int k) {
  int count = l->scans ? l->scanned_count / l->scans : 0;
  Value **items = ARENA_ARRAY(l->n->graph->arena, Value *, count);
  for (int i = 0; items && i < count; i++) items[i] = l->scanned[i * l->scans + k];
  return subgraph_stack(l->n->graph, l->first ? l->n->in[2 + l->carried + k] : NULL, items, count, 0);
}

static Status emit_outputs(Loop *l, Value **out) {
  Graph *g = l->n->graph;
  for (int k = 0; k < l->n->out_count; k++) {
    int scan = k - l->carried;
    if (scan < 0) out[k] = l->slots[2 + k];
    else if (!(out[k] = stacked(l, scan)) && !(out[k] = subgraph_nothing(g, &l->body->declared[1 + k], 0))) return g->error->status;
  }
  return STATUS_OK;
}

/* The iterations from this one on, as a node. */
static Status emit_rest(Loop *l, Value **out) {
  const Node *n = l->n;
  Graph *g = n->graph;
  int own = subgraph_own_inputs(n), captured = n->in_count - own, head = 2 + l->carried, count = head + l->scans + captured;
  Value **in = ARENA_ARRAY(g->arena, Value *, count);
  Attr *attrs = ARENA_ARRAY(g->arena, Attr, n->attr_count + 1);
  const char **names = ARENA_ARRAY(g->arena, const char *, n->out_count);
  if (!in || !attrs || !names) return STATUS_OUT_OF_MEMORY;
  in[0] = n->in[0];
  for (int k = 1; k < head; k++) in[k] = l->slots[k];
  for (int k = 0; k < l->scans; k++)
    if (!(in[head + k] = stacked(l, k))) return g->error->status;
  for (int k = 0; k < captured; k++) in[head + l->scans + k] = n->in[own + k];
  int attr_count = 0;
  for (int k = 0; k < n->attr_count; k++)
    if (strcmp(n->attrs[k].name, "first") != 0) attrs[attr_count++] = n->attrs[k];
  attrs[attr_count++] = attr_of_int("first", l->i);
  for (int k = 0; k < n->out_count; k++)
    if (!(names[k] = subgraph_name(n, "rest"))) return STATUS_OUT_OF_MEMORY;
  TRY(graph_add(g, &(Added){n->op, n->name, in, count, names, n->out_count, attrs, attr_count}));
  for (int k = 0; k < n->out_count; k++) out[k] = graph_find(g, names[k]);
  g->awaited = NULL;
  return STATUS_OK;
}

static bool is_known_scalar(const Value *v) { return v->known && shape_elements(&v->shape) == 1; }

static Status loop_compose(Compose *c) {
  const Node *n = c->node;
  Loop l;
  int64_t condition;
  bool conditional = has_in(n, 1) && subgraph_own_inputs(n) > 1;
  TRY(loop_open(&l, n));
  TRY(read_scalar(n, 0, INT64_MAX, &l.trips));
  TRY(read_scalar(n, 1, true, &condition));
  if (!(l.slots[1] = conditional ? n->in[1] : emit_truth(c->graph, true))) return c->graph->error->status;
  for (l.i = l.first; l.i < l.trips && condition; l.i++) {
    TRY(iterate(&l));
    if (conditional && l.i + 1 < l.trips && !is_known_scalar(l.slots[1])) return l.i++, emit_rest(&l, c->out);
    if (conditional && l.i + 1 < l.trips) condition = l.slots[1]->known[0];
  }
  return emit_outputs(&l, c->out);
}

const Op op_loop = {
    .name = "Loop",
    .since = {1, 11, 13, 16, 19, 21},
    .min_in = 2, .max_in = -1, .min_out = 1, .max_out = -1,
    .flags = OP_ANY_TYPE | OP_SUBGRAPHS,
    .compose = loop_compose,
};
