/* Loss: what the loss of a run has counted, and labels that are no class of it. */
#include "run/loss.h"

#include <stdio.h>

#include "graph/op.h"

static bool compares_with_labels(const Node *n) {
  return n->op->counted && !n->deferred.waits && n->op->counted(n).labels > 0;
}

/* ---- for a program ---- */

int loss_list(const Program *p, const Node **losses) {
  int count = 0;
  for (int i = 0; i < p->yield_step; i++)
    if (compares_with_labels(p->steps[i])) {
      if (losses) losses[count] = p->steps[i];
      count++;
    }
  return count;
}

static Status refuse_label(const Node *n, const Counted *c, Error *error) {
  const Value *labels = n->in[c->labels];
  int64_t classes = n->in[0]->shape.dim[1], inner = (int64_t)shape_span(&labels->shape, 1, labels->shape.rank);
  char element[48] = "";
  if (inner > 1) snprintf(element, sizeof element, ", element %lld", (long long)(c->stray_at % inner));
  return error_set(error, STATUS_INVALID_FEED, n->name,
                   "the labels '%.100s' have %lld in row %lld%s, but the scores have %lld classes, 0 to %lld%s",
                   labels->name, (long long)c->stray, (long long)(c->stray_at / inner), element, (long long)classes,
                   (long long)classes - 1,
                   c->stray == -100 ? " (-100 is PyTorch's ignore index: make the artifacts with loss: { type: "
                                      "'cross-entropy', ignoreIndex: -100 })"
                                    : "");
}

Status loss_check_labels(const Program *p, Error *error) {
  for (int i = 0; i < p->loss_count; i++) {
    Counted c = p->losses[i]->op->counted(p->losses[i]);
    if (c.stray_at >= 0) return refuse_label(p->losses[i], &c, error);
  }
  return STATUS_OK;
}

/* ---- for a graph ---- */

/* A mean or sum of numbers is of elements where these are compared with a target, as in the losses of ONNX Runtime and
 * ours; what else a model's own loss may add up, nobody knows. */
static bool is_counted(const Graph *g, const Node *n) {
  if (!n || !n->op->counted) return false;
  const Value *target = compares_with_labels(n) ? NULL : graph_find(g, "target");
  return compares_with_labels(n) || (target && target->kind == VALUE_INPUT);
}

LossCount loss_count(const Graph *g, const Value *loss) {
  if (!is_counted(g, loss->producer)) return (LossCount){-1, false};
  Counted c = loss->producer->op->counted(loss->producer);
  return (LossCount){c.weight, c.sum};
}

bool loss_is_cross_entropy(const Graph *g) {
  return g->output_count && g->outputs[0]->producer && compares_with_labels(g->outputs[0]->producer);
}

const Node *loss_of_labels(const Graph *g, const Value *input) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (compares_with_labels(n) && n->in[n->op->counted(n).labels] == input) return n;
  }
  return NULL;
}

const Value *loss_scores(const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (compares_with_labels(g->nodes[i])) return g->nodes[i]->in[0];
  return NULL;
}
