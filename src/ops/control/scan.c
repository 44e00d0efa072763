/* Scan: runs its subgraph once for each element along an axis of its scanned inputs, in order.
 *
 *   states[], scanned[] ─▶ body(states[], element of each scanned[]) ─▶ states[], made[]
 *   after the last element ─▶ states[], made[] stacked
 *
 * Before opset 9, everything has a batch as axis 0, and the scanned axis is 1. */
#include "graph/upgrade.h"

#include "graph/subgraph.h"

enum { SCAN_MAX = 1 << 16 };

typedef struct Scan {
  const Node *n;
  const Subgraph *body;
  Value **slots;
  Value **in, **out; /* slots of one batch */
  int states, scanned, made;
  int64_t trips;
} Scan;

/* Entry i of an optional list of ints; an absent list is all zeros. */
static int64_t entry(const Node *n, const char *attr, int i) {
  int count;
  const int64_t *ints = node_ints(n, attr, &count);
  return i >= 0 && i < count ? ints[i] : 0;
}

static const Op op_scan_8; /* all inputs and outputs have a batch as axis 0 */
static bool batched(const Node *n) { return n->op == &op_scan_8; }

static Status scan_open(Scan *s, const Node *n) {
  int own = subgraph_own_inputs(n) - batched(n);
  *s = (Scan){.n = n};
  if (!(s->body = subgraph_open(n, "body", &s->slots))) return n->graph->error->status;
  int64_t scanned = node_int(n, "num_scan_inputs", 0);
  if (batched(n) && n->in[0])
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it has lengths of sequences, which we do not read");
  if (scanned < 1 || scanned > own || own != s->body->input_count || s->body->output_count < own - scanned)
    return node_invalid(n, "%d inputs of which %lld are scanned do not fit a body of %d inputs and %d outputs", own,
                        (long long)scanned, s->body->input_count, s->body->output_count);
  s->scanned = (int)scanned;
  s->states = own - s->scanned;
  s->made = s->body->output_count - s->states;
  if (n->out_count > s->body->output_count)
    return node_invalid(n, "%d outputs are wanted, its body makes %d", n->out_count, s->body->output_count);
  for (int i = 0; i < own; i++)
    if (!n->in[i + batched(n)]) return node_invalid(n, "input %d must be there", i);
  s->in = ARENA_ARRAY(n->graph->arena, Value *, own);
  s->out = ARENA_ARRAY(n->graph->arena, Value *, n->out_count);
  return s->in && s->out ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

/* Size of an input's axis, which must be a number and the same for all inputs. */
static Status read_size(const Node *n, int input, int64_t axis, int64_t *size) {
  const Value *v = n->in[input];
  int at;
  TRY(node_axis(n, axis, v->shape.rank, &at));
  Dim d = v->shape.dim[at];
  TRY(node_want_number(n, input, at));
  if (*size >= 0 && *size != d)
    return node_invalid(n, "axis %d of input %d has %lld elements, of another input %lld", at, input, (long long)d,
                        (long long)*size);
  *size = d;
  return STATUS_OK;
}

static Value *element(Graph *g, Value *v, int64_t at, int64_t axis) {
  return emit_with(g, "Gather", ATTRS(attr_of_int("axis", axis)), v, emit_int(g, at));
}

/* All iterations of one batch, from s->in to s->out. */
static Status scan_batch(Scan *s) {
  const Node *n = s->n;
  Graph *g = n->graph;
  Value **made = ARENA_ARRAY(g->arena, Value *, (size_t)s->made * (size_t)s->trips);
  Value **next = ARENA_ARRAY(g->arena, Value *, s->states);
  if (!made || !next) return STATUS_OUT_OF_MEMORY;
  for (int k = 0; k < s->states; k++) s->slots[k] = s->in[k];
  for (int64_t i = 0; i < s->trips; i++) {
    for (int k = 0; k < s->scanned; k++) {
      bool backward = entry(n, batched(n) ? "directions" : "scan_input_directions", k);
      s->slots[s->states + k] = element(g, s->in[s->states + k], backward ? s->trips - 1 - i : i,
                                        entry(n, "scan_input_axes", k));
      if (!s->slots[s->states + k]) return g->error->status;
    }
    TRY(subgraph_inline(n, s->body, s->slots));
    for (int k = 0; k < s->states; k++) next[k] = s->slots[s->body->outputs[k]];
    for (int k = 0; k < s->made; k++) {
      int64_t at = entry(n, "scan_output_directions", k) ? s->trips - 1 - i : i;
      made[k * s->trips + at] = s->slots[s->body->outputs[s->states + k]];
    }
    for (int k = 0; k < s->states; k++) s->slots[k] = next[k];
  }
  for (int k = 0; k < n->out_count; k++) {
    int j = k - s->states;
    int64_t axis = entry(n, "scan_output_axes", j);
    s->out[k] = j < 0    ? s->slots[k]
              : s->trips ? subgraph_stack(g, NULL, made + j * s->trips, (int)s->trips, axis)
                         : subgraph_nothing(g, &s->body->declared[k], axis);
    if (!s->out[k]) return g->error->status;
  }
  return STATUS_OK;
}

static Status scan_batches(Scan *s, int64_t batches, Value **out) {
  const Node *n = s->n;
  Graph *g = n->graph;
  Value **outs = ARENA_ARRAY(g->arena, Value *, (size_t)n->out_count * (size_t)batches);
  if (!outs) return STATUS_OUT_OF_MEMORY;
  for (int64_t b = 0; b < batches; b++) {
    for (int k = 0; k < s->states + s->scanned; k++)
      if (!(s->in[k] = element(g, n->in[1 + k], b, 0))) return g->error->status;
    TRY(scan_batch(s));
    for (int k = 0; k < n->out_count; k++) outs[k * batches + b] = s->out[k];
  }
  for (int k = 0; k < n->out_count; k++)
    if (!(out[k] = subgraph_stack(g, NULL, outs + k * batches, (int)batches, 0))) return g->error->status;
  return STATUS_OK;
}

static Status scan_expand(Expansion *c) {
  const Node *n = c->node;
  Scan s;
  int64_t batches = -1;
  TRY(scan_open(&s, n));
  s.trips = -1;
  for (int k = 0; k < s.scanned; k++)
    TRY(read_size(n, batched(n) + s.states + k, batched(n) ? 1 : entry(n, "scan_input_axes", k), &s.trips));
  for (int k = 0; k < s.states + s.scanned && batched(n); k++) TRY(read_size(n, 1 + k, 0, &batches));
  if (s.trips > SCAN_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it has %lld iterations, we do up to %d", (long long)s.trips, SCAN_MAX);
  if (batches > SCAN_MAX || batches == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it has %lld batches, it must be from 1 to %d", (long long)batches,
                     SCAN_MAX);
  if (batched(n)) return scan_batches(&s, batches, c->out);
  for (int k = 0; k < s.states + s.scanned; k++) s.in[k] = n->in[k];
  TRY(scan_batch(&s));
  for (int k = 0; k < n->out_count; k++) c->out[k] = s.out[k];
  return STATUS_OK;
}

#define SCAN(...)                                                                                                      \
  {.name = "Scan",                                                                                                     \
   .since = {__VA_ARGS__},                                                                                             \
   .inputs = {1, -1},                                                                                                  \
   .outputs = {1, -1},                                                                                                 \
   .flags = OP_ANY_TYPE | OP_SUBGRAPHS,                                                                                \
   .upgrade = scan_upgrade,                                                                                            \
   .expand = scan_expand}
static Status scan_upgrade(Upgrade *u) {
  if (u->graph->file_opset < 9) u->node->op = &op_scan_8;
  return STATUS_OK;
}

static const Op op_scan_8 = SCAN(8);
OPERATOR(scan) = SCAN(8, 9, 11, 16, 19, 21);
