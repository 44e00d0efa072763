/* Loss warnings: a loss that takes probabilities for scores. Softmax twice still trains, but too little: its gradient
 * is small where the first one is sure. */
#include "ops/ops.h"
#include "artifacts/artifacts.h"
#include "train/scores.h"

static void warn_of(TrainletArtifacts *a, const Node *activation, const char *loss) {
  if (!activation) return;
  const char *option = a->loss_count ? "losses: [{ input: '" : "lossInputs: ['";
  artifacts_warn(a,
                 "%s '%.60s' makes probabilities, but %s needs scores and applies an activation of its own: train on "
                 "what goes into it, %s%.100s'%s",
                 activation->op->name, activation->name, loss, option, activation->in[0]->name,
                 a->loss_count ? " }]" : "]");
}

/* A loss of labels in the model itself. */
static void check_node(TrainletArtifacts *a, const Node *n) {
  bool known;
  if (!n->op->counted || n->deferred.pending || !n->op->counted(n).labels) return;
  if (n->op != &op_negative_log_likelihood_loss) /* it has no softmax */
    warn_of(a, scores_activation(n->in[0], 1, &known), "cross-entropy");
}

static void check_loss(TrainletArtifacts *a, const LossOptions *o, const Value *scores) {
  warn_of(a, loss_second_activation(o, scores), loss_name(o->kind));
}

void artifacts_warn_of_activations(TrainletArtifacts *a) {
  for (int i = 0; i < a->model->node_count; i++) check_node(a, a->model->nodes[i]);
  for (int i = 0; i < a->loss_count; i++) check_loss(a, &a->losses[i], artifacts_part_scores(a, &a->losses[i]));
  if (!a->loss_count && !loss_is_outside(&a->loss)) check_loss(a, &a->loss, artifacts_scores(a));
}
