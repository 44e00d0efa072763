/* Yield: the outputs in order, those without a gradient listed in an attribute. */
#include "train/yield.h"

#include "graph/op.h"
#include "ops/control/yield.h"

static Status out_of_memory(Graph *g) { return error_memory(g->error, "for the training graph"); }

static const char *gradient_name(Graph *g, const Value *v) {
  const char *stem = arena_print(g->arena, "%s_grad", v->name);
  return stem ? graph_fresh_name(g, stem) : NULL;
}

/* ORTModule says of every output that its gradient must come in its full shape. */
static Status append_node(Graph *g, const char *const *names, int count, const int64_t *without, int without_count,
                          const int64_t *all) {
  Attr attrs[2] = {attr_of_ints("full_shape_outputs", all, g->output_count),
                   attr_of_ints("non_differentiable_outputs", without, without_count)};
  const char *name = graph_fresh_name(g, "YieldOp");
  Node *n = name ? graph_node(g, op_find("YieldOp"), name, g->outputs, g->output_count, names, count, attrs,
                              without_count ? 2 : 1)
                 : NULL;
  return n ? STATUS_OK : out_of_memory(g); /* the first error wins */
}

Status yield_append(Graph *g, BackwardStart *start) {
  int count = g->output_count, without_count = 0;
  int64_t *without = ARENA_ARRAY(g->arena, int64_t, count), *all = ARENA_ARRAY(g->arena, int64_t, count);
  const char **names = ARENA_ARRAY(g->arena, const char *, count);
  *start = (BackwardStart){.ys = ARENA_ARRAY(g->arena, Value *, count), .dys = ARENA_ARRAY(g->arena, Value *, count)};
  if (!without || !all || !names || !start->ys || !start->dys) return out_of_memory(g);
  for (int i = 0; i < count; i++) {
    Value *y = g->outputs[i];
    all[i] = i;
    if (y->type != DTYPE_FLOAT32) without[without_count++] = i;
    else if ((names[start->count] = gradient_name(g, y))) start->ys[start->count++] = y;
    else return out_of_memory(g);
  }
  if (!start->count)
    return error_set(g->error, STATUS_INVALID_ARGUMENT, NULL,
                     "loss 'outside' needs an output of float32 to take a gradient for: the model has none");
  TRY(append_node(g, names, start->count, without, without_count, all));
  for (int i = 0; i < start->count; i++) start->dys[i] = graph_find(g, names[i]);
  return STATUS_OK;
}

Status yield_find(Graph *g, const Node *yield, BackwardStart *start) {
  *start = (BackwardStart){.ys = ARENA_ARRAY(g->arena, Value *, yield->in_count),
                           .dys = ARENA_ARRAY(g->arena, Value *, yield->in_count)};
  if (!start->ys || !start->dys) return out_of_memory(g);
  for (int i = 0; i < yield->in_count; i++) {
    if (!yield_takes_gradient(yield, i)) continue;
    start->ys[start->count] = yield->in[i];
    start->dys[start->count] = yield->out[start->count];
    start->count++;
  }
  return STATUS_OK;
}

Status yield_add_input_gradient(Graph *g, const Value *input, Value *grad) {
  const char *name = gradient_name(g, input);
  Node *n = name ? graph_node(g, op_find("Identity"), NULL, &grad, 1, &name, 1, NULL, 0) : NULL;
  return n ? graph_add_output(g, n->out[0]) : out_of_memory(g);
}
