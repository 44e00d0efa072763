/* Work: what a node does for each element that it reads or writes, and what its operator does beyond that. */
#include "graph/work.h"

double work_elements(const Value *v) {
  double count = 1;
  for (int i = 0; v && i < v->shape.rank; i++) count *= (double)v->shape.dim[i];
  return v ? count : 0;
}

double work_moved(const Node *n) {
  double count = 1;
  for (int i = 0; i < n->in_count; i++)
    if (!n->op->reads || n->op->reads(n, i)) count += work_elements(n->in[i]);
  for (int i = 0; i < n->out_count; i++) count += work_elements(n->out[i]);
  return WORK_ELEMENT * count;
}

double work_inner_dim(const Node *n) {
  const Shape *a = &n->in[0]->shape;
  int last = a->rank - 1;
  return last < 0 ? 1 : (double)a->dim[last > 0 && node_int(n, "transA", 0) ? last - 1 : last];
}

double work_product(const Node *n) { return work_elements(n->out[0]) * work_inner_dim(n); }

double work_of(const Node *n) { return work_moved(n) + (n->op->work ? n->op->work(n) : 0); }

bool work_may_go_ahead(Node *n) {
  double work = work_of(n);
  if (!(n->graph->work_ahead + work <= WORK_AHEAD_MAX)) return false;
  n->graph->work_ahead += work;
  return true;
}

double work_most(const Graph *g) { return g->work_limit > 0 ? g->work_limit : WORK_AHEAD_MAX; }

Status work_expand(const Node *n, double work) {
  Graph *g = n->graph;
  double most = work_most(g);
  g->work_expanded += work;
  if (g->work_expanded <= most) return STATUS_OK;
  return node_fail(n, STATUS_TOO_MUCH_WORK,
                   "it takes about %.1e of the run's %.1e multiply-adds on these shapes, maxWork allows %.1e", work,
                   g->work_expanded, most);
}
