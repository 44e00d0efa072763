/* Loop: the nodes of its subgraph once for each iteration, one after another, as long as trip count and condition say.
 *
 *   M, condition, carried[] ─▶ body(i, condition, carried[]) ─▶ condition, carried[], scanned[]
 *   after the last turn ─▶ carried[], scanned[] stacked
 *
 * If the condition of an iteration is not known yet, or there are too many iterations, the rest becomes a Loop of its
 * own that has done `done` iterations, with what has been stacked so far after its carried inputs. */
#include <string.h>

#include "graph/known.h"
#include "graph/subgraph.h"
#include "graph/op.h"
#include "ops/control/embedding_bag.h"

typedef struct Loop {
  const Node *n;
  const Subgraph *body;
  Value **slots, **scanned; /* scanned: (iterations, scans) */
  int64_t i, trips;
  bool conditional;
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
  return node_defer(n, input, "the number of iterations must be known before the run, it is a dimension '%.40s'",
                    graph_symbol_name(n->graph, *out));
}

static Status loop_open(Loop *l, const Node *n) {
  *l = (Loop){.n = n, .i = n->deferred.done, .conditional = has_in(n, 1) && subgraph_own_inputs(n) > 1};
  if (!(l->body = subgraph_open(n, "body", &l->slots))) return n->graph->error->status;
  l->carried = l->body->input_count - 2;
  l->scans = l->body->output_count - 1 - l->carried;
  int own = subgraph_own_inputs(n) - (n->deferred.done ? l->scans : 0);
  if (l->carried < 0 || l->scans < 0 || own != 2 + l->carried)
    return node_invalid(n, "%d inputs do not fit a body of %d inputs and %d outputs", own, l->body->input_count,
                        l->body->output_count);
  if (n->out_count > l->carried + l->scans)
    return node_invalid(n, "%d outputs are wanted, its body makes %d", n->out_count, l->carried + l->scans);
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
  for (int k = l->conditional ? 0 : 1; k <= l->carried; k++) l->slots[1 + k] = out[k];
  for (int k = 0; k < l->scans; k++) {
    if (!(l->scanned = arena_list_grow(g->arena, l->scanned, l->scanned_count, &l->scanned_capacity,
                                       sizeof *l->scanned)))
      return STATUS_OUT_OF_MEMORY;
    l->scanned[l->scanned_count++] = out[1 + l->carried + k];
  }
  return STATUS_OK;
}

/* Scan output k of the iterations so far; NULL when there are none. */
static Value *stacked(Loop *l, int k) {
  int count = l->scans ? l->scanned_count / l->scans : 0;
  Value **items = ARENA_ARRAY(l->n->graph->arena, Value *, count);
  if (!items) return node_fail(l->n, STATUS_OUT_OF_MEMORY, "out of memory for its outputs"), NULL;
  for (int i = 0; i < count; i++) items[i] = l->scanned[i * l->scans + k];
  return subgraph_stack(l->n->graph, l->n->deferred.done ? l->n->in[2 + l->carried + k] : NULL, items, count, 0);
}

static Status emit_outputs(Loop *l, Value **out) {
  Graph *g = l->n->graph;
  for (int k = 0; k < l->n->out_count; k++) {
    int scan = k - l->carried;
    if (scan < 0) out[k] = l->slots[2 + k];
    else if (!(out[k] = stacked(l, scan)) &&
             (g->error->status != STATUS_OK || !(out[k] = subgraph_nothing(g, &l->body->declared[1 + k], 0))))
      return g->error->status;
  }
  return STATUS_OK;
}

/* A node for the iterations from this one on. */
static Status leave_rest(Loop *l, Added *rest) {
  const Node *n = l->n;
  Graph *g = n->graph;
  if (!g->deferral.allowed)
    return node_fail(
        n, STATUS_UNSUPPORTED_OP,
        "whether it goes on after iteration %lld must be known before the run, it is computed from fed values",
        (long long)l->i - 1);
  int own = subgraph_own_inputs(n), captured = n->in_count - own, head = 2 + l->carried,
      count = head + l->scans + captured;
  Value **in = ARENA_ARRAY(g->arena, Value *, count);
  if (!in) return STATUS_OUT_OF_MEMORY;
  in[0] = n->in[0];
  for (int k = l->conditional ? 1 : 2; k < head; k++) in[k] = l->slots[k];
  for (int k = 0; k < l->scans; k++)
    if (!(in[head + k] = stacked(l, k))) return g->error->status;
  for (int k = 0; k < captured; k++) in[head + l->scans + k] = n->in[own + k];
  *rest = (Added){n->op, n->name, in, count, NULL, n->out_count, n->attrs, n->attr_count, l->i};
  return STATUS_OK;
}

static bool is_known_scalar(Value *v) { return known_of(v) && shape_elements(&v->shape) == 1; }

/* The number of iterations beyond which a Loop is not even tried one by one; endless if nothing ends it. */
static Status check_trips(const Loop *l) {
  if (l->conditional || l->trips <= SUBGRAPH_RUN_MAX) return STATUS_OK;
  if (l->trips == INT64_MAX)
    return node_invalid(l->n, "it has neither a number of iterations nor a condition, it would never end");
  return node_fail(l->n, STATUS_UNSUPPORTED_OP, "it has %lld iterations, we do up to %d", (long long)l->trips,
                   SUBGRAPH_RUN_MAX);
}

static Status loop_expand(Expansion *c) {
  const Node *n = c->node;
  Loop l;
  int64_t condition;
  bool is_bag;
  TRY(embedding_bag_expand(c, &is_bag));
  if (is_bag) return STATUS_OK;
  TRY(loop_open(&l, n));
  TRY(read_scalar(n, 0, INT64_MAX, &l.trips));
  TRY(read_scalar(n, 1, true, &condition));
  TRY(check_trips(&l));
  if (!(l.slots[1] = l.conditional ? n->in[1] : emit_truth(c->graph, true))) return c->graph->error->status;
  while (l.i < l.trips && condition) {
    TRY(iterate(&l));
    if (++l.i == l.trips) break;
    bool known = !l.conditional || is_known_scalar(l.slots[1]);
    if (!known || (c->graph->deferral.allowed && subgraph_is_long(c->graph))) return leave_rest(&l, &c->rest);
    if (l.conditional) condition = l.slots[1]->known[0];
  }
  return emit_outputs(&l, c->out);
}

OPERATOR(loop) = {
    .name = "Loop",
    .since = {1, 11, 13, 16, 19, 21},
    .inputs = {2, -1},
    .outputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_SUBGRAPHS,
    .expand = loop_expand,
};
