/* Inside a session: what the program that ran last looks like, and how long its nodes take. */
#include "graph/print.h"
#include "graph/work.h"
#include "kernels/peak.h"
#include "run/plan_print.h"
#include "run/session.h"

const char *trainlet_session_graph(TrainletSession *s, TrainletPart part) {
  Printer p = session_begin_text(s);
  const Model *m = session_model(s, part);
  const Program *last = m ? program_cache_last(&s->program_cache, (int)part) : NULL;
  if (last) plan_print(&p, last);
  for (int i = 0; m && !last && i < m->graph->node_count; i++)
    graph_print_node(&p, m->graph->nodes[i], NULL), printer_put(&p, "\n");
  return session_end_text(s, &p);
}

void trainlet_session_time_nodes(TrainletSession *s, double (*now)(void *context), void *context) {
  s->clock = (Clock){now, context};
  for (int i = 0; i < PROGRAMS_MAX; i++)
    if (s->program_cache.programs[i]) plan_forget_times(&s->program_cache.programs[i]->program);
}

static void put_node(Printer *p, const Node *n, double ms) {
  printer_key(p, "name"), printer_string(p, n->name);
  printer_put(p, ","), printer_key(p, "op"), printer_string(p, n->op->name);
  printer_put(p, ","), printer_key(p, "ms"), printer_float(p, ms);
  printer_put(p, ","), printer_key(p, "work"), printer_float(p, n->op->work ? n->op->work(n) : 0);
}

static void put_times(Printer *p, const Program *of, const Clock *clock) {
  printer_put(p, "{"), printer_field(p, "runs", of->timed_runs);
  printer_put(p, ","), printer_key(p, "peak"), printer_float(p, peak_measure(clock->now, clock->context));
  printer_put(p, ","), printer_key(p, "nodes"), printer_put(p, "[");
  for (int i = 0; i < of->step_count; i++)
    printer_put(p, i ? ",{" : "{"), put_node(p, of->steps[i], of->ms[i] / of->timed_runs), printer_put(p, "}");
  printer_put(p, "]}");
}

const char *trainlet_session_node_times(TrainletSession *s, TrainletPart part) {
  Printer p = session_begin_text(s);
  const Program *last = session_model(s, part) ? program_cache_last(&s->program_cache, (int)part) : NULL;
  if (last && s->clock.now && last->timed_runs) put_times(&p, last, &s->clock);
  else error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "no run of this model was timed");
  return session_end_text(s, &p);
}
