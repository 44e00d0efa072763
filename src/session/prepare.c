/* A model of a session that was read: made ready for its runs. */
#include "graph/work.h"
#include "ops/accumulator.h"
#include "passes/passes.h"
#include "session/external_loss.h"
#include "session/session.h"

Status session_prepare_model(TrainletSession *s, Model *m, Arena *arena) {
  Graph *g = m->graph;
  g->rng = &s->rng;
  m->feature_count = 0;
  m->feeds = ARENA_ARRAY(arena, Feed, g->input_count);
  m->outputs = ARENA_ARRAY(arena, Value *, g->output_count);
  m->feed_at = ARENA_ARRAY(arena, int, g->value_count);
  m->has_gradient = ARENA_ARRAY(arena, bool, g->input_count);
  m->value_count = g->value_count;
  if (!m->feeds || !m->outputs || !m->feed_at || !m->has_gradient) return session_out_of_memory(s);
  m->output_count = 0; /* another part may have been refused since they were counted */
  for (int i = 0; i < g->input_count; i++) {
    m->feeds[i].input = g->inputs[i];
    m->feed_at[g->inputs[i]->index] = i + 1;
  }
  const Node *yield = m == &s->models[MODEL_INFERENCE] ? NULL : external_loss_yield(g);
  if (yield) {
    m->outputs = yield->in;
    m->output_count = yield->in_count;
    return STATUS_OK;
  }
  for (int i = 0; i < g->output_count; i++) {
    const Node *from = g->outputs[i]->producer;
    if (!from || !op_is_accumulator(from)) m->outputs[m->output_count++] = g->outputs[i];
  }
  return STATUS_OK;
}

void session_find_accumulators(TrainletSession *s, const Graph *g) {
  s->accumulator_count = 0;
  for (int i = 0; i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i])) s->accumulators[s->accumulator_count++] = g->nodes[i]->out[0];
}
