/* Accumulate: where gradients are added to those of earlier batches, each is added as soon as it is computed, by the
 * product that makes it if there is one: buffer += A · B */
#include "passes/product.h"
#include "ops/accumulator.h"
#include "ops/ops.h"

static bool rewrite(Graph *g, Node *n) {
  Product p;
  if (!op_is_accumulator(n) || !product_read(n->in[1], &p) || n->in[1]->producer->op != &op_gemm || p.c) return false;
  if (!shape_equal(&n->in[0]->shape, &n->in[1]->shape)) return false;
  p.c = n->in[0];
  p.beta = 1;
  Value *sum = product_emit(g, &p);
  return rewrite_as(n, sum ? emit(g, "InPlaceAccumulatorV2", n->in[0], sum, n->in[2]) : NULL);
}

static bool is_moved(const Node *n) { return op_is_accumulator(n) && n->in[1]->kind == VALUE_NODE; }

/* Moves each accumulator right behind the node whose gradient it adds; before, all were at the end of the graph, and
 * every gradient had to be kept until then. */
static Status move_forward(Graph *g) {
  Node **nodes = ARENA_ARRAY(g->arena, Node *, g->node_count);
  int *first = ARENA_ARRAY(g->arena, int, g->node_count), *next = ARENA_ARRAY(g->arena, int, g->node_count),
      count = 0;                                             /* lists of accumulators, place + 1 */
  int *made_at = ARENA_ARRAY(g->arena, int, g->value_count); /* indexed by value */
  if (!nodes || !first || !next || !made_at) return error_memory(g->error, "while planning");
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->out_count; k++)
      if (g->nodes[i]->out[k]) made_at[g->nodes[i]->out[k]->index] = i;
  for (int i = g->node_count - 1; i >= 0; i--) {
    if (!is_moved(g->nodes[i])) continue;
    int at = made_at[g->nodes[i]->in[1]->index];
    next[i] = first[at];
    first[at] = i + 1;
  }
  for (int i = 0; i < g->node_count; i++) {
    if (is_moved(g->nodes[i])) continue;
    nodes[count++] = g->nodes[i];
    for (int k = first[i]; k; k = next[k - 1]) nodes[count++] = g->nodes[k - 1];
  }
  g->nodes = nodes;
  g->node_count = g->node_capacity = count;
  return STATUS_OK;
}

Status pass_accumulate(Graph *g) {
  TRY(move_forward(g));
  return rewrite_each(g, rewrite);
}
