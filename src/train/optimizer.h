/* Optimizers over flat blocks of parameters, each a row of a table; their settings; the ONNX models that describe them.
 */
#pragma once
#include "arena.h"
#include "external.h"
#include "status.h"
#include "threads.h"

typedef enum OptimizerKind {
  OPTIMIZER_NONE,
  OPTIMIZER_ADAMW,
  OPTIMIZER_ADAM,
  OPTIMIZER_ADAGRAD,
  OPTIMIZER_RMSPROP,
  OPTIMIZER_SGD,
  OPTIMIZER_ADAM_HF,  /* ε is added to the uncorrected √v, as in Hugging Face's and ONNX's own Adam */
  OPTIMIZER_ADAMW_HF, /* the same with decoupled decay after the step (ONNX Runtime's adam_mode 1) */
  OPTIMIZER_COUNT,
} OptimizerKind;

typedef struct Optimizer {
  OptimizerKind kind;
  float lr; /* initial learning rate */
  float beta1, beta2, eps, weight_decay, momentum, dampening;
  bool nesterov;
  float lr_decay, alpha;
  bool correct_bias;
  bool first_step;  /* T, the update count of the formulas, in the first update: 0 or 1 */
  bool adam_mode;   /* ONNX Runtime's attribute: 1 for the kinds with Hugging Face's order */
  float clip_norm;  /* global L2 norm of all gradients together; 0 = no clipping */
  float clip_value; /* limit of each element of a gradient; 0 = no clipping */
} Optimizer;

/* ---- settings: one row each ---- */

typedef enum SettingId {
  SETTING_END, /* ends a list */
  SETTING_LR,
  SETTING_BETA1,
  SETTING_BETA2,
  SETTING_EPS,
  SETTING_WEIGHT_DECAY,
  SETTING_MOMENTUM,
  SETTING_DAMPENING,
  SETTING_NESTEROV,
  SETTING_LR_DECAY,
  SETTING_ALPHA,
  SETTING_CLIP_NORM,
  SETTING_CORRECT_BIAS,
  SETTING_FIRST_STEP,
  SETTING_ADAM_MODE,
  SETTING_CLIP_VALUE,
  SETTING_COUNT,
} SettingId;

typedef struct Setting {
  const char *option;    /* after "optimizer."; NULL: not an option. Neighbours of the same name are set together */
  const char *attribute; /* name in the optimizer model's node; NULL: it stands elsewhere in the model */
  size_t offset;         /* place of its field in Optimizer */
  bool is_flag;          /* a bool; the others are floats */
  float least, below;    /* a float is in [least, below), as an option and in a file */
} Setting;

const Setting *optimizer_setting(SettingId id);
static inline float *setting_number(const Setting *s, Optimizer *o) { return (float *)((char *)o + s->offset); }
static inline bool *setting_flag(const Setting *s, Optimizer *o) { return (bool *)((char *)o + s->offset); }

/* ---- optimizers: one row each ---- */

enum {
  SETTING_SPARSE = 1 << 0,  /* written only if it differs from the default */
  SETTING_IS_OURS = 1 << 1, /* ONNX Runtime's operator supports only the default */
};

/* A setting that an optimizer has; the others are 0. */
typedef struct OwnSetting {
  SettingId id;
  float initial; /* PyTorch's default */
  unsigned flags;
} OwnSetting;

typedef struct OptimizerRow {
  const char *name;                     /* "adamw" … */
  bool is_option;                       /* artifacts can be made with it; the others are only read */
  const OwnSetting *settings;           /* in the order of the attributes, to SETTING_END */
  const char *op_type;                  /* type of the optimizer model's node in com.trainlet */
  const char *runtime_op_type;          /* in com.microsoft; NULL: ONNX Runtime has none */
  bool runtime_is_bare;                 /* that has no attributes */
  bool reads_step;                      /* the update count is among the node's inputs */
  OptimizerKind in_mode_1;              /* kind of a node with adam_mode 1 */
  bool decouples_decay;                 /* from the gradient */
  bool has_raw_root;                    /* ε is added to the root of the uncorrected second moment */
  int moment_count;                     /* blocks of state; one more with momentum, if there is an update by momentum */
  ThreadsRange *const volatile *update; /* a part; NULL: it updates nothing */
  ThreadsRange *const volatile *update_by_momentum;
} OptimizerRow;

const OptimizerRow *optimizer_row(OptimizerKind kind);
const char *optimizer_name(OptimizerKind kind);
const char *optimizer_choice(int i);             /* names of those that artifacts are made with; NULL past the end */
OptimizerKind optimizer_named(const char *name); /* one of these names; OPTIMIZER_NONE: none */
bool optimizer_has(OptimizerKind kind, SettingId id);
Optimizer optimizer_default(OptimizerKind kind);
bool optimizer_same(const Optimizer *a, const Optimizer *b);   /* clipping aside */
Status optimizer_check_part(const Optimizer *o, Error *error); /* that this build has its update */
bool optimizer_in_range(const Optimizer *o);                   /* checks numbers from files */
int optimizer_moment_count(const Optimizer *o);                /* 0, 1 or 2 blocks */

/* ---- updates ---- */

/* Σ g² in double; not finite when any g is not finite (or the sum overflows float). */
double optimizer_norm_squared(const float *g, size_t count);
/* clip coefficient min(max_norm / (norm + 1e-6), 1); 1 without clipping. */
float optimizer_clip_scale(const Optimizer *o, double norm_squared);
/* Clamps each to -most … most. */
void optimizer_clip_values(float *g, size_t count, float most);
/* One update of `count` elements in place; `step` is T: updates done before + first_step; the gradient is scaled by
 * `scale` on the fly. m, v: the moments (NULL where the kind has none). */
void optimizer_update(const Optimizer *o, int64_t step, float lr, float scale, float *p, const float *g, float *m,
                      float *v, size_t count);

/* The same update for others to compute: all numbers that it takes beside the blocks, of a gradient that is not scaled,
 * in the order lr, scale, decay, β₁, 1-β₁, β₂, 1-β₂, ε, rate, spread, momentum, fresh, nesterov, α, 1-α. */
enum { OPTIMIZER_NUMBERS = 15 };
void optimizer_numbers(const Optimizer *o, int64_t step, float lr, float numbers[OPTIMIZER_NUMBERS]);

/* ---- files ---- */

/* The optimizer model (ONNX): com.microsoft AdamWOptimizer (adam_mode 0 or 1) or SGDOptimizerV2, with
 * InplaceClipGradNorm before it when clipping, laid out as ONNX Runtime's; com.trainlet's for what ONNX Runtime lacks
 * (InplaceClipGradValue, Adagrad, momentum, Nesterov, SGD weight decay, Adam with coupled weight decay, a T that counts
 * from 0). The initial learning rate is in the model's metadata, trainlet.learning_rate; 1e-3, ONNX Runtime's, where
 * that is absent. */
Status optimizer_model_read(const uint8_t *bytes, size_t count, const External *external, Error *error, Optimizer *out);
Status optimizer_model_write(const Optimizer *o, Error *error, Block *out, size_t *out_bytes);
