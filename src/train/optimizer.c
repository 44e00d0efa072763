/* Optimizer: the tables, and one loop over flat blocks of parameters, four elements at a time, in the same order
 * everywhere. */
#include "train/optimizer.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels/power.h"
#include "part.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

/* ---- clipping ---- */

enum {
  NORM_CHUNKS = 64,
  NORM_RUN = 1024,   /* squares added up in float before they join the sum in double */
  GRAIN = 16 * 1024, /* the fewest elements that are worth waking a thread */
};

/* Σ g² of up to NORM_RUN elements. */
static float run_squares(const float *g, size_t count) {
  f32x4 lanes[4] = {{0}};
  size_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (size_t k = 0; k < 4; k++) lanes[k] += f32x4_load(g + i + 4 * k) * f32x4_load(g + i + 4 * k);
  float sum = f32x4_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  for (; i < count; i++) sum += g[i] * g[i];
  return sum;
}

typedef struct Norm {
  const float *g;
  size_t count, step; /* elements of each chunk */
  double sum[NORM_CHUNKS];
} Norm;

static void chunk_squares(void *context, size_t chunk, int thread) {
  Norm *n = context;
  size_t end = (chunk + 1) * n->step < n->count ? (chunk + 1) * n->step : n->count;
  double sum = 0;
  for (size_t i = chunk * n->step; i < end; i += NORM_RUN)
    sum += run_squares(n->g + i, end - i < NORM_RUN ? end - i : NORM_RUN);
  n->sum[chunk] = sum;
}

double optimizer_norm_squared(const float *g, size_t count) {
  Norm n = {.g = g, .count = count, .step = ceil_div(count, NORM_CHUNKS)};
  if (n.step < GRAIN) n.step = GRAIN;
  size_t chunks = (count + n.step - 1) / n.step;
  threads_run(chunks, chunk_squares, &n);
  double sum = 0;
  for (size_t i = 0; i < chunks; i++) sum += n.sum[i];
  return sum > FLT_MAX ? (double)INFINITY : sum;
}

float optimizer_clip_scale(const Optimizer *o, double norm_squared) {
  if (o->clip_norm <= 0) return 1;
  double scale = o->clip_norm / (sqrt(norm_squared) + 1e-6);
  return scale < 1 ? (float)scale : 1;
}

typedef struct Clip {
  float *g, most;
} Clip;

static void clip_range(void *context, size_t from, size_t to) {
  const Clip *c = context;
  for (size_t i = from; i < to; i++) c->g[i] = c->g[i] < -c->most ? -c->most : c->g[i] > c->most ? c->most : c->g[i];
}

void optimizer_clip_values(float *g, size_t count, float most) {
  threads_split(count, GRAIN, clip_range, &(Clip){g, most});
}

/* ---- the update ---- */

static bool by_momentum(const Optimizer *o) { return o->momentum != 0 && optimizer_row(o->kind)->update_by_momentum; }

/* The constants of an update besides the blocks, in all lanes. */
typedef struct Rates {
  f32x4 lr, scale, decay, beta1, rest1, beta2, rest2, eps;
  f32x4 rate;   /* lr with its decay and the bias correction of m (beside a raw root: of v, too) in it */
  f32x4 spread; /* 1 / sqrt of the bias correction of v */
  f32x4 momentum, fresh, nesterov, alpha, rest_alpha;
  bool decays;
} Rates;

static Rates rates_of(const Optimizer *o, int64_t step, float lr, float scale) {
  const OptimizerRow *row = optimizer_row(o->kind);
  bool corrects = o->correct_bias && step > 0;
  double correction1 = corrects ? 1 - power_of(o->beta1, step) : 1;
  double correction2 = corrects ? 1 - power_of(o->beta2, step) : 1;
  double rate = lr / correction1 / (1 + (double)step * o->lr_decay);
  if (row->has_raw_root) rate *= sqrt(correction2);
  float decay = row->decouples_decay ? lr * o->weight_decay : o->weight_decay;
  return (Rates){
      .lr = f32x4_splat(lr),
      .scale = f32x4_splat(scale),
      .decay = f32x4_splat(decay),
      .decays = decay != 0,
      .beta1 = f32x4_splat(o->beta1),
      .rest1 = f32x4_splat(1 - o->beta1),
      .beta2 = f32x4_splat(o->beta2),
      .rest2 = f32x4_splat(1 - o->beta2),
      .eps = f32x4_splat(o->eps),
      .rate = f32x4_splat((float)rate),
      .spread = f32x4_splat((float)(1 / sqrt(correction2))),
      .momentum = f32x4_splat(o->momentum),
      .fresh = f32x4_splat(step > 0 ? 1 - o->dampening : 1),
      .nesterov = f32x4_splat(o->nesterov ? 1 : 0),
      .alpha = f32x4_splat(o->alpha),
      .rest_alpha = f32x4_splat(1 - o->alpha),
  };
}

void optimizer_numbers(const Optimizer *o, int64_t step, float lr, float numbers[OPTIMIZER_NUMBERS]) {
  Rates r = rates_of(o, step, lr, 1);
  const f32x4 all[OPTIMIZER_NUMBERS] = {r.lr,   r.scale,  r.decay,    r.beta1, r.rest1,    r.beta2, r.rest2,     r.eps,
                                        r.rate, r.spread, r.momentum, r.fresh, r.nesterov, r.alpha, r.rest_alpha};
  for (int i = 0; i < OPTIMIZER_NUMBERS; i++) numbers[i] = all[i][0];
}

/* Four elements of each block; an update changes p, m and v. */
typedef struct Four {
  f32x4 p, g, m, v;
} Four;

/* λ·p; for λ = 0 a zero of p's sign, whatever p is: 0 · ∞ is no 0. */
static inline f32x4 decay_of(const Rates *r, f32x4 p) {
  return r->decays ? r->decay * p : (f32x4)((i32x4)p & i32x4_splat(INT32_MIN));
}

/* torch.optim.SGD:  g += λ·p;  p -= η·g */
static inline Four sgd(Four x, const Rates *r) {
  x.p -= r->lr * (x.g + decay_of(r, x.p));
  return x;
}

/* with momentum:  g += λ·p;  m = μ·m + (1−dampening)·g;  p -= η·m, or η·(g + μ·m) with Nesterov. m starts at 0, and
 * dampening begins after the first step, in which m = g. */
static inline Four sgd_momentum(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  x.m = r->momentum * x.m + r->fresh * x.g;
  f32x4 look_ahead = x.g + r->momentum * x.m;
  x.p -= r->lr * f32x4_select(r->nesterov != f32x4_splat(0), look_ahead, x.m);
  return x;
}

/* m = β₁·m + (1−β₁)·g;  v = β₂·v + (1−β₂)·g² */
static inline Four moments(Four x, const Rates *r) {
  x.m = r->beta1 * x.m + r->rest1 * x.g;
  x.v = r->beta2 * x.v + r->rest2 * x.g * x.g;
  return x;
}

/* Kingma & Ba 2015; bias correction on m and v:  p -= η/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε) */
static inline Four adam_step(Four x, const Rates *r) {
  x = moments(x, r);
  x.p -= r->rate * x.m / (f32x4_sqrt(x.v) * r->spread + r->eps);
  return x;
}

/* torch.optim.Adam: the decay is part of the gradient:  g += λ·p */
static inline Four adam(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  return adam_step(x, r);
}

/* Loshchilov & Hutter 2019 in torch.optim.AdamW's order (adam_mode 0):  p -= η·λ·p first */
static inline Four adamw(Four x, const Rates *r) {
  x.p -= decay_of(r, x.p);
  return adam_step(x, r);
}

/* ONNX's Adam:  g += λ·p;  p -= η·√(1−β₂ᵗ)/(1−β₁ᵗ) · m / (√v + ε) */
static inline Four adam_hf(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  x = moments(x, r);
  x.p -= r->rate * x.m / (f32x4_sqrt(x.v) + r->eps);
  return x;
}

/* Hugging Face's order (adam_mode 1):  p -= η·√(1−β₂ᵗ)/(1−β₁ᵗ) · m / (√v + ε), then p -= η·λ·p */
static inline Four adamw_hf(Four x, const Rates *r) {
  x = moments(x, r);
  x.p -= r->rate * x.m / (f32x4_sqrt(x.v) + r->eps);
  x.p -= decay_of(r, x.p);
  return x;
}

/* torch.optim.Adagrad, Σg² in m:  g += λ·p;  m += g²;  p -= η/(1 + t·lr_decay) · g / (√m + ε) */
static inline Four adagrad(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  x.m += x.g * x.g;
  x.p -= r->rate * x.g / (f32x4_sqrt(x.m) + r->eps);
  return x;
}

/* torch.optim.RMSprop, not centered, E[g²] in m:  g += λ·p;  m = α·m + (1−α)·g²;  p -= η·g / (√m + ε) */
static inline Four rmsprop(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  x.m = r->alpha * x.m + r->rest_alpha * x.g * x.g;
  x.p -= r->lr * x.g / (f32x4_sqrt(x.m) + r->eps);
  return x;
}

/* with momentum, its buffer in v:  v = μ·v + g / (√m + ε);  p -= η·v */
static inline Four rmsprop_momentum(Four x, const Rates *r) {
  x.g += decay_of(r, x.p);
  x.m = r->alpha * x.m + r->rest_alpha * x.g * x.g;
  x.v = r->momentum * x.v + x.g / (f32x4_sqrt(x.m) + r->eps);
  x.p -= r->lr * x.v;
  return x;
}

static inline f32x4 load_some(const float *p, size_t n) {
  f32x4 v = {0};
  for (size_t i = 0; i < n; i++) v[i] = p[i];
  return v;
}
static inline void store_some(float *p, f32x4 v, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = v[i];
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* `rule` over whole fours of the blocks, gives where they end; decays is a constant, as the next one's are. */
ALWAYS_INLINE size_t sweep_fours(Four (*rule)(Four, const Rates *), const Rates *shared, bool decays, int moment_count,
                                 float *p, const float *g, float *m, float *v, size_t count) {
  Rates own = *shared, *r = &own; /* a store through p might alias the shared values, which would have to be loaded
                                     again after each store */
  own.decays = decays;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Four x = {.p = f32x4_load(p + i), .g = f32x4_load(g + i) * r->scale};
    if (moment_count > 0) x.m = f32x4_load(m + i);
    if (moment_count > 1) x.v = f32x4_load(v + i);
    x = rule(x, r);
    f32x4_store(p + i, x.p);
    if (moment_count > 0) f32x4_store(m + i, x.m);
    if (moment_count > 1) f32x4_store(v + i, x.v);
  }
  return i;
}

/* `rule` over the blocks; inlined into each caller, where rule and moment_count are constants. */
ALWAYS_INLINE void sweep(Four (*rule)(Four, const Rates *), const Rates *r, int moment_count, float *p, const float *g,
                         float *m, float *v, size_t count) {
  size_t i = r->decays ? sweep_fours(rule, r, true, moment_count, p, g, m, v, count)
                       : sweep_fours(rule, r, false, moment_count, p, g, m, v, count);
  size_t rest = count - i;
  Four x = {.p = load_some(p + i, rest), .g = load_some(g + i, rest) * r->scale};
  if (moment_count > 0) x.m = load_some(m + i, rest);
  if (moment_count > 1) x.v = load_some(v + i, rest);
  x = rule(x, r);
  store_some(p + i, x.p, rest);
  if (moment_count > 0) store_some(m + i, x.m, rest);
  if (moment_count > 1) store_some(v + i, x.v, rest);
}

typedef struct Update {
  Rates rates;
  float *p;
  const float *g;
  float *m, *v;
} Update;

/* The update function of an optimizer row: `rule` over elements from … to of the blocks. */
#define UPDATE(rule, moment_count)                                                                                     \
  static void rule##_update(void *context, size_t from, size_t to) {                                                   \
    const Update *u = context;                                                                                         \
    float *m = moment_count > 0 ? u->m + from : NULL, *v = moment_count > 1 ? u->v + from : NULL;                      \
    sweep(rule, &u->rates, moment_count, u->p + from, u->g + from, m, v, to - from);                                   \
  }                                                                                                                    \
  OPTIONAL(optimizer_##rule, rule##_update);
UPDATE(sgd, 0)
UPDATE(sgd_momentum, 1)
UPDATE(adam, 2)
UPDATE(adamw, 2)
UPDATE(adam_hf, 2)
UPDATE(adamw_hf, 2)
UPDATE(adagrad, 1)
UPDATE(rmsprop, 1)
UPDATE(rmsprop_momentum, 2)

static ThreadsRange *const volatile *update_of(const Optimizer *o) {
  const OptimizerRow *row = optimizer_row(o->kind);
  return by_momentum(o) ? row->update_by_momentum : row->update;
}

void optimizer_update(const Optimizer *o, int64_t step, float lr, float scale, float *p, const float *g, float *m,
                      float *v, size_t count) {
  Update u = {rates_of(o, step, lr, scale), p, g, m, v};
  if (update_of(o)) threads_split(count, GRAIN, *update_of(o), &u);
}

Status optimizer_check_part(const Optimizer *o, Error *error) {
  if (!update_of(o) || *update_of(o)) return STATUS_OK;
  char what[64];
  snprintf(what, sizeof what, "optimizer %s%s", optimizer_name(o->kind), by_momentum(o) ? " with momentum" : "");
  return part_missing(error, what);
}

/* ---- the tables ---- */

#define FIELD(name) offsetof(Optimizer, name)

static const Setting settings[SETTING_COUNT] = {
    [SETTING_LR] = {"lr", NULL, FIELD(lr), false, 0, INFINITY},
    [SETTING_BETA1] = {"betas", "alpha", FIELD(beta1), false, 0, 1},
    [SETTING_BETA2] = {"betas", "beta", FIELD(beta2), false, 0, 1},
    [SETTING_EPS] = {"eps", "epsilon", FIELD(eps), false, 0, INFINITY},
    [SETTING_WEIGHT_DECAY] = {"weightDecay", "weight_decay", FIELD(weight_decay), false, 0, INFINITY},
    [SETTING_MOMENTUM] = {"momentum", "momentum", FIELD(momentum), false, 0, 1},
    [SETTING_DAMPENING] = {"dampening", "dampening", FIELD(dampening), false, -FLT_MAX, INFINITY},
    [SETTING_NESTEROV] = {"nesterov", "nesterov", FIELD(nesterov), true, 0, 0},
    [SETTING_LR_DECAY] = {"lrDecay", "lr_decay", FIELD(lr_decay), false, 0, INFINITY},
    [SETTING_ALPHA] = {"alpha", "alpha", FIELD(alpha), false, 0, 1},
    [SETTING_CLIP_NORM] = {"clipGradNorm", NULL, FIELD(clip_norm), false, 0, INFINITY},
    [SETTING_CORRECT_BIAS] = {NULL, "correct_bias", FIELD(correct_bias), true, 0, 0},
    [SETTING_FIRST_STEP] = {NULL, "first_step", FIELD(first_step), true, 0, 0},
    [SETTING_ADAM_MODE] = {NULL, "adam_mode", FIELD(adam_mode), true, 0, 0},
    [SETTING_CLIP_VALUE] = {"clipGradValue", NULL, FIELD(clip_value), false, 0, INFINITY},
};

static const OwnSetting adamw_settings[] = {
    {SETTING_LR, 1e-3f, 0},
    {SETTING_BETA1, 0.9f, 0},
    {SETTING_BETA2, 0.999f, 0},
    {SETTING_EPS, 1e-8f, 0},
    {SETTING_WEIGHT_DECAY, 1e-2f, 0},
    {SETTING_CORRECT_BIAS, true, SETTING_IS_OURS},
    {SETTING_ADAM_MODE, false, 0},
    {SETTING_FIRST_STEP, true, SETTING_SPARSE | SETTING_IS_OURS},
    {0},
};
static const OwnSetting adam_settings[] = {
    {SETTING_LR, 1e-3f, 0},
    {SETTING_BETA1, 0.9f, 0},
    {SETTING_BETA2, 0.999f, 0},
    {SETTING_EPS, 1e-8f, 0},
    {SETTING_WEIGHT_DECAY, 0, 0},
    {SETTING_CORRECT_BIAS, true, 0},
    {SETTING_ADAM_MODE, false, SETTING_SPARSE},
    {SETTING_FIRST_STEP, true, SETTING_SPARSE},
    {0},
};
static const OwnSetting hugging_face_settings[] = {
    {SETTING_LR, 1e-3f, 0},
    {SETTING_BETA1, 0.9f, 0},
    {SETTING_BETA2, 0.999f, 0},
    {SETTING_EPS, 1e-6f, 0},
    {SETTING_WEIGHT_DECAY, 0, 0},
    {SETTING_CORRECT_BIAS, true, 0},
    {SETTING_ADAM_MODE, true, 0},
    {SETTING_FIRST_STEP, true, SETTING_SPARSE | SETTING_IS_OURS},
    {0},
};
static const OwnSetting adagrad_settings[] = {
    {SETTING_LR, 1e-3f, 0}, {SETTING_LR_DECAY, 0, 0}, {SETTING_EPS, 1e-10f, 0}, {SETTING_WEIGHT_DECAY, 0, 0}, {0},
};
static const OwnSetting rmsprop_settings[] = {
    {SETTING_LR, 1e-2f, 0},       {SETTING_ALPHA, 0.99f, 0}, {SETTING_EPS, 1e-8f, 0},
    {SETTING_WEIGHT_DECAY, 0, 0}, {SETTING_MOMENTUM, 0, 0},  {0},
};
static const OwnSetting sgd_settings[] = {
    {SETTING_LR, 1e-3f, 0},       {SETTING_MOMENTUM, 0, SETTING_IS_OURS},     {SETTING_DAMPENING, 0, SETTING_SPARSE},
    {SETTING_NESTEROV, false, 0}, {SETTING_WEIGHT_DECAY, 0, SETTING_IS_OURS}, {0},
};

static const OptimizerRow rows[OPTIMIZER_COUNT] = {
    [OPTIMIZER_NONE] = {.name = "none", .settings = &(OwnSetting){0}},
    [OPTIMIZER_ADAMW] = {.name = "adamw",
                         .is_option = true,
                         .settings = adamw_settings,
                         .op_type = "AdamWOptimizer",
                         .runtime_op_type = "AdamWOptimizer",
                         .reads_step = true,
                         .in_mode_1 = OPTIMIZER_ADAMW_HF,
                         .decouples_decay = true,
                         .moment_count = 2,
                         .update = &part_optimizer_adamw},
    [OPTIMIZER_ADAM] = {.name = "adam",
                        .is_option = true,
                        .settings = adam_settings,
                        .op_type = "AdamOptimizer",
                        .reads_step = true,
                        .in_mode_1 = OPTIMIZER_ADAM_HF,
                        .moment_count = 2,
                        .update = &part_optimizer_adam},
    [OPTIMIZER_ADAGRAD] = {.name = "adagrad",
                           .is_option = true,
                           .settings = adagrad_settings,
                           .op_type = "AdagradOptimizer",
                           .reads_step = true,
                           .moment_count = 1,
                           .update = &part_optimizer_adagrad},
    [OPTIMIZER_RMSPROP] = {.name = "rmsprop",
                           .is_option = true,
                           .settings = rmsprop_settings,
                           .op_type = "RMSpropOptimizer",
                           .moment_count = 1,
                           .update = &part_optimizer_rmsprop,
                           .update_by_momentum = &part_optimizer_rmsprop_momentum},
    [OPTIMIZER_SGD] = {.name = "sgd",
                       .is_option = true,
                       .settings = sgd_settings,
                       .op_type = "SGDOptimizer",
                       .runtime_op_type = "SGDOptimizerV2",
                       .runtime_is_bare = true,
                       .update = &part_optimizer_sgd,
                       .update_by_momentum = &part_optimizer_sgd_momentum},
    [OPTIMIZER_ADAM_HF] = {.name = "adam-hf",
                           .settings = hugging_face_settings,
                           .op_type = "AdamOptimizer",
                           .reads_step = true,
                           .has_raw_root = true,
                           .moment_count = 2,
                           .update = &part_optimizer_adam_hf},
    [OPTIMIZER_ADAMW_HF] = {.name = "adamw-hf",
                            .settings = hugging_face_settings,
                            .op_type = "AdamWOptimizer",
                            .runtime_op_type = "AdamWOptimizer",
                            .reads_step = true,
                            .decouples_decay = true,
                            .has_raw_root = true,
                            .moment_count = 2,
                            .update = &part_optimizer_adamw_hf},
};

const Setting *optimizer_setting(SettingId id) { return &settings[id]; }
const OptimizerRow *optimizer_row(OptimizerKind kind) { return &rows[kind]; }
const char *optimizer_name(OptimizerKind kind) { return rows[kind].name; }

const char *optimizer_choice(int i) {
  for (OptimizerKind kind = 0; kind < OPTIMIZER_COUNT; kind++)
    if (rows[kind].is_option && i-- == 0) return rows[kind].name;
  return NULL;
}

OptimizerKind optimizer_named(const char *name) {
  for (OptimizerKind kind = 0; kind < OPTIMIZER_COUNT; kind++)
    if (rows[kind].is_option && strcmp(rows[kind].name, name) == 0) return kind;
  return OPTIMIZER_NONE;
}

bool optimizer_has(OptimizerKind kind, SettingId id) {
  const OwnSetting *own = rows[kind].settings;
  while (own->id && own->id != id) own++;
  return own->id;
}

Optimizer optimizer_default(OptimizerKind kind) {
  Optimizer o = {.kind = kind};
  for (const OwnSetting *own = rows[kind].settings; own->id; own++) {
    const Setting *s = &settings[own->id];
    if (s->is_flag) *setting_flag(s, &o) = own->initial != 0;
    else *setting_number(s, &o) = own->initial;
  }
  return o;
}

bool optimizer_same(const Optimizer *a, const Optimizer *b) {
  Optimizer x = *a, y = *b;
  bool same = x.kind == y.kind;
  x.clip_norm = y.clip_norm;
  x.clip_value = y.clip_value;
  for (SettingId id = SETTING_LR; id < SETTING_COUNT; id++) {
    const Setting *s = &settings[id];
    if (s->is_flag) same &= *setting_flag(s, &x) == *setting_flag(s, &y);
    else same &= *setting_number(s, &x) == *setting_number(s, &y);
  }
  return same;
}

bool optimizer_in_range(const Optimizer *o) {
  Optimizer x = *o;
  for (SettingId id = SETTING_LR; id < SETTING_COUNT; id++) {
    const Setting *s = &settings[id];
    if (!s->is_flag && !(*setting_number(s, &x) >= s->least && *setting_number(s, &x) < s->below)) return false;
  }
  return true;
}

int optimizer_moment_count(const Optimizer *o) { return rows[o->kind].moment_count + by_momentum(o); }
