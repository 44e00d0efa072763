/* Embedding bag: rows of a table, summed up, averaged, or their maximum taken in bags that begin at offsets.
 *
 *   offsets (B + 1)  0 2 3 5   ─▶ bag of each row  0 0 1 2 2   ─▶ y[bag] += row
 *   (B bags, and one for rows that are left out)
 */
#include "ops/control/embedding_bag.h"

#include <float.h>
#include <string.h>

#include "graph/expansion.h"
#include "graph/known.h"
#include "graph/sequence.h"
#include "graph/subgraph.h"
#include "ops/ops.h"

typedef enum BagMode { BAG_SUM, BAG_MEAN, BAG_MAX } BagMode;

typedef struct Bags {
  Value *rows;             /* (K, D) */
  Value *offsets;          /* (B + 1), the last is the end */
  Value *indices, *weight; /* the rows' indices and table, while these are still to be read */
  Value *factors;          /* one for each row; NULL: 1 */
  bool pads;
  int64_t mode, padding; /* the index whose rows are left out */
} Bags;

/* ---- PyTorch's exporter by dynamo ---- */

/* The indices by which a table's rows were read, before they were multiplied or cast. */
static Value *indices_of(const Value *rows) {
  const Node *n = rows->producer;
  while (n && n->op != &op_gather) n = n->in[0] ? n->in[0]->producer : NULL;
  return n ? n->in[1] : NULL;
}

static bool is_noted(const Node *n, const Subgraph *body, Value *const *slots, Bags *b) {
  int count, own = subgraph_own_inputs(n);
  const int64_t *note = node_ints(n, "embedding_bag", &count);
  if (!note) return false;
  b->mode = note[0];
  b->pads = count > 1;
  b->padding = b->pads ? note[1] : 0;
  for (int i = own; i < n->in_count; i++) {
    Value *v = n->in[i];
    if (v && v->kind == VALUE_NODE && v->type == DTYPE_FLOAT32 && v->shape.rank == 2) b->rows = v;
  }
  for (int i = 0; i < body->node_count && !b->offsets; i++) {
    const SubgraphNode *reads = &body->nodes[i];
    if (reads->op == &op_slice || reads->op == &op_gather) b->offsets = slots[reads->in[0]];
  }
  if (b->pads && b->rows) b->indices = indices_of(b->rows);
  return b->rows && b->offsets && (!b->pads || b->indices);
}

/* ---- TorchScript ---- */

/* The slot without the dims that an Unsqueeze added to it. */
static int bare(const Subgraph *s, int slot) {
  for (int i = 0; i < s->node_count; i++)
    if (s->nodes[i].op == &op_unsqueeze && s->nodes[i].out[0] == slot) return s->nodes[i].in[0];
  return slot;
}

enum { STARTS, ENDS, PART, TABLE, FACTORS, PRODUCT, STEPS };

/* Gather start, Gather end, Slice of indices, Gather of rows, perhaps Slice of factors and Mul, and Reduce. */
static const SubgraphNode *find_steps(const Subgraph *s, const SubgraphNode *step[STEPS]) {
  const Op *const wanted[STEPS] = {&op_gather, &op_gather, &op_slice, &op_gather, &op_slice, &op_mul};
  int count = 0;
  for (int i = 0; i < s->node_count; i++) {
    const SubgraphNode *n = &s->nodes[i];
    if (n->op == &op_unsqueeze || n->op == &op_cast) continue;
    bool reduces = n->op == &op_reduce_sum || n->op == &op_reduce_mean || n->op == &op_reduce_max;
    if (reduces) return count == FACTORS || count == STEPS ? n : NULL;
    if (count == STEPS || n->op != wanted[count]) return NULL;
    step[count++] = n;
  }
  return NULL;
}

static bool cuts(const Subgraph *s, const SubgraphNode *slice, const SubgraphNode *const *step) {
  return bare(s, slice->in[1]) == step[STARTS]->out[0] && bare(s, slice->in[2]) == step[ENDS]->out[0];
}

static bool is_scripted(const Node *n, const Subgraph *s, Value *const *slots, Bags *b) {
  const SubgraphNode *step[STEPS] = {0};
  const SubgraphNode *reduce = s->input_count == 2 && s->output_count == 2 ? find_steps(s, step) : NULL;
  const Dim *goes_on = reduce && has_in(n, 1) ? known_of(n->in[1]) : NULL;
  if (!goes_on || !*goes_on || step[STARTS]->in[1] != 0 || step[ENDS]->in[1] != 0) return false;
  int rows = step[TABLE]->out[0];
  if (step[FACTORS]) {
    if (step[PRODUCT]->in[0] != rows || bare(s, step[PRODUCT]->in[1]) != step[FACTORS]->out[0]) return false;
    if (!cuts(s, step[FACTORS], step)) return false;
    rows = step[PRODUCT]->out[0];
    b->factors = slots[step[FACTORS]->in[0]];
  }
  if (reduce->in[0] != rows || reduce->out[0] != s->outputs[1]) return false;
  if (!cuts(s, step[PART], step) || step[TABLE]->in[1] != step[PART]->out[0]) return false;
  const Value *ends = slots[step[ENDS]->in[0]];
  b->offsets = slots[step[STARTS]->in[0]];
  b->indices = slots[step[PART]->in[0]];
  b->weight = slots[step[TABLE]->in[0]];
  b->mode = reduce->op == &op_reduce_sum ? BAG_SUM : reduce->op == &op_reduce_mean ? BAG_MEAN : BAG_MAX;
  return b->offsets && b->indices && b->weight && ends && ends->producer && ends->producer->op == &op_slice &&
         ends->producer->in[0] == b->offsets;
}

/* ---- in nodes of whole tensors ---- */

static Value *ints(Graph *g, int64_t x) { return emit_ints(g, &x, 1); }

static Value *filled(Graph *g, float x, Value *shape) { return emit(g, "Expand", emit_float(g, x), shape); }

static Value *into_bags(Graph *g, Value *all, Value *bags, Value *rows, const char *reduction) {
  return emit_with(g, "ScatterND", ATTRS(attr_of_string("reduction", reduction)), all, bags, rows);
}

/* The number of offsets at or before each row, less 1, as (K, 1). */
static Value *bag_of_rows(Expansion *c, const Bags *b, Value *bag_count, Value *row_count) {
  Graph *g = c->graph;
  AttrList adds = ATTRS(attr_of_int("axis", 0), attr_of_string("reduction", "add"));
  Value *none = filled(g, 0, emit(g, "Add", row_count, ints(g, 1)));
  Value *begins = emit_with(g, "ScatterElements", adds, none, b->offsets, filled(g, 1, bag_count));
  Value *begun = emit(g, "Slice", emit(g, "CumSum", begins, emit_int(g, 0)), ints(g, 0), row_count, ints(g, 0));
  Value *bags = expand_cast(c, emit(g, "Sub", begun, emit_float(g, 1)), DTYPE_INT64);
  if (b->pads) {
    Value *flat = emit(g, "Reshape", expand_cast(c, b->indices, DTYPE_INT64), ints(g, -1));
    Value *last = emit(g, "Sub", bag_count, ints(g, 1));
    bags = emit(g, "Where", emit(g, "Equal", flat, ints(g, b->padding)), last, bags);
  }
  return emit(g, "Unsqueeze", bags, ints(g, 1));
}

static Value *rows_of(Graph *g, const Bags *b) {
  if (b->rows) return b->rows;
  Value *rows = emit(g, "Gather", b->weight, b->indices);
  return b->factors ? emit(g, "Mul", rows, emit(g, "Unsqueeze", b->factors, ints(g, 1))) : rows;
}

static Value *emit_bags(Expansion *c, const Bags *b) {
  Graph *g = c->graph;
  Value *rows = rows_of(g, b), *bag_count = expand_dim(c, b->offsets, 0, true);
  Value *row_count = expand_dim(c, rows, 0, true), *bags = bag_of_rows(c, b, bag_count, row_count);
  Value *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), bag_count, expand_dim(c, rows, 1, true));
  Value *begin = filled(g, b->mode == BAG_MAX ? -FLT_MAX : 0, shape);
  Value *y = into_bags(g, begin, bags, rows, b->mode == BAG_MAX ? "max" : "add");
  if (b->mode != BAG_SUM) {
    Value *counts = into_bags(g, filled(g, 0, bag_count), bags, filled(g, 1, row_count), "add");
    counts = emit(g, "Unsqueeze", counts, ints(g, 1));
    y = b->mode == BAG_MEAN ? emit(g, "Div", y, emit(g, "Max", counts, emit_float(g, 1)))
                            : emit(g, "Where", emit(g, "Greater", counts, emit_float(g, 0)), y, emit_float(g, 0));
  }
  return emit(g, "Slice", y, ints(g, 0), ints(g, -1), ints(g, 0));
}

/* The exporter by dynamo carries a sequence of rows, which it then joins, and the number of the bag. */
static Status fill_outputs(Expansion *c, const Bags *b, int carried) {
  Node *n = c->node;
  Graph *g = c->graph;
  Value *y = emit_bags(c, b);
  if (!y) return g->error->status;
  for (int k = 0; k < n->out_count; k++) {
    if (k >= carried) c->out[k] = y;
    else if (value_is_sequence(n->in[2 + k])) c->out[k] = sequence_new(n, y->type, &y, 1);
    else c->out[k] = emit(g, "Sub", expand_dim(c, b->offsets, 0, false), emit_int(g, 1));
    if (!c->out[k]) return g->error->status != STATUS_OK ? g->error->status : STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

Status embedding_bag_expand(Expansion *c, bool *found) {
  const Node *n = c->node;
  Bags b = {0};
  Value **slots;
  *found = false;
  if (n->deferred.done || graph_opset(c->graph, "") < 16) return STATUS_OK;
  const Subgraph *body = subgraph_open(n, "body", &slots);
  if (!body) return c->graph->error->status;
  if (!is_noted(n, body, slots, &b) && !is_scripted(n, body, slots, &b)) return STATUS_OK;
  bool fits = b.offsets->shape.rank == 1 && b.mode >= BAG_SUM && b.mode <= BAG_MAX && b.padding >= 0;
  *found = fits && (b.mode != BAG_MAX || graph_opset(c->graph, "") >= 18);
  return *found ? fill_outputs(c, &b, body->input_count - 2) : STATUS_OK;
}
