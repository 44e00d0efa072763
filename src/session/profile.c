/* Inside a session: what the program that ran last looks like, and how long its nodes take. */
#include "graph/print.h"
#include "graph/work.h"
#include "kernels/peak.h"
#include "program/plan_print.h"
#include "session/session.h"

const char *trainlet_session_graph(TrainletSession *s, TrainletPart part) {
  TextBuilder p = session_begin_text(s);
  const Model *m = session_model(s, part);
  const Program *last = m ? program_cache_last(&s->program_cache, (int)part) : NULL;
  if (last) plan_print(&p, last);
  for (int i = 0; m && !last && i < m->graph->node_count; i++)
    graph_print_node(&p, m->graph->nodes[i], NULL), text_put(&p, "\n");
  return session_end_text(s, &p);
}

void trainlet_session_time_nodes(TrainletSession *s, double (*now)(void *context), void *context) {
  s->clock = (Clock){now, context};
  for (int i = 0; i < PROGRAMS_MAX; i++)
    if (s->program_cache.programs[i]) plan_forget_times(&s->program_cache.programs[i]->program);
}

static void put_node(TextBuilder *p, const Node *n, double ms) {
  text_key(p, "name"), text_string(p, n->name);
  text_put(p, ","), text_key(p, "op"), text_string(p, n->op->name);
  text_put(p, ","), text_key(p, "ms"), text_float(p, ms);
  text_put(p, ","), text_key(p, "work"), text_float(p, n->op->work ? n->op->work(n) : 0);
}

static void put_times(TextBuilder *p, const Program *of, const Clock *clock) {
  text_put(p, "{"), text_field(p, "runs", of->timed_runs);
  text_put(p, ","), text_key(p, "peak"), text_float(p, peak_measure(clock->now, clock->context));
  text_put(p, ","), text_key(p, "nodes"), text_put(p, "[");
  for (int i = 0; i < of->step_count; i++)
    text_put(p, i ? ",{" : "{"), put_node(p, of->steps[i], of->ms[i] / of->timed_runs), text_put(p, "}");
  text_put(p, "]}");
}

const char *trainlet_session_node_times(TrainletSession *s, TrainletPart part) {
  TextBuilder p = session_begin_text(s);
  const Program *last = session_model(s, part) ? program_cache_last(&s->program_cache, (int)part) : NULL;
  if (last && s->clock.now && last->timed_runs) put_times(&p, last, &s->clock);
  else error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "no run of this model was timed");
  return session_end_text(s, &p);
}
