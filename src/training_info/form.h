/* Training form: the node by which a training_info expresses an optimizer, with the settings as its attributes; reading
 * and writing. */
#pragma once
#include "graph/op.h"
#include "train/optimizer.h"

enum { TRAINING_ATTRS_MAX = 5 };

/* SGD that is just arithmetic, x − lr·g, without a node of its own. */
static inline bool training_is_plain(const Optimizer *o) {
  return o->kind == OPTIMIZER_SGD && o->momentum == 0 && o->weight_decay == 0;
}

bool training_has_form(OptimizerKind kind);
const Op *training_form_write(const Optimizer *o, float lr, Attr attrs[TRAINING_ATTRS_MAX], int *count);

int training_state_sorts(const Op *op); /* moments that its node keeps; 0: it is not an optimizer's node */
/* False when the node decays both as part of the gradient and separately. Its learning rate and how T counts are found
 * elsewhere. */
bool training_form_read(const Node *n, float lr, Optimizer *o);
