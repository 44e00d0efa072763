/* Loss: what the loss of a run has counted, and labels that are no class of it. */
#include "program/loss.h"

#include <string.h>

#include "graph/views.h"
#include "ops/ops.h"

bool loss_compares(const Node *n) { return n->op->counted && !n->deferred.pending && n->op->counted(n).labels > 0; }

/* ---- for a program ---- */

int loss_list(const Program *p, const Node **losses) {
  int count = 0;
  for (int i = 0; i < p->yield_step; i++)
    if (loss_compares(p->steps[i])) {
      if (losses) losses[count] = p->steps[i];
      count++;
    }
  return count;
}

const Value *loss_labels(const Node *n) { return behind_views(n->in[n->op->counted(n).labels]); }

Status loss_check(const Node *n, const Value *labels, Error *error) {
  Counted counted = n->op->counted(n), *c = &counted;
  if (c->stray_at < 0) return STATUS_OK;
  int64_t classes = n->in[0]->shape.dim[1];
  char place[SHAPE_PLACE_TEXT];
  return error_set(error, STATUS_INVALID_FEED, n->name,
                   "the labels '%.100s' have %lld%s, but the scores have %lld classes, 0 to %lld%s", labels->name,
                   (long long)c->stray, shape_place(&labels->shape, (size_t)c->stray_at, place), (long long)classes,
                   (long long)classes - 1,
                   c->stray == -100 ? " (-100 is PyTorch's ignore index: make the artifacts with loss: { type: "
                                      "'cross-entropy', ignoreIndex: -100 })"
                                    : "");
}

Status loss_check_labels(const Program *p, Error *error) {
  for (int i = 0; i < p->loss_count; i++) TRY(loss_check(p->losses[i], loss_labels(p->losses[i]), error));
  return STATUS_OK;
}

/* ---- for a graph ---- */

/* A mean or sum of numbers is of elements where these are compared with a target, as in the losses of ONNX Runtime and
 * ours; what else a model's own loss may add up, nobody knows. */
static bool is_counted(const Graph *g, const Node *n, bool one_of_several) {
  if (!n || !n->op->counted) return false;
  if (one_of_several) return true;
  const Value *target = loss_compares(n) ? NULL : graph_find(g, "target");
  return loss_compares(n) || (target && target->kind == VALUE_INPUT);
}

LossCount loss_count(const Graph *g, const Value *loss, bool one_of_several) {
  if (!is_counted(g, loss->producer, one_of_several)) return (LossCount){-1, false};
  Counted c = loss->producer->op->counted(loss->producer);
  return (LossCount){c.weight, c.sum};
}

static bool is_output(const Graph *g, const Value *v) {
  for (int i = 1; i < g->output_count; i++)
    if (g->outputs[i] == v) return true;
  return false;
}

/* weight · part, as generateArtifacts writes it (train/loss.c). */
static LossPart part_of(const Graph *g, const Value *weighted) {
  const Node *n = weighted->producer;
  if (!n || n->op != &op_mul || !is_output(g, n->in[0])) return (LossPart){0};
  const Value *weight = n->in[1];
  if (weight->kind != VALUE_CONSTANT || weight->type != DTYPE_FLOAT32 || weight->shape.rank || !weight->data)
    return (LossPart){0};
  return (LossPart){n->in[0], *(const float *)weight->data};
}

static const Value *sum_before(const Value *sum) {
  return sum->producer && sum->producer->op == &op_add ? sum->producer->in[0] : NULL;
}

/* The last term that is added to a sum. */
static LossPart last_part(const Graph *g, const Value *sum) {
  return part_of(g, sum_before(sum) ? sum->producer->in[1] : sum);
}

int loss_part_count(const Graph *g) {
  int count = 0;
  for (const Value *sum = g->output_count > 1 ? g->outputs[0] : NULL; sum; sum = sum_before(sum))
    if (count++ == LOSS_PARTS_MAX || !last_part(g, sum).value) return 0;
  return count;
}

LossPart loss_part(const Graph *g, int i) {
  const Value *sum = g->outputs[0];
  for (; i > 0; i--) sum = sum_before(sum);
  return last_part(g, sum);
}

bool loss_is_part(const Graph *g, const Value *v) {
  for (int i = loss_part_count(g) - 1; i >= 0; i--)
    if (loss_part(g, i).value == v) return true;
  return false;
}

/* Label smoothing, as generateArtifacts writes it: the sum of a label's log-probability and of all of them. */
static bool is_smoothed(const Node *n) {
  return n->op == &op_negative_log_likelihood_loss && n->in[0]->producer && n->in[0]->producer->op == &op_add;
}

bool loss_is_cross_entropy(const Graph *g) {
  const Node *n = g->output_count ? g->outputs[0]->producer : NULL;
  return n && loss_compares(n) && !is_smoothed(n);
}

bool loss_is_difference(const Graph *g) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (n->op != &op_sub || !n->in[0]->producer) continue; /* 1 − target is of an entropy */
    const Value *target = behind_views(n->in[1]);
    if (target->kind == VALUE_INPUT && strncmp(target->name, "target", 6) == 0) return true;
  }
  return false;
}

const Node *loss_of_labels(const Graph *g, const Value *input) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (loss_compares(n) && loss_labels(n) == input) return n;
  }
  return NULL;
}

const Value *loss_scores(const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (loss_compares(g->nodes[i])) return g->nodes[i]->in[0];
  return NULL;
}
