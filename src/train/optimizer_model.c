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
#define OURS "com.trainlet" /* operators that ONNX Runtime lacks */

/* ---- reading ---- */

static const Attr *find_attr(const OnnxNode *n, const char *name, AttrKind kind) {
  for (int i = 0; i < n->attr_count; i++)
    if (n->attrs[i].kind == kind && strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  return NULL;
}

/* A float attribute in [least, below); *out keeps its value if the attribute is absent. */
static Status read_float(const OnnxNode *n, const char *name, float least, float below, Error *error, float *out) {
  const Attr *a = find_attr(n, name, ATTR_FLOAT);
  if (a) *out = a->f;
  if (*out >= least && *out < below) return STATUS_OK;
  return error_set(error, STATUS_INVALID_MODEL, n->name, "%s: %s is %g, it must be at least %g and below %g",
                   n->op_type, name, (double)*out, (double)least, (double)below);
}

/* An integer attribute, 0 or 1. */
static Status read_flag(const OnnxNode *n, const char *name, Error *error, bool *out) {
  const Attr *a = find_attr(n, name, ATTR_INT);
  if (a) *out = a->i == 1;
  if (!a || a->i == 0 || a->i == 1) return STATUS_OK;
  return error_set(error, STATUS_INVALID_MODEL, n->name, "%s: %s is %lld, it must be 0 or 1", n->op_type, name,
                   (long long)a->i);
}

static Status read_settings(const OnnxNode *n, const OptimizerRow *row, Error *error, Optimizer *o) {
  if (strcmp(n->domain, MICROSOFT) == 0) o->weight_decay = 0; /* ONNX Runtime's default, not PyTorch's */
  for (const OwnSetting *own = row->settings; own->id; own++) {
    const Setting *s = optimizer_setting(own->id);
    if (!s->attribute) continue;
    if (s->is_flag) TRY(read_flag(n, s->attribute, error, setting_flag(s, o)));
    else TRY(read_float(n, s->attribute, s->least, s->below, error, setting_number(s, o)));
  }
  if (o->adam_mode) o->kind = row->in_mode_1;
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

static const char clip_value_type[] = "InplaceClipGradValue";

/* OPTIMIZER_NONE: no optimizer has this node. */
static OptimizerKind kind_of(const OnnxNode *n) {
  bool in_runtime = strcmp(n->domain, MICROSOFT) == 0;
  if (!in_runtime && strcmp(n->domain, OURS) != 0) return OPTIMIZER_NONE;
  for (OptimizerKind kind = OPTIMIZER_NONE + 1; kind < OPTIMIZER_COUNT; kind++) {
    const char *op_type = in_runtime ? optimizer_row(kind)->runtime_op_type : optimizer_row(kind)->op_type;
    if (op_type && strcmp(n->op_type, op_type) == 0) return kind;
  }
  return OPTIMIZER_NONE;
}

static Status read_nodes(const OnnxNode *nodes, int count, Error *error, Optimizer *out) {
  float clip_norm = 0, clip_value = 0;
  *out = (Optimizer){0};
  for (int i = 0; i < count; i++) {
    const OnnxNode *n = &nodes[i];
    OptimizerKind kind = kind_of(n);
    if (strcmp(n->op_type, "InplaceClipGradNorm") == 0) {
      TRY(read_clip(n, error, &clip_norm));
    } else if (strcmp(n->op_type, clip_value_type) == 0 && strcmp(n->domain, OURS) == 0) {
      TRY(read_float(n, "clip_value", 0, INFINITY, error, &clip_value));
    } else if (kind == OPTIMIZER_NONE) {
      return error_set(error, STATUS_UNSUPPORTED_OP, n->name,
                       "the optimizer model uses the operator '%.64s', which is no optimizer we have", n->op_type);
    } else if (out->kind != OPTIMIZER_NONE) {
      return error_set(error, STATUS_UNSUPPORTED_OP, n->name,
                       "the optimizer model holds two optimizers, one is what we run");
    } else {
      *out = optimizer_default(kind);
      TRY(read_settings(n, optimizer_row(kind), error, out));
    }
  }
  if (out->kind == OPTIMIZER_NONE)
    return error_set(error, STATUS_INVALID_MODEL, NULL, "the optimizer model holds no optimizer");
  out->clip_norm = clip_norm;
  out->clip_value = clip_value;
  return STATUS_OK;
}

/* ONNX Runtime's only place for the initial learning rate is its checkpoint's optimizer group, which a fresh checkpoint
 * lacks. */
static const char learning_rate_key[] = "trainlet.learning_rate";

static Status read_learning_rate(const OnnxPlain *model, Error *error, Optimizer *out) {
  for (int i = 0; i < model->metadata_count; i++) {
    if (strcmp(model->metadata_keys[i], learning_rate_key) != 0) continue;
    char *end;
    out->lr = strtof(model->metadata_texts[i], &end);
    if (end == model->metadata_texts[i] || *end || !(out->lr >= 0 && out->lr < INFINITY))
      return error_set(error, STATUS_INVALID_MODEL, NULL,
                       "the optimizer model's learning rate '%.40s' is no number of at least 0",
                       model->metadata_texts[i]);
  }
  return STATUS_OK;
}

Status optimizer_model_read(const uint8_t *bytes, size_t count, const External *external, Error *error,
                            Optimizer *out) {
  Arena arena = {0};
  OnnxPlain model;
  Status status = onnx_read_nodes(bytes, count, external, &arena, error, &model);
  if (status == STATUS_OK) status = read_nodes(model.nodes, model.node_count, error, out);
  if (status == STATUS_OK) status = read_learning_rate(&model, error, out);
  arena_free(&arena);
  return status;
}

/* ---- writing ---- */

/* True if the setting has the value that a reader assumes if the attribute is absent. */
static bool is_initial(const Optimizer *o, const OwnSetting *own) {
  Optimizer x = *o;
  const Setting *s = optimizer_setting(own->id);
  return s->is_flag ? *setting_flag(s, &x) == (own->initial != 0) : *setting_number(s, &x) == own->initial;
}

/* True if ONNX Runtime's operator can express all settings. */
static bool runtime_has(const Optimizer *o) {
  const OptimizerRow *row = optimizer_row(o->kind);
  bool has = row->runtime_op_type;
  for (const OwnSetting *own = row->settings; own->id; own++)
    if (own->flags & SETTING_IS_OURS) has &= is_initial(o, own);
  return has;
}

static OnnxNode clip_node(const Optimizer *o, const char **clipped, Attr *attr) {
  static const char *gradients = "gradients", norm_type[] = "InplaceClipGradNorm";
  bool by_value = o->clip_value > 0;
  const char *type = by_value ? clip_value_type : norm_type;
  *attr = by_value ? attr_of_float("clip_value", o->clip_value) : attr_of_float("max_norm", o->clip_norm);
  return (OnnxNode){type, by_value ? OURS : MICROSOFT, type, &gradients, clipped, 1, 1, attr, 1};
}

static int write_attrs(const Optimizer *o, Attr attrs[SETTING_COUNT]) {
  Optimizer x = *o;
  int n = 0;
  for (const OwnSetting *own = optimizer_row(o->kind)->settings; own->id; own++) {
    const Setting *s = optimizer_setting(own->id);
    if (!s->attribute || (own->flags & SETTING_SPARSE && is_initial(o, own))) continue;
    attrs[n++] = s->is_flag ? attr_of_int(s->attribute, *setting_flag(s, &x))
                            : attr_of_float(s->attribute, *setting_number(s, &x));
  }
  return n;
}

/* learning_rate, (step,) params, gradients, first_order_moments, second_order_moments, as far as the optimizer has
 * them. */
static int name_inputs(const Optimizer *o, const char *gradients, const char *in[6]) {
  int n = 0;
  in[n++] = "learning_rate";
  if (optimizer_row(o->kind)->reads_step) in[n++] = "step";
  in[n++] = "params";
  in[n++] = gradients;
  if (optimizer_moment_count(o) > 0) in[n++] = "first_order_moments";
  if (optimizer_moment_count(o) > 1) in[n++] = "second_order_moments";
  return n;
}

Status optimizer_model_write(const Optimizer *o, Error *error, Block *out, size_t *out_bytes) {
  const OptimizerRow *row = optimizer_row(o->kind);
  if (o->kind == OPTIMIZER_NONE)
    return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "there is no optimizer to write a model of");
  bool clips = o->clip_norm > 0 || o->clip_value > 0, in_runtime = runtime_has(o),
       plain = in_runtime && row->runtime_is_bare;
  Attr attrs[SETTING_COUNT], clip;
  const char *clipped = "clip_grad_norm_output", *flag = "updated_flag", *in[6];
  const char *op_type = in_runtime ? row->runtime_op_type : row->op_type, *domain = in_runtime ? MICROSOFT : OURS;
  int in_count = name_inputs(o, clips ? clipped : "gradients", in), attr_count = plain ? 0 : write_attrs(o, attrs);
  const OnnxNode nodes[] = {
      clip_node(o, &clipped, &clip),
      {op_type, domain, op_type, in, &flag, in_count, 1, attrs, attr_count},
  };
  const OnnxPort inputs[] = {{"learning_rate", DTYPE_FLOAT32, 1},
                             {"step", DTYPE_INT64, 1},
                             {"params", DTYPE_FLOAT32, 0},
                             {"gradients", DTYPE_FLOAT32, 0},
                             {"first_order_moments", DTYPE_FLOAT32, 0},
                             {"second_order_moments", DTYPE_FLOAT32, 0}};
  /* for plain SGD the runtime infers a scalar, makes one element, and warns about either declaration */
  const OnnxPort output = {flag, DTYPE_BOOL, plain ? PORT_ANY_SHAPE : 1}, between = {clipped, DTYPE_FLOAT32, 0};
  const Opset opsets[] = {{MICROSOFT, 1}, {"", 14}, {OURS, 1}};
  char learning_rate[24];
  snprintf(learning_rate, sizeof learning_rate, "%.9g", (double)o->lr);
  const OnnxPlain model = {
      .nodes = clips ? nodes : nodes + 1,
      .node_count = clips ? 2 : 1,
      .inputs = inputs,
      .input_count = optimizer_moment_count(o) == 2
                       ? 6
                       : 5, /* the runtime wants first moments even where nothing reads them */
      .outputs = &output,
      .output_count = 1,
      .metadata_keys = (const char *[]){learning_rate_key},
      .metadata_texts = (const char *[]){learning_rate},
      .metadata_count = 1,
      .between = &between,
      .between_count = clips,
      .opsets = opsets,
      .opset_count = in_runtime && o->clip_value <= 0 ? 2 : 3,
  };
  return onnx_write_nodes(&model, error, out, out_bytes);
}
