/* Training form: a table of ai.onnx.preview.training's operators, and the attributes that are not simply the number of
 * a setting. */
#include "training_info/form.h"

#include <string.h>

#include "ops/ops.h"

typedef struct Said {
  SettingId id;
  const char *attribute;
  float otherwise; /* ONNX's default */
} Said;

typedef struct Form {
  const Op *op;
  int state_sorts;
  const char *decoupled; /* the attribute for decay outside the gradient */
  Said said[5];          /* to SETTING_END */
} Form;

static const Form momentum = {
    &op_momentum, 1, NULL, {{SETTING_WEIGHT_DECAY, "norm_coefficient", 0}, {SETTING_MOMENTUM, "alpha", 0}}};
static const Form adagrad = {&op_adagrad,
                             1,
                             NULL,
                             {{SETTING_WEIGHT_DECAY, "norm_coefficient", 0},
                              {SETTING_EPS, "epsilon", 1e-6f},
                              {SETTING_LR_DECAY, "decay_factor", 0}}};
static const Form adam = {&op_adam,
                          2,
                          "norm_coefficient_post",
                          {{SETTING_WEIGHT_DECAY, "norm_coefficient", 0},
                           {SETTING_EPS, "epsilon", 1e-6f},
                           {SETTING_BETA1, "alpha", 0.9f},
                           {SETTING_BETA2, "beta", 0.999f}}};
static const Form py_torch_adam = {&op_py_torch_adam,
                                   2,
                                   "weight_decay",
                                   {{SETTING_WEIGHT_DECAY, "norm_coefficient", 0},
                                    {SETTING_EPS, "epsilon", 1e-8f},
                                    {SETTING_BETA1, "alpha", 0.9f},
                                    {SETTING_BETA2, "beta", 0.999f}}};

/* ONNX cannot express an optimizer that is not here. */
static const Form *const forms[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = &momentum,       [OPTIMIZER_ADAGRAD] = &adagrad, [OPTIMIZER_ADAMW] = &py_torch_adam,
    [OPTIMIZER_ADAM] = &py_torch_adam, [OPTIMIZER_ADAMW_HF] = &adam,   [OPTIMIZER_ADAM_HF] = &adam,
};

static const Form *form_of(const Op *op) {
  for (OptimizerKind kind = 0; kind < OPTIMIZER_COUNT; kind++)
    if (forms[kind] && forms[kind]->op == op) return forms[kind];
  return NULL;
}

/* Two kinds with the same form differ in the decay: it is part of the gradient (coupled) or separate. */
static OptimizerKind kind_of(const Form *f, bool coupled) {
  OptimizerKind kind = 0;
  while (forms[kind] != f || (f->decoupled && optimizer_row(kind)->decouples_decay == coupled)) kind++;
  return kind;
}

bool training_has_form(OptimizerKind kind) { return forms[kind]; }

int training_state_sorts(const Op *op) {
  const Form *f = form_of(op);
  return f ? f->state_sorts : 0;
}

/* ONNX's Adam decays after the step by norm_coefficient_post itself, which is lr·weight_decay. */
static float post_decay(const Form *f, float lr, float weight_decay) {
  return f->op == &op_adam ? lr * weight_decay : weight_decay;
}
static float weight_decay_of(const Form *f, float lr, float post) {
  return f->op == &op_adam && post != 0 ? post / lr : post;
}

const Op *training_form_write(const Optimizer *o, float lr, Attr attrs[TRAINING_ATTRS_MAX], int *count) {
  const Form *f = forms[o->kind];
  Optimizer in = *o; /* its weight_decay: the part in the gradient */
  bool decouples = optimizer_row(o->kind)->decouples_decay;
  int n = 0;
  if (decouples) in.weight_decay = 0;
  for (const Said *said = f->said; said->id; said++)
    attrs[n++] = attr_of_float(said->attribute, *setting_number(optimizer_setting(said->id), &in));
  if (f == &momentum) {
    attrs[n++] = attr_of_float("beta", 1 - o->dampening);
    attrs[n++] = attr_of_string("mode", o->nesterov ? "nesterov" : "standard");
  }
  if (f->decoupled) attrs[n++] = attr_of_float(f->decoupled, decouples ? post_decay(f, lr, o->weight_decay) : 0);
  *count = n;
  return f->op;
}

bool training_form_read(const Node *n, float lr, Optimizer *o) {
  const Form *f = form_of(n->op);
  float coupled = node_float(n, "norm_coefficient", 0);
  float decoupled = f->decoupled ? weight_decay_of(f, lr, node_float(n, f->decoupled, 0)) : 0;
  *o = optimizer_default(kind_of(f, coupled != 0));
  for (const Said *said = f->said; said->id; said++)
    *setting_number(optimizer_setting(said->id), o) = node_float(n, said->attribute, said->otherwise);
  if (f == &momentum) {
    o->dampening = 1 - node_float(n, "beta", 1);
    o->nesterov = o->momentum != 0 && strcmp(node_string(n, "mode", ""), "nesterov") == 0;
  }
  if (coupled == 0) o->weight_decay = decoupled;
  return coupled == 0 || decoupled == 0;
}
