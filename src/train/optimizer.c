/* Optimizer: one loop over flat blocks of parameters, four elements at a time, in the same order everywhere. */
#include "train/optimizer.h"

#include <float.h>
#include <math.h>

#include "kernels/power.h"
#include "simd.h"
#include "threads.h"

Optimizer optimizer_default(OptimizerKind kind) {
  Optimizer o = {.kind = kind, .lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .correct_bias = true};
  o.first_step = kind != OPTIMIZER_SGD && kind != OPTIMIZER_ADAGRAD;
  if (kind == OPTIMIZER_ADAMW) o.weight_decay = 1e-2f;
  if (kind == OPTIMIZER_ADAM_HF || kind == OPTIMIZER_ADAMW_HF) o.eps = 1e-6f;
  if (kind == OPTIMIZER_ADAGRAD) o.eps = 1e-10f;
  return o;
}

const char *optimizer_name(OptimizerKind kind) {
  switch (kind) {
    case OPTIMIZER_NONE: break;
    case OPTIMIZER_SGD: return "sgd";
    case OPTIMIZER_ADAM: return "adam";
    case OPTIMIZER_ADAMW: return "adamw";
    case OPTIMIZER_ADAM_HF: return "adam-hf";
    case OPTIMIZER_ADAMW_HF: return "adamw-hf";
    case OPTIMIZER_ADAGRAD: return "adagrad";
  }
  return "none";
}

int optimizer_moment_count(const Optimizer *o) {
  if (o->kind == OPTIMIZER_NONE) return 0;
  if (o->kind == OPTIMIZER_SGD) return o->momentum != 0;
  if (o->kind == OPTIMIZER_ADAGRAD) return 1;
  return 2;
}

/* ---- clipping ---- */

enum {
  NORM_CHUNKS = 64,
  NORM_RUN = 1024,    /* squares added up in float before they join the sum in double */
  GRAIN = 16 * 1024,  /* elements that are worth a thread's while */
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
  size_t count, step; /* of each chunk */
  double sum[NORM_CHUNKS];
} Norm;

static void chunk_squares(void *context, size_t chunk, int thread) {
  Norm *n = context;
  size_t end = (chunk + 1) * n->step < n->count ? (chunk + 1) * n->step : n->count;
  double sum = 0;
  for (size_t i = chunk * n->step; i < end; i += NORM_RUN) sum += run_squares(n->g + i, end - i < NORM_RUN ? end - i : NORM_RUN);
  n->sum[chunk] = sum;
}

double optimizer_norm_squared(const float *g, size_t count) {
  Norm n = {.g = g, .count = count, .step = (count + NORM_CHUNKS - 1) / NORM_CHUNKS};
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

/* ---- the update ---- */

/* What an update needs beside the blocks, in all lanes. */
typedef struct Rates {
  f32x4 lr, scale, decay, beta1, rest1, beta2, rest2, eps;
  f32x4 rate;   /* lr with the bias correction of m (…_HF: of v, too) or Adagrad's decay in it */
  f32x4 spread; /* 1 / sqrt of the bias correction of v */
  f32x4 momentum, fresh, nesterov;
} Rates;

static Rates rates_of(const Optimizer *o, int64_t step, float lr, float scale) {
  bool corrects = o->correct_bias && step > 0;
  double correction1 = corrects ? 1 - power_of(o->beta1, step) : 1;
  double correction2 = corrects ? 1 - power_of(o->beta2, step) : 1;
  double rate = lr / correction1;
  if (o->kind == OPTIMIZER_ADAM_HF || o->kind == OPTIMIZER_ADAMW_HF) rate *= sqrt(correction2);
  if (o->kind == OPTIMIZER_ADAGRAD) rate = lr / (1 + (double)step * o->lr_decay);
  return (Rates){
      .lr = f32x4_splat(lr),
      .scale = f32x4_splat(scale),
      .decay = f32x4_splat(o->kind == OPTIMIZER_ADAMW || o->kind == OPTIMIZER_ADAMW_HF ? lr * o->weight_decay : o->weight_decay),
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
  };
}

/* Four elements of each block; an update changes p, m and v. */
typedef struct Four {
  f32x4 p, g, m, v;
} Four;

/* torch.optim.SGD:  g += λ·p;  p -= η·g */
static inline Four sgd(Four x, const Rates *r) {
  x.p -= r->lr * (x.g + r->decay * x.p);
  return x;
}

/* with momentum:  g += λ·p;  m = μ·m + (1−dampening)·g;  p -= η·m, or η·(g + μ·m) with Nesterov. m starts at 0, dampening after
 * the first step: m = g in that. */
static inline Four sgd_momentum(Four x, const Rates *r) {
  x.g += r->decay * x.p;
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
  x.g += r->decay * x.p;
  return adam_step(x, r);
}

/* Loshchilov & Hutter 2019 in torch.optim.AdamW's order (adam_mode 0):  p -= η·λ·p first */
static inline Four adamw(Four x, const Rates *r) {
  x.p -= r->decay * x.p;
  return adam_step(x, r);
}

/* ONNX's Adam:  g += λ·p;  p -= η·√(1−β₂ᵗ)/(1−β₁ᵗ) · m / (√v + ε) */
static inline Four adam_hf(Four x, const Rates *r) {
  x.g += r->decay * x.p;
  x = moments(x, r);
  x.p -= r->rate * x.m / (f32x4_sqrt(x.v) + r->eps);
  return x;
}

/* Hugging Face's order (adam_mode 1):  p -= η·√(1−β₂ᵗ)/(1−β₁ᵗ) · m / (√v + ε), then p -= η·λ·p */
static inline Four adamw_hf(Four x, const Rates *r) {
  x = moments(x, r);
  x.p -= r->rate * x.m / (f32x4_sqrt(x.v) + r->eps);
  x.p -= r->decay * x.p;
  return x;
}

/* torch.optim.Adagrad, Σg² in m:  g += λ·p;  m += g²;  p -= η/(1 + t·lr_decay) · g / (√m + ε) */
static inline Four adagrad(Four x, const Rates *r) {
  x.g += r->decay * x.p;
  x.m += x.g * x.g;
  x.p -= r->rate * x.g / (f32x4_sqrt(x.m) + r->eps);
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

/* `rule` over the blocks; inlined into each caller, where rule and moment_count are constants. */
static inline __attribute__((always_inline)) void sweep(Four (*rule)(Four, const Rates *), const Rates *shared, int moment_count, float *p,
                                                        const float *g, float *m, float *v, size_t count) {
  const Rates own = *shared, *r = &own; /* a store through p might alias the shared ones: they would be loaded again after each */
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
  OptimizerKind kind;
  Rates rates;
  float *p;
  const float *g;
  float *m, *v;
} Update;

static void update_range(void *context, size_t from, size_t to) {
  const Update *u = context;
  const Rates *r = &u->rates;
  float *p = u->p + from, *m = u->m ? u->m + from : NULL, *v = u->v ? u->v + from : NULL;
  const float *g = u->g + from;
  switch (u->kind) {
    case OPTIMIZER_NONE: break;
    case OPTIMIZER_SGD:
      if (m) sweep(sgd_momentum, r, 1, p, g, m, NULL, to - from);
      else sweep(sgd, r, 0, p, g, NULL, NULL, to - from);
      break;
    case OPTIMIZER_ADAM: sweep(adam, r, 2, p, g, m, v, to - from); break;
    case OPTIMIZER_ADAMW: sweep(adamw, r, 2, p, g, m, v, to - from); break;
    case OPTIMIZER_ADAM_HF: sweep(adam_hf, r, 2, p, g, m, v, to - from); break;
    case OPTIMIZER_ADAMW_HF: sweep(adamw_hf, r, 2, p, g, m, v, to - from); break;
    case OPTIMIZER_ADAGRAD: sweep(adagrad, r, 1, p, g, m, NULL, to - from); break;
  }
}

void optimizer_update(const Optimizer *o, int64_t step, float lr, float scale, float *p, const float *g, float *m, float *v,
                      size_t count) {
  int moments = optimizer_moment_count(o);
  Update u = {o->kind, rates_of(o, step, lr, scale), p, g, moments > 0 ? m : NULL, moments > 1 ? v : NULL};
  threads_split(count, GRAIN, update_range, &u);
}
