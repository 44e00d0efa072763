/* SplitToSequence: x divided along an axis into a sequence of parts of the given sizes, of one size (the last may be
 * smaller), or of 1. */
#include "graph/sequence.h"

/* Sizes of the parts; *count is 0 on failure. A list of sizes does not need the whole: Split compares them. */
static Status part_sizes(const Node *n, int axis, int64_t **sizes, int *count) {
  Dim whole = n->in[0]->shape.dim[axis];
  const Dim *given = NULL;
  int given_count = 0;
  if (has_in(n, 1)) TRY(node_known(n, 1, &given, &given_count));
  bool chunks = !given || n->in[1]->shape.rank == 0;
  if (chunks && !dim_is_number(whole))
    return node_defer(n, 0, "the size of axis %d must be known before the run", axis);
  for (int i = 0; i < given_count; i++)
    if (dim_is_symbol(given[i])) return node_defer(n, 1, "the sizes of the parts must be known before the run");
  Dim size = given && chunks ? given[0] : 1;
  if (chunks && (size < 1 || whole / size >= SEQUENCE_MAX))
    return node_invalid(n, "%lld elements cannot be cut into parts of %lld", (long long)whole, (long long)size);
  if (!chunks && !given_count && whole) return node_invalid(n, "the parts have 0 elements, not %lld", (long long)whole);
  *count = chunks ? (int)((whole + size - 1) / size) : given_count;
  if (!(*sizes = ARENA_ARRAY(n->graph->arena, int64_t, *count))) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < *count; i++) (*sizes)[i] = !chunks ? given[i] : whole - i * size < size ? whole - i * size : size;
  return STATUS_OK;
}

static Value *emit_without(Graph *g, Value *x, int64_t axis) {
  if (graph_opset(g, "") < 13) return emit_with(g, "Squeeze", ATTRS(attr_of_ints("axes", &axis, 1)), x);
  return emit(g, "Squeeze", x, emit_ints(g, &axis, 1));
}

static Node *emit_split(Graph *g, Value *x, int64_t axis, const int64_t *sizes, int count) {
  if (graph_opset(g, "") < 13)
    return emit_node(g, "Split", ATTRS(attr_of_int("axis", axis), attr_of_ints("split", sizes, count)), &x, 1, count,
                     NULL);
  Value *in[] = {x, emit_ints(g, sizes, count)};
  return emit_node(g, "Split", ATTRS(attr_of_int("axis", axis)), in, 2, count, NULL);
}

static Status split_to_sequence_expand(Expansion *c) {
  const Node *n = c->node;
  Graph *g = c->graph;
  int axis, count;
  int64_t *sizes;
  if (value_is_sequence(n->in[0])) return node_invalid(n, "input 0 is a sequence, it must be a tensor");
  TRY(node_axis(n, node_int(n, "axis", 0), n->in[0]->shape.rank, &axis));
  TRY(part_sizes(n, axis, &sizes, &count));
  if (count > SEQUENCE_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it makes %d parts, we have up to %d", count, SEQUENCE_MAX);
  Node *split = count ? emit_split(g, n->in[0], axis, sizes, count) : NULL;
  if (count && !split) return g->error->status;
  Value **items = ARENA_ARRAY(g->arena, Value *, count);
  if (!items) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < count; i++)
    items[i] = has_in(n, 1) || node_int(n, "keepdims", 1) ? split->out[i] : emit_without(g, split->out[i], axis);
  if (g->error->status != STATUS_OK) return g->error->status;
  c->out[0] = sequence_new(n, n->in[0]->type, items, count);
  return c->out[0] ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

OPERATOR(split_to_sequence) = {
    .name = "SplitToSequence",
    .since = {11},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = split_to_sequence_expand,
};
