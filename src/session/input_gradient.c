/* Input gradient: the gradient of the loss towards an input, appended to a model once, to be fetched as any value. */
#include "ops/ops.h"
#include "session/session.h"
#include "train/gradients.h"

static Status check(TrainletSession *s, const Model *m, const Value *x) {
  const Value *loss = m->output_count ? m->outputs[0] : NULL;
  size_t count;
  if (x->type != DTYPE_FLOAT32)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "inputGradients: input '%.200s' is %s, there are gradients towards float32 inputs", x->name,
                     dtype_name(x->type));
  if (!loss || loss->type != DTYPE_FLOAT32 || !shape_count(&loss->shape, &count) || count != 1)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "inputGradients: the model's first output is no loss of one number");
  return STATUS_OK;
}

static Status append(TrainletSession *s, const Model *m, Value *x, const char *name) {
  Graph *g = m->graph;
  Value *gradient;
  TRY(check(s, m, x));
  TRY(graph_claim(g, name)); /* the model's names, or those of a try without memory */
  if (graph_find(g, name))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "inputGradients: the model has a value '%.200s' of its own", name);
  TRY(gradients_append(g, m->outputs[0], &x, 1, &gradient));
  if (!gradient)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "inputGradients: the loss does not depend on input '%.200s'", x->name);
  Node *n = graph_node(g, &op_identity, NULL, &gradient, 1, &name, 1, NULL, 0);
  return n ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

static Status want(TrainletSession *s, Model *m, const char *input) {
  Feed *feed = session_find_feed(s, m, input);
  if (!feed) return s->error.status;
  bool *has = &m->has_gradient[feed - m->feeds];
  const char *name = *has ? "" : arena_print(m->graph->arena, "%s_grad", input);
  if (!name) return STATUS_OUT_OF_MEMORY;
  if (!*has) TRY(append(s, m, feed->input, name));
  *has = m->has_gradients = true;
  return STATUS_OK;
}

Status trainlet_session_input_gradient(TrainletSession *s, TrainletPart part, const char *input) {
  session_enter(s);
  Model *m = session_model(s, part);
  bool done = m && want(s, m, input) == STATUS_OK;
  if (m) m->graph->arena->failed = false; /* nothing reads what a try without memory appended: the next may have it */
  if (!done) error_memory(&s->error, "for the gradient"); /* the first wins */
  return session_leave(s, done);
}
