/* Advice: a loss that is taken of what it would compute itself. Softmax twice still trains, to little: its gradient is
 * small where the first one is sure. */
#include <string.h>

#include "ops/ops.h"
#include "graph/views.h"
#include "train/artifacts.h"

/* Of the scores (N, C, …) that are shown in another shape: where both have their classes last. */
static bool is_along_classes(const Node *softmax, const Shape *scores) {
  const Shape *shape = &softmax->in[0]->shape;
  int64_t axis = node_int(softmax, "axis", -1);
  if (axis < 0) axis += shape->rank;
  if (shape->rank == scores->rank) return axis == 1;
  return scores->rank == 2 && axis == shape->rank - 1 && shape->dim[axis] == scores->dim[1];
}

static void warn_of(TrainletArtifacts *a, const Node *before, const char *loss) {
  const char *option = a->loss_count ? "losses: [{ input: '" : "lossInputs: ['";
  artifacts_warn(a,
                 "%s '%.60s' is right before the loss, and %s has one of its own: train on what goes into it, "
                 "%s%.100s'%s",
                 before->op->name, before->name, loss, option, before->in[0]->name, a->loss_count ? " }]" : "]");
}

/* Of labels, whoever put the node there. */
static void check_cross_entropy(TrainletArtifacts *a, const Node *n) {
  if (!n->op->counted || n->deferred.waits || !n->op->counted(n).labels) return;
  if (n->op == &op_negative_log_likelihood_loss) return; /* it has none */
  const Node *before = behind_views(n->in[0])->producer;
  if (before && before->op == &op_softmax && is_along_classes(before, &n->in[0]->shape))
    warn_of(a, before, "cross-entropy");
}

/* Softplus(x) − x·target, then a sum or mean: train/loss.c. */
static void check_bce(TrainletArtifacts *a, const LossOptions *o, const Value *loss) {
  const char *name = loss_name(o->kind);
  if (strcmp(name, "bce-with-logits") != 0) return;
  const Node *difference = loss->producer->in[0]->producer;
  if (!difference || !difference->in[0]->producer) return;
  const Node *before = behind_views(difference->in[0]->producer->in[0])->producer;
  if (before && before->op == &op_sigmoid) warn_of(a, before, name);
}

void artifacts_warn_of_activations(TrainletArtifacts *a, const Graph *g) {
  for (int i = 0; i < g->node_count; i++) check_cross_entropy(a, g->nodes[i]);
  if (!a->loss_count) check_bce(a, &a->loss, g->outputs[0]);
  for (int i = 0; i < a->loss_count; i++) check_bce(a, &a->losses[i], g->outputs[1 + i]);
}
