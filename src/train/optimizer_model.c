/* The optimizer model: which nodes in an ONNX file mean which optimizer.
 *
 *   learning_rate, step, params ──────────────┐
 *   gradients ─▶ (InplaceClipGradNorm) ─────▶ AdamWOptimizer ─▶ updated_flag
 *   first_order_moments, second_order_moments ┘
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"
#include "train/optimizer.h"

#define MICROSOFT "com.microsoft"
#define OURS "ai.trainlet" /* what ONNX Runtime has no operator for */

/* The operators, in the order in which a writer picks the first that can say it all. */
typedef struct Form {
  const char *op_type, *domain;
  OptimizerKind kind;
} Form;
static const Form forms[] = {
    {"AdamWOptimizer", MICROSOFT, OPTIMIZER_ADAMW}, {"SGDOptimizerV2", MICROSOFT, OPTIMIZER_SGD},
    {"AdamWOptimizer", OURS, OPTIMIZER_ADAMW},      {"SGDOptimizer", OURS, OPTIMIZER_SGD},
    {"AdamOptimizer", OURS, OPTIMIZER_ADAM},        {"AdagradOptimizer", OURS, OPTIMIZER_ADAGRAD},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* ---- reading ---- */

static const Attr *find_attr(const OnnxNode *n, const char *name, AttrKind kind) {
  for (int i = 0; i < n->attr_count; i++)
    if (n->attrs[i].kind == kind && strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  return NULL;
}

/* A float attribute in [least, below); the value in *out stays when it is absent. */
static Status read_float(const OnnxNode *n, const char *name, float least, float below, Error *error, float *out) {
  const Attr *a = find_attr(n, name, ATTR_FLOAT);
  if (a) *out = a->f;
  if (*out >= least && *out < below) return STATUS_OK;
  return error_set(error, STATUS_INVALID_MODEL, n->name, "%s: %s is %g, it must be at least %g and below %g", n->op_type, name,
                   (double)*out, (double)least, (double)below);
}

static Status read_flag(const OnnxNode *n, const char *name, bool otherwise, Error *error, bool *out) {
  const Attr *a = find_attr(n, name, ATTR_INT);
  *out = a ? a->i == 1 : otherwise;
  if (!a || a->i == 0 || a->i == 1) return STATUS_OK;
  return error_set(error, STATUS_INVALID_MODEL, n->name, "%s: %s is %lld, it must be 0 or 1", n->op_type, name, (long long)a->i);
}

static Status read_sgd(const OnnxNode *n, Error *error, Optimizer *o) {
  TRY(read_float(n, "weight_decay", 0, INFINITY, error, &o->weight_decay));
  TRY(read_float(n, "momentum", 0, 1, error, &o->momentum));
  TRY(read_float(n, "dampening", -INFINITY, INFINITY, error, &o->dampening));
  return read_flag(n, "nesterov", false, error, &o->nesterov);
}

static Status read_adagrad(const OnnxNode *n, Error *error, Optimizer *o) {
  TRY(read_float(n, "weight_decay", 0, INFINITY, error, &o->weight_decay));
  TRY(read_float(n, "epsilon", 0, INFINITY, error, &o->eps));
  return read_float(n, "lr_decay", 0, INFINITY, error, &o->lr_decay);
}

static Status read_adam(const OnnxNode *n, Error *error, Optimizer *o) {
  bool hugging_face, counts_from_1;
  o->weight_decay = strcmp(n->domain, MICROSOFT) == 0 ? 0 : o->weight_decay; /* ONNX Runtime's default is 0, not PyTorch's */
  TRY(read_float(n, "alpha", 0, 1, error, &o->beta1));
  TRY(read_float(n, "beta", 0, 1, error, &o->beta2));
  TRY(read_float(n, "epsilon", 0, INFINITY, error, &o->eps));
  TRY(read_float(n, "weight_decay", 0, INFINITY, error, &o->weight_decay));
  TRY(read_flag(n, "correct_bias", true, error, &o->correct_bias));
  TRY(read_flag(n, "adam_mode", false, error, &hugging_face));
  TRY(read_flag(n, "first_step", true, error, &counts_from_1));
  o->first_step = counts_from_1;
  if (hugging_face) o->kind = o->kind == OPTIMIZER_ADAMW ? OPTIMIZER_ADAMW_HF : OPTIMIZER_ADAM_HF;
  return STATUS_OK;
}

static Status read_clip(const OnnxNode *n, Error *error, float *clip_norm) {
  const Attr *norm = find_attr(n, "norm_type", ATTR_STRING);
  if (norm && strcmp(norm->s, "fro") != 0)
    return error_set(error, STATUS_UNSUPPORTED_OP, n->name,
                     "InplaceClipGradNorm: the norm '%.32s' is not 'fro', the only one we have", norm->s);
  *clip_norm = 1;
  return read_float(n, "max_norm", 0, INFINITY, error, clip_norm);
}

static const Form *form_of(const OnnxNode *n) {
  for (int i = 0; i < FORMS; i++)
    if (strcmp(n->op_type, forms[i].op_type) == 0 && strcmp(n->domain, forms[i].domain) == 0) return &forms[i];
  return NULL;
}

static Status read_nodes(const OnnxNode *nodes, int count, Error *error, Optimizer *out) {
  float clip_norm = 0;
  *out = (Optimizer){0};
  for (int i = 0; i < count; i++) {
    const OnnxNode *n = &nodes[i];
    const Form *form = form_of(n);
    if (strcmp(n->op_type, "InplaceClipGradNorm") == 0) {
      TRY(read_clip(n, error, &clip_norm));
    } else if (!form) {
      return error_set(error, STATUS_UNSUPPORTED_OP, n->name,
                       "the optimizer model uses the operator '%.64s', which is no optimizer we have", n->op_type);
    } else if (out->kind != OPTIMIZER_NONE) {
      return error_set(error, STATUS_UNSUPPORTED_OP, n->name, "the optimizer model holds two optimizers, one is what we run");
    } else {
      *out = optimizer_default(form->kind);
      TRY((form->kind == OPTIMIZER_SGD ? read_sgd : form->kind == OPTIMIZER_ADAGRAD ? read_adagrad : read_adam)(n, error, out));
    }
  }
  if (out->kind == OPTIMIZER_NONE) return error_set(error, STATUS_INVALID_MODEL, NULL, "the optimizer model holds no optimizer");
  out->clip_norm = clip_norm;
  return STATUS_OK;
}

/* ONNX Runtime has no place for the initial learning rate but its checkpoint's optimizer group, which a fresh one lacks. */
static const char learning_rate_key[] = "trainlet.learning_rate";

static Status read_learning_rate(const OnnxPlain *model, Error *error, Optimizer *out) {
  for (int i = 0; i < model->metadata_count; i++) {
    if (strcmp(model->metadata_keys[i], learning_rate_key) != 0) continue;
    char *end;
    out->lr = strtof(model->metadata_texts[i], &end);
    if (end == model->metadata_texts[i] || *end || !(out->lr >= 0 && out->lr < INFINITY))
      return error_set(error, STATUS_INVALID_MODEL, NULL, "the optimizer model's learning rate '%.40s' is no number of at least 0", model->metadata_texts[i]);
  }
  return STATUS_OK;
}

Status optimizer_model_read(const uint8_t *bytes, size_t count, const External *external, Error *error, Optimizer *out) {
  Arena arena = {0};
  OnnxPlain model;
  Status status = onnx_read_nodes(bytes, count, external, &arena, error, &model);
  if (status == STATUS_OK) status = read_nodes(model.nodes, model.node_count, error, out);
  if (status == STATUS_OK) status = read_learning_rate(&model, error, out);
  arena_free(&arena);
  return status;
}

/* ---- writing ---- */

static const Form *form_for(const Optimizer *o) {
  bool runtime_lacks = o->kind == OPTIMIZER_SGD     ? o->momentum != 0 || o->weight_decay != 0
                       : o->kind == OPTIMIZER_ADAMW ? !o->correct_bias || !o->first_step
                                                    : !o->first_step;
  OptimizerKind kind = o->kind == OPTIMIZER_ADAMW_HF ? OPTIMIZER_ADAMW : o->kind == OPTIMIZER_ADAM_HF ? OPTIMIZER_ADAM : o->kind;
  for (int i = 0; i < FORMS; i++)
    if (forms[i].kind == kind && !(runtime_lacks && strcmp(forms[i].domain, MICROSOFT) == 0)) return &forms[i];
  return NULL;
}

bool optimizer_model_is_ours(const Optimizer *o) {
  const Form *form = form_for(o);
  return form && strcmp(form->domain, OURS) == 0;
}

enum { ATTRS_MAX = 7 };

static int write_attrs(const Optimizer *o, Attr attrs[ATTRS_MAX]) {
  int n = 0;
  if (o->kind == OPTIMIZER_SGD) {
    attrs[n++] = attr_of_float("momentum", o->momentum);
    if (o->dampening != 0) attrs[n++] = attr_of_float("dampening", o->dampening);
    attrs[n++] = attr_of_int("nesterov", o->nesterov);
    attrs[n++] = attr_of_float("weight_decay", o->weight_decay);
    return n;
  }
  if (o->kind == OPTIMIZER_ADAGRAD) {
    attrs[n++] = attr_of_float("lr_decay", o->lr_decay);
    attrs[n++] = attr_of_float("epsilon", o->eps);
    attrs[n++] = attr_of_float("weight_decay", o->weight_decay);
    return n;
  }
  attrs[n++] = attr_of_float("alpha", o->beta1);
  attrs[n++] = attr_of_float("beta", o->beta2);
  attrs[n++] = attr_of_float("epsilon", o->eps);
  attrs[n++] = attr_of_float("weight_decay", o->weight_decay);
  attrs[n++] = attr_of_int("correct_bias", o->correct_bias);
  bool hugging_face = o->kind == OPTIMIZER_ADAMW_HF || o->kind == OPTIMIZER_ADAM_HF;
  if (o->kind != OPTIMIZER_ADAM) attrs[n++] = attr_of_int("adam_mode", hugging_face);
  if (!o->first_step) attrs[n++] = attr_of_int("first_step", 0);
  return n;
}

Status optimizer_model_write(const Optimizer *o, Error *error, Block *out, size_t *out_bytes) {
  const Form *form = form_for(o);
  if (!form) return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "there is no optimizer to write a model of");
  bool clips = o->clip_norm > 0, plain = strcmp(form->op_type, "SGDOptimizerV2") == 0;
  Attr attrs[ATTRS_MAX], max_norm = attr_of_float("max_norm", o->clip_norm);
  const char *clipped = "clip_grad_norm_output", *flag = "updated_flag";
  const char *adam_in[] = {"learning_rate",       "step",               "params", clips ? clipped : "gradients",
                           "first_order_moments", "second_order_moments"};
  const char *sgd_in[] = {"learning_rate", "params", clips ? clipped : "gradients", "first_order_moments"};
  const char *adagrad_in[] = {"learning_rate", "step", "params", clips ? clipped : "gradients", "first_order_moments"};
  int moment_count = optimizer_moment_count(o);
  bool sgd = o->kind == OPTIMIZER_SGD, adagrad = o->kind == OPTIMIZER_ADAGRAD;
  const OnnxNode nodes[] = {
      {"InplaceClipGradNorm", MICROSOFT, "InplaceClipGradNorm", (const char *[]){"gradients"}, &clipped, 1, 1, &max_norm, 1},
      {form->op_type, form->domain, form->op_type, sgd ? sgd_in : adagrad ? adagrad_in : adam_in, &flag,
       sgd ? 3 + moment_count : adagrad ? 5 : 6, 1, attrs,
       plain ? 0 : write_attrs(o, attrs)},
  };
  const OnnxPort inputs[] = {{"learning_rate", DTYPE_FLOAT32, 1},     {"step", DTYPE_INT64, 1},
                             {"params", DTYPE_FLOAT32, 0},            {"gradients", DTYPE_FLOAT32, 0},
                             {"first_order_moments", DTYPE_FLOAT32, 0}, {"second_order_moments", DTYPE_FLOAT32, 0}};
  /* for plain SGD the runtime infers a scalar, makes one element, and grumbles at either declaration */
  const OnnxPort output = {flag, DTYPE_BOOL, plain ? PORT_ANY_SHAPE : 1}, between = {clipped, DTYPE_FLOAT32, 0};
  const Opset opsets[] = {{MICROSOFT, 1}, {"", 14}, {OURS, 1}};
  char learning_rate[24];
  snprintf(learning_rate, sizeof learning_rate, "%.9g", (double)o->lr);
  const OnnxPlain model = {
      .nodes = clips ? nodes : nodes + 1, .node_count = clips ? 2 : 1,
      .inputs = inputs, .input_count = moment_count == 2 ? 6 : 5, /* the runtime wants first moments even where nothing reads them */
      .outputs = &output, .output_count = 1,
      .metadata_keys = (const char *[]){learning_rate_key}, .metadata_texts = (const char *[]){learning_rate}, .metadata_count = 1,
      .between = &between, .between_count = clips,
      .opsets = opsets, .opset_count = strcmp(form->domain, OURS) == 0 ? 3 : 2,
  };
  return onnx_write_nodes(&model, error, out, out_bytes);
}
