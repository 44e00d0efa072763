/* Features: what the frozen lower layers compute of an example is always the same. A train run gives it once, and is
 * fed with it from then on.
 *
 *   inputs ─▶ frozen layers ─▶ features ─▶ layers that train ─▶ loss ◀─ labels
 *             └── run_features ──┘ ⋮ └──── a step that is fed features ────┘
 *
 * A value is a feature if it follows from inputs and frozen parameters alone, the same each time, is the last of its
 * kind on the way to the loss, and its first dim is that of an input: an example's row.
 */
#include <string.h>

#include "graph/op.h"
#include "ops/ops.h"
#include "session/session.h"

/* Indexed by a value's index. */
typedef struct Traits {
  bool *moves;  /* another each time: it depends on what trains, on chance, or on statistics of the batch */
  bool *deep;   /* it depends on a frozen parameter */
  bool *fed;    /* it depends on an input */
  bool *wanted; /* a run with the features fed needs it */
} Traits;

static bool draws(const Node *n) { return n->op == &op_dropout ? has_in(n, 2) : (n->op->flags & OP_RANDOM) != 0; }

static void place(const Traits *t, const Node *n) {
  bool moves = draws(n) || n->deferred.pending, deep = false, fed = false;
  for (int i = 0; i < n->in_count; i++) {
    if (!n->in[i]) continue;
    moves |= t->moves[n->in[i]->index];
    deep |= t->deep[n->in[i]->index];
    fed |= t->fed[n->in[i]->index];
  }
  for (int i = 0; i < n->out_count; i++) {
    if (!n->out[i]) continue;
    int at = n->out[i]->index;
    t->moves[at] = moves, t->deep[at] = deep, t->fed[at] = fed;
  }
}

static bool find_traits(const Graph *g, Traits *t, Arena *arena) {
  int count = g->value_count;
  *t = (Traits){ARENA_ARRAY(arena, bool, count), ARENA_ARRAY(arena, bool, count), ARENA_ARRAY(arena, bool, count),
                ARENA_ARRAY(arena, bool, count)};
  if (arena->failed) return false;
  for (int i = 0; i < count; i++) {
    const Value *v = g->values[i];
    t->moves[i] = (v->kind == VALUE_STATE && !v->fixed) || v->kind == VALUE_SEQUENCE;
    t->deep[i] = v->kind == VALUE_STATE && v->fixed;
    t->fed[i] = v->kind == VALUE_INPUT;
  }
  for (int i = 0; i < g->node_count; i++) place(t, g->nodes[i]);
  return true;
}

static bool is_feature(const Traits *t, const Value *v) {
  return v->kind == VALUE_NODE && t->wanted[v->index] && !t->moves[v->index] && t->deep[v->index] && t->fed[v->index];
}

/* Backward: what goes into a feature is not wanted for its sake. */
static void find_wanted(const TrainletSession *s, const Model *m, const Traits *t) {
  const Graph *g = m->graph;
  for (int i = 0; i < m->output_count; i++) t->wanted[m->outputs[i]->index] = true;
  for (int i = 0; i < s->accumulator_count; i++) t->wanted[s->accumulators[i]->index] = true;
  for (int i = g->node_count - 1; i >= 0; i--) {
    const Node *n = g->nodes[i];
    bool wanted = false;
    for (int k = 0; k < n->out_count; k++)
      wanted |= n->out[k] && t->wanted[n->out[k]->index] && !is_feature(t, n->out[k]);
    for (int k = 0; wanted && k < n->in_count; k++)
      if (n->in[k]) t->wanted[n->in[k]->index] = true;
  }
}

/* Rows of it belong to examples: its first dim is a symbol that an input begins with, the others are numbers. */
static bool has_rows(const Graph *g, const Value *v) {
  bool rows = v->shape.rank > 0 && dim_is_symbol(v->shape.dim[0]), found = false;
  for (int i = 1; i < v->shape.rank; i++) rows &= dim_is_number(v->shape.dim[i]);
  for (int i = 0; rows && i < g->input_count; i++)
    found |= g->inputs[i]->shape.rank > 0 && g->inputs[i]->shape.dim[0] == v->shape.dim[0];
  return found && dtype_bytes(v->type) && v->type != DTYPE_STRING;
}

/* Feeds for them, after those of the inputs. The model keeps its feeds where memory is out. */
static Status add_feeds(TrainletSession *s, Model *m) {
  Arena *arena = m->graph->arena;
  int inputs = m->graph->input_count;
  Feed *feeds = ARENA_ARRAY(arena, Feed, inputs + m->feature_count);
  int *feed_at = ARENA_ARRAY(arena, int, m->graph->value_count);
  if (!feeds || !feed_at) return m->feature_count = 0, m->features = NULL, session_out_of_memory(s);
  memcpy(feeds, m->feeds, (size_t)inputs * sizeof *feeds);
  memcpy(feed_at, m->feed_at, (size_t)m->value_count * sizeof *feed_at);
  for (int i = 0; i < m->feature_count; i++) {
    feeds[inputs + i].input = m->features[i];
    feed_at[m->features[i]->index] = inputs + i + 1;
  }
  m->feeds = feeds;
  m->feed_at = feed_at;
  m->value_count = m->graph->value_count;
  return STATUS_OK;
}

/* All or none: a feature whose rows are not the examples' must be computed anyway. */
static Status take_features(TrainletSession *s, Model *m, const Traits *t) {
  const Graph *g = m->graph;
  if (!(m->features = ARENA_ARRAY(g->arena, Value *, g->value_count))) return session_out_of_memory(s);
  for (int i = 0; i < g->value_count; i++) {
    if (!is_feature(t, g->values[i])) continue;
    if (!has_rows(g, g->values[i])) return m->feature_count = 0, STATUS_OK;
    m->features[m->feature_count++] = g->values[i];
  }
  return m->feature_count ? add_feeds(s, m) : STATUS_OK;
}

/* Takes the features of the training model by name, if the evaluation model has all of them in the same shapes. */
static Status take_for_evaluation(TrainletSession *s, const Model *from) {
  Model *m = &s->models[MODEL_EVAL];
  m->feature_count = 0;
  if (!m->graph || !(m->features = ARENA_ARRAY(m->graph->arena, Value *, from->feature_count)))
    return m->graph ? session_out_of_memory(s) : STATUS_OK;
  for (int i = 0; i < from->feature_count; i++) {
    const Value *like = from->features[i];
    Value *v = graph_find(m->graph, like->name);
    bool fits = v && v->kind == VALUE_NODE && v->type == like->type && has_rows(m->graph, v) &&
                v->shape.rank == like->shape.rank;
    for (int k = 1; fits && k < v->shape.rank; k++) fits = v->shape.dim[k] == like->shape.dim[k];
    if (!fits) return m->feature_count = 0, STATUS_OK;
    m->features[m->feature_count++] = v;
  }
  return m->feature_count ? add_feeds(s, m) : STATUS_OK;
}

static void put_names(TextBuilder *p, const char *key, Value *const *values, int count, const bool *wanted) {
  const char *before = "";
  text_key(p, key), text_put(p, "[");
  for (int i = 0; i < count; i++) {
    if (wanted && !wanted[values[i]->index]) continue;
    text_put(p, before), text_string(p, values[i]->name);
    before = ",";
  }
  text_put(p, "]");
}

/* {"features": […], "inputs": […], "evaluates"}: names, which inputs a step still needs, whether evaluation takes them.
 */
static Status tell(TrainletSession *s, TextBuilder *p) {
  Model *m = session_model(s, TRAINLET_TRAIN);
  Traits traits;
  if (!m) return s->error.status;
  if (!find_traits(m->graph, &traits, p->arena)) return session_out_of_memory(s);
  find_wanted(s, m, &traits);
  if (!m->features && !s->outside.yield) {
    TRY(take_features(s, m, &traits));
    TRY(take_for_evaluation(s, m));
  }
  text_put(p, "{"), put_names(p, "features", m->features, m->feature_count, NULL);
  text_put(p, ","), put_names(p, "inputs", m->graph->inputs, m->graph->input_count, traits.wanted);
  bool evaluates = m->feature_count && s->models[MODEL_EVAL].feature_count == m->feature_count;
  text_put(p, ","), text_key(p, "evaluates"), text_put(p, evaluates ? "true}" : "false}");
  return STATUS_OK;
}

const char *trainlet_session_features(TrainletSession *s) {
  TextBuilder p = session_begin_text(s);
  tell(s, &p);
  return session_end_text(s, &p);
}

static Status run_features(TrainletSession *s) {
  Model *m = session_model(s, TRAINLET_TRAIN);
  if (!m) return s->error.status;
  if (!m->feature_count) {
    session_forget_feeds(m);
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the training model has no features that are the same in each step");
  }
  Request r = {.graph = m->graph,
               .part = -1, /* a program of the same fetches, but without the gradients of a train run */
               .feeds = m->feeds,
               .fetches = m->features,
               .fetch_count = m->feature_count,
               .passes = s->passes,
               .work_limit = s->limit_work,
               .stop = &s->stop};
  return session_run_model(s, m, &r);
}

Status trainlet_session_run_features(TrainletSession *s) {
  session_enter(s);
  return session_leave(s, run_features(s) == STATUS_OK);
}
