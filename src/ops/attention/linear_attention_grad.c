/* LinearAttentionGrad (ours): all steps again, whose states are kept, and then backward with dS, the gradient of the
 * state after a step. Of (do, dState, and LinearAttention's inputs):
 *
 *   dq = scale · S do,  dS += scale · q doᵀ        du = dSᵀ k,  dk = dS u,  dS' = dS
 *   delta: w = v - S'ᵀ k,  dβ = du · w,  dw = β du,  dv = dw,  dk -= S' dw,  dS' -= k dwᵀ;   else dv = du
 *   gated: dg = Σ_j dS' S'  of each row;   before the step, dS = e^g dS'
 */
#include <math.h>
#include <string.h>

#include "graph/dims.h"
#include "ops/attention/linear_attention.h"
#include "size.h"

enum { INPUTS = 2 }; /* the first input of LinearAttention */

/* A gradient has the shape of what it is of. */
static Status check_gradient(const Node *n, int input, const Shape *wanted) {
  char got[SHAPE_TEXT], text[SHAPE_TEXT];
  if (!has_in(n, input)) return STATUS_OK;
  const Shape *s = &n->in[input]->shape;
  TRY(node_want_float(n, input));
  TRY(node_want_rank(n, input, wanted->rank, wanted->rank));
  if (dims_alike(s, wanted)) return STATUS_OK;
  return node_invalid(n, "input %d is %s, it must be %s", input, shape_print(s, got), shape_print(wanted, text));
}

static Status infer(Node *n) {
  Shape output, state;
  for (int i = INPUTS; i < INPUTS + 3; i++)
    if (!has_in(n, i)) return node_invalid(n, "input %d must be there", i);
  TRY(linear_attention_infer(n, INPUTS, &output, &state));
  TRY(check_gradient(n, 0, &output));
  TRY(check_gradient(n, 1, &state));
  const LinearAttention *a = n->params;
  size_t one = a->width * a->value_width;
  if (node_is_concrete(n) && (!size_multiply(a->steps + 3, one, &n->scratch_bytes) ||
                              !size_multiply(n->scratch_bytes + 3 * a->value_width, sizeof(float), &n->scratch_bytes)))
    return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < n->out_count; i++)
    if (has_in(n, INPUTS + i)) TRY(node_output(n, i, DTYPE_FLOAT32, &n->in[INPUTS + i]->shape));
  return STATUS_OK;
}

typedef struct Backward {
  const LinearAttention *a;
  LinearHead h;
  const float *dy; /* gradient of the output, at the first step and first of the heads served; NULL: none */
  size_t dy_step;
  float *dq, *dk, *dv, *decay, *rate; /* gradients, NULL where not wanted */
  float *scaled, *ds, *u, *du, *w;
} Backward;

/* Adds the gradient that flows from the outputs of step t to the state after it. */
static void through_output(const Backward *b, size_t t, const float *s) {
  const LinearAttention *a = b->a;
  for (size_t head = 0; head < a->served && b->dy; head++) {
    const float *dy = b->dy + t * b->dy_step + head * a->value_width;
    size_t at = t * b->h.q_step + head * a->width;
    for (size_t i = 0; i < a->width; i++) {
      float sum = 0, q = a->scale * b->h.q[at + i];
      for (size_t j = 0; j < a->value_width; j++) {
        sum += s[i * a->value_width + j] * dy[j];
        b->ds[i * a->value_width + j] += q * dy[j];
      }
      if (b->dq) b->dq[at + i] = a->scale * sum;
    }
  }
}

/* Computes dk and du of step t, whose S' and u are there. ds stays the gradient of S. */
static void through_product(const Backward *b, size_t t, float *dk) {
  const LinearAttention *a = b->a;
  const float *k = b->h.k + t * b->h.k_step;
  memset(b->du, 0, a->value_width * sizeof(float));
  for (size_t i = 0; i < a->width; i++) {
    float sum = 0;
    for (size_t j = 0; j < a->value_width; j++) {
      float ds = b->ds[i * a->value_width + j];
      sum += ds * b->u[j];
      b->du[j] += ds * k[i];
    }
    if (dk) dk[i] = sum;
  }
}

/* du becomes dw, and ds that of S'. */
static void through_delta(const Backward *b, size_t t, float *dk) {
  const LinearAttention *a = b->a;
  const float *k = b->h.k + t * b->h.k_step, *v = b->h.v + t * b->h.v_step;
  float rate = b->h.rate[t * b->h.rate_step], sum = 0;
  memcpy(b->w, v, a->value_width * sizeof(float));
  for (size_t i = 0; i < a->width; i++)
    for (size_t j = 0; j < a->value_width; j++) b->w[j] -= k[i] * b->scaled[i * a->value_width + j];
  for (size_t j = 0; j < a->value_width; j++) sum += b->du[j] * b->w[j], b->du[j] *= rate;
  if (b->rate) b->rate[t * b->h.rate_step] += sum;
  for (size_t i = 0; i < a->width; i++) {
    float of_k = 0;
    for (size_t j = 0; j < a->value_width; j++) {
      of_k += b->scaled[i * a->value_width + j] * b->du[j];
      b->ds[i * a->value_width + j] -= k[i] * b->du[j];
    }
    if (dk) dk[i] -= of_k;
  }
}

/* ds becomes that of the state before the step. */
static void through_decay(const Backward *b, size_t t) {
  const LinearAttention *a = b->a;
  size_t at = t * b->h.decay_step;
  for (size_t i = 0; i < a->width; i++) {
    size_t row = at + (a->row_decay ? i : 0);
    float d = expf(b->h.decay[row]), sum = 0;
    for (size_t j = 0; j < a->value_width; j++) {
      sum += b->ds[i * a->value_width + j] * b->scaled[i * a->value_width + j];
      b->ds[i * a->value_width + j] *= d;
    }
    if (b->decay) b->decay[row] += sum;
  }
}

static void backward(const Backward *b, float *states) {
  const LinearAttention *a = b->a;
  size_t one = a->width * a->value_width;
  for (size_t t = 0; t < a->steps; t++)
    linear_attention_step(a, &b->h, t, states + t * one, b->scaled, b->u, states + (t + 1) * one);
  for (size_t t = a->steps; t-- > 0;) {
    float *dk = b->dk ? b->dk + t * b->h.k_step : NULL;
    through_output(b, t, states + (t + 1) * one);
    linear_attention_step(a, &b->h, t, states + t * one, b->scaled, b->u, states + (t + 1) * one);
    through_product(b, t, dk);
    if (a->delta) through_delta(b, t, dk);
    if (b->dv) memcpy(b->dv + t * b->h.v_step, b->du, a->value_width * sizeof(float));
    if (a->gated) through_decay(b, t);
  }
}

static float *wanted(const Node *n, int i, size_t at) { return has_out(n, i) ? out_f32(n, i) + at : NULL; }

static void run(const Node *n) {
  const LinearAttention *a = n->params;
  size_t one = a->width * a->value_width, line = a->heads * a->served * a->value_width;
  float *states = n->scratch, *scaled = states + (a->steps + 1) * one, *ds = scaled + one, *u = ds + one;
  for (int i = 4; i < 6; i++) /* these add up */
    if (has_out(n, i) && out_count(n, i)) memset(out_f32(n, i), 0, out_count(n, i) * sizeof(float));
  for (size_t batch = 0; batch < a->batch; batch++)
    for (size_t head = 0; head < a->heads; head++) {
      LinearHead h = linear_attention_head(n, INPUTS, batch, head);
      size_t dy_at = batch * a->steps * line + head * a->served * a->value_width;
      Backward b = {a,
                    h,
                    has_in(n, 0) ? in_f32(n, 0) + dy_at : NULL,
                    line,
                    wanted(n, 0, h.q_at),
                    wanted(n, 1, h.k_at),
                    wanted(n, 2, h.v_at),
                    wanted(n, 4, h.decay_at),
                    wanted(n, 5, h.rate_at),
                    scaled,
                    ds,
                    u,
                    u + a->value_width,
                    u + 2 * a->value_width};
      if (h.past) memcpy(states, h.past, one * sizeof(float));
      else memset(states, 0, one * sizeof(float));
      if (has_in(n, 1)) memcpy(ds, in_f32(n, 1) + h.past_at, one * sizeof(float));
      else memset(ds, 0, one * sizeof(float));
      if (b.dq && !b.dy)
        for (size_t t = 0; t < a->steps; t++) memset(b.dq + t * h.q_step, 0, a->served * a->width * sizeof(float));
      backward(&b, states);
      if (has_out(n, 3)) memcpy(out_f32(n, 3) + h.past_at, ds, one * sizeof(float));
    }
}

OPERATOR(linear_attention_grad) = {
    .name = "LinearAttentionGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {0, 8},
    .outputs = {1, 6},
    .flags = OP_OURS | OP_COSTLY,
    .infer = infer,
    .run = run,
    .work = linear_attention_work,
    .cases = CASES({"f32[2,3,6] f32[2,2,2,3] f32[2,3,4] f32[2,3,4] f32[2,3,6]",
                    "q_num_heads=2 kv_num_heads=2 update_rule=linear", 0, 3},
                   {"- f32[1,2,3,2] f32[1,4,6] f32[1,4,6] f32[1,4,4] f32[1,2,3,2] f32[1,4,6]:-1..0 f32[1,4,2]:0..1",
                    "q_num_heads=2 kv_num_heads=2", 0, 6}),
};
