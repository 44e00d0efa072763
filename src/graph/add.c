/* Add: turns a node as a file has it into the nodes that compute it, in types that its operator takes, or puts it
 * off. */
#include "graph/add.h"

#include "graph/op.h"
#include "graph/upgrade.h"
#include "part.h"

/* The type in which an operator computes elements of a type; the same type where it takes them as they are. */
static DType wide_of(const Op *op, DType type) {
  switch (type) {
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
    case DTYPE_FLOAT8E4M3FN:
    case DTYPE_FLOAT8E4M3FNUZ:
    case DTYPE_FLOAT8E5M2:
    case DTYPE_FLOAT8E5M2FNUZ:
    case DTYPE_FLOAT8E8M0:
    case DTYPE_FLOAT4E2M1: return DTYPE_FLOAT32;
    case DTYPE_FLOAT64: return op->flags & OP_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    case DTYPE_INT8:
    case DTYPE_UINT8:
    case DTYPE_INT16:
    case DTYPE_UINT16:
    case DTYPE_UINT4:
    case DTYPE_INT4:
    case DTYPE_UINT2:
    case DTYPE_INT2: return op->flags & OP_SMALL_IN_FLOAT ? DTYPE_FLOAT32 : DTYPE_INT64;
    case DTYPE_UINT32: return DTYPE_INT64;
    default: return type;
  }
}

/* The type of the first input that the operator does not take as it is, NONE when it takes all. */
static DType narrow_of(const Added *a) {
  for (int i = 0; i < a->in_count && !(a->op->flags & OP_ANY_TYPE); i++)
    if (a->in[i] && wide_of(a->op, a->in[i]->type) != a->in[i]->type) return a->in[i]->type;
  return DTYPE_NONE;
}

/* True if outputs have the narrow type: they take the type of the first input of the same kind (float or int). */
static bool narrows(const Added *a, DType narrow) {
  int i = 0;
  while (!a->in[i] || dtype_is_float(a->in[i]->type) != dtype_is_float(narrow)) i++;
  return a->in[i]->type == narrow && !(a->op->flags & OP_WIDE_OUT);
}

static Value *emit_cast(Graph *g, Value *v, DType to) { return emit_with(g, "Cast", ATTRS(attr_of_int("to", to)), v); }

/* Floats of 16 bits and fewer are computed in float32, small ints in int64, and float64 in float32 where the operator
 * has no code for it: the inputs are cast, and outputs of that type are cast back. */
static Status widen(Graph *g, const Added *a, DType narrow, Value **out) {
  Value **in = ARENA_ARRAY(g->arena, Value *, a->in_count);
  if (!in) return graph_out_of_memory(g);
  for (int i = 0; i < a->in_count; i++) {
    DType wide = a->in[i] ? wide_of(a->op, a->in[i]->type) : DTYPE_NONE;
    in[i] = a->in[i] && wide != a->in[i]->type ? emit_cast(g, a->in[i], wide) : a->in[i];
  }
  Added with = *a;
  with.in = in;
  TRY(graph_expand(g, &with, out));
  for (int i = 0; i < a->out_count && narrows(a, narrow); i++)
    if (out[i] && out[i]->type == wide_of(a->op, narrow)) out[i] = emit_cast(g, out[i], narrow);
  return g->error->status;
}

bool graph_is_expanded(const Added *a) { return a->op->expand && (!a->op->expands || a->op->expands(a)); }

bool graph_is_plain(const Added *a) { return narrow_of(a) == DTYPE_NONE && !graph_is_expanded(a); }

static Status expand(Graph *g, const Added *a, Expansion *c) {
  Node *n = graph_bare_node(g, a);
  if (!n) return g->error->status;
  c->graph = g;
  c->node = n;
  Node *around = g->expanding;
  if (!around && !(a->op->flags & OP_SUBGRAPHS)) g->expanding = n; /* a subgraph's nodes are the model's own */
  Status status = a->op->expand(c);
  g->expanding = around;
  TRY(status);
  if (g->arena->failed) return graph_out_of_memory(g);
  return g->error->status;
}

/* The values of a node's outputs, whatever nodes compute them. */
Status graph_expand(Graph *g, const Added *a, Value **out) {
  if (graph_is_expanded(a)) return expand(g, a, &(Expansion){.out = out});
  Node *n;
  if (!(n = graph_node(g, a->op, a->name, a->in, a->in_count, NULL, a->out_count, a->attrs, a->attr_count)))
    return g->error->status;
  for (int i = 0; i < n->out_count; i++) out[i] = n->out[i];
  return STATUS_OK;
}

/* The input or item of one that is missing, or if that is a value within the expansion, an input on which it may
 * depend. */
static Value *needed_input(const Added *a, const Value *needed) {
  Value *first = NULL;
  for (int i = 0; i < a->in_count; i++) {
    if (a->in[i] && a->in[i] == needed) return a->in[i];
    for (int k = 0; a->in[i] && a->in[i]->kind == VALUE_SEQUENCE && k < a->in[i]->item_count; k++)
      if (a->in[i]->items[k] == needed) return a->in[i]->items[k];
    if (a->in[i] && a->in[i]->kind != VALUE_CONSTANT && !first) first = a->in[i];
  }
  return first;
}

/* The same sequence under another name. */
static Status name_sequence(Graph *g, const char *name, const Value *from) {
  Value *v = graph_value(g, name, from->type, NULL, VALUE_SEQUENCE);
  if (!v) return g->error->status;
  v->items = from->items;
  v->item_count = from->item_count;
  v->absent = from->absent;
  return STATUS_OK;
}

/* Gives the values the names that the node's outputs have. */
static Status name_outputs(Graph *g, const Added *a, Value **out) {
  for (int i = 0; i < a->out_count; i++) {
    if (a->out_names[i] && !*a->out_names[i]) continue;
    if (out[i] && out[i]->kind == VALUE_SEQUENCE) {
      TRY(name_sequence(g, a->out_names[i], out[i]));
      continue;
    }
    if (!out[i])
      return error_set(g->error, STATUS_UNSUPPORTED_OP, a->name, "%s '%.128s': output %d is one we do not compute",
                       a->op->name, a->name ? a->name : "", i);
    if (!graph_node(g, op_find_in("", "Identity"), NULL, &out[i], 1, &a->out_names[i], 1, NULL, 0))
      return g->error->status;
  }
  return STATUS_OK;
}

static Status check_age(Graph *g, const Added *a) {
  const char *domain = a->op->domain ? a->op->domain : "";
  int opset = *domain ? graph_opset(g, domain) : g->file_opset;
  if (opset >= a->op->since[0]) return STATUS_OK;
  return error_set(g->error, STATUS_UNSUPPORTED_OP, a->name,
                   "%s '%.128s': opset %d of domain '%s' has no such operator", a->op->name, a->name ? a->name : "",
                   opset, *domain ? domain : "ai.onnx");
}

/* Nodes that were added by an expansion that is deferred: its next try adds them again, so nothing need be computed for
 * these.
 */
static void abandon(Graph *g, int first) {
  for (int i = first; i < g->node_count; i++) g->nodes[i]->deferred.input = NULL, g->nodes[i]->deferred.done = 0;
}

/* Adds other nodes instead: the node's expansion, or the node with casts around it. */
static Status add_others(Graph *g, const Added *a, DType narrow) {
  for (int i = 0; i < a->in_count && g->deferral.allowed; i++)
    if (a->in[i] && a->in[i]->type == DTYPE_NONE) return graph_defer(g, a, NULL);
  if (a->done && !g->deferral.resumes) return graph_defer(g, a, NULL);
  Value **out = ARENA_ARRAY(g->arena, Value *, a->out_count);
  if (!out) return graph_out_of_memory(g);
  int first = g->node_count;
  Expansion c = {.out = out, .names = a->out_names};
  bool around = graph_begin_try(g);
  Status status = narrow ? widen(g, a, narrow, out) : expand(g, a, &c);
  bool open = graph_end_try(g, around);
  if (status == STATUS_OK && c.rest.op) return c.rest.out_names = a->out_names, graph_defer(g, &c.rest, NULL);
  for (int i = 0; i < a->out_count && !(a->op->flags & OP_SUBGRAPHS); i++) open |= out[i] && out[i]->type == DTYPE_NONE;
  if (open && g->deferral.allowed) {
    abandon(g, first);
    return graph_defer(g, a, needed_input(a, g->deferral.needed));
  }
  TRY(status);
  return c.named ? STATUS_OK : name_outputs(g, a, out);
}

OPTIONAL(expanded, add_others);
OPTIONAL(old_opsets, upgrade);

static Status add(Graph *g, const Added *a) {
  DType narrow = narrow_of(a);
  if (!narrow && !graph_is_expanded(a))
    return graph_node(g, a->op, a->name, a->in, a->in_count, a->out_names, a->out_count, a->attrs, a->attr_count)
             ? STATUS_OK
             : g->error->status;
  return part_expanded ? part_expanded(g, a, narrow) : part_missing(g->error, "operators that are made of others");
}

Status graph_add(Graph *g, const Added *a) {
  TRY(check_age(g, a));
  if (g->file_opset >= OPSET_MIN || a->op->domain) return add(g, a);
  if (!part_old_opsets) return part_missing(g->error, "operators as they were before opset 13");
  Added with = *a;
  TRY(part_old_opsets(g, &with));
  return add(g, &with);
}
