/* LinearAttention: attention without softmax, as a state that each step changes (linear_attention.h). */
#include "ops/attention/linear_attention.h"

#include <math.h>
#include <string.h>

#include "graph/dims.h"
#include "ops/ops.h"

static Status read_rule(const Node *n, bool *gated, bool *delta) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  int rule;
  TRY(node_choice(n, "update_rule", "gated_delta", rules, 4, &rule));
  *gated = rule & 1;
  *delta = rule & 2;
  return STATUS_OK;
}

/* The floats of one head, of `heads` that lie side by side. */
static Status head_width(const Node *n, int input, int64_t heads, Dim *out) {
  TRY(node_want_rank(n, input, 3, 3));
  Dim width = n->in[input]->shape.dim[2];
  if (dims_divide(n->graph, &width, 1, &heads, 1, out)) return STATUS_OK;
  return node_invalid(n, "input %d has %lld floats a token for %lld heads", input, (long long)width, (long long)heads);
}

static Status check_gates(const Node *n, int at, LinearAttention *a) {
  int64_t heads = (int64_t)a->heads;
  if (a->gated && !has_in(n, at + 4)) return node_invalid(n, "its update rule needs input %d, the decay", at + 4);
  if (a->delta && !has_in(n, at + 5)) return node_invalid(n, "its update rule needs input %d, beta", at + 5);
  if (a->gated) {
    TRY(node_want_rank(n, at + 4, 3, 3));
    Dim width = n->in[at + 4]->shape.dim[2];
    a->row_decay = width == heads * (int64_t)a->width && width != heads;
    if (dim_is_number(width) && a->width && width != heads && !a->row_decay)
      return node_invalid(n,
                          "input %d, the decay, has %lld floats a token: it wants one for each head, or for each of "
                          "the %zu floats of its keys",
                          at + 4, (long long)width, a->width);
  }
  if (!a->delta) return STATUS_OK;
  TRY(node_want_rank(n, at + 5, 3, 3));
  Dim width = n->in[at + 5]->shape.dim[2];
  a->shared_rate = width == 1;
  return dims_meet(width, heads) || width == 1
           ? STATUS_OK
           : node_invalid(n, "input %d, beta, has %lld floats a token: it wants one, or one for each head", at + 5,
                          (long long)width);
}

/* All inputs have the batch and the tokens of the queries. */
static Status check_tokens(const Node *n, int at) {
  const Shape *q = &n->in[at]->shape;
  for (int i = at + 1; i < at + 6; i++) {
    if (!has_in(n, i) || i == at + 3) continue;
    for (int d = 0; d < 2; d++) {
      Dim a = q->dim[d], b = n->in[i]->shape.dim[d];
      if (!dims_meet(a, b))
        return node_invalid(n, "input %d has %lld for its dimension %d, the queries have %lld", i, (long long)b, d,
                            (long long)a);
    }
  }
  return STATUS_OK;
}

static Status check_past(const Node *n, int input, const Shape *state) {
  char got[SHAPE_TEXT], wanted[SHAPE_TEXT];
  const Shape *past = &n->in[input]->shape;
  TRY(node_want_rank(n, input, 4, 4));
  if (dims_alike(past, state)) return STATUS_OK;
  return node_invalid(n, "input %d, the past state, is %s, it must be %s", input, shape_print(past, got),
                      shape_print(state, wanted));
}

Status linear_attention_infer(Node *n, int at, Shape *output, Shape *state) {
  LinearAttention *a = NODE_PARAMS(n, LinearAttention);
  if (!a) return STATUS_OUT_OF_MEMORY;
  int64_t heads = node_int(n, "q_num_heads", 0), kv_heads = node_int(n, "kv_num_heads", 0);
  Dim width, key_width, value_width;
  for (int i = at; i < at + 6; i++)
    if (has_in(n, i)) TRY(node_want_float(n, i));
  if (heads < 1 || kv_heads < 1 || heads % kv_heads)
    return node_invalid(n, "q_num_heads is %lld, it must be a multiple of kv_num_heads, which is %lld",
                        (long long)heads, (long long)kv_heads);
  TRY(read_rule(n, &a->gated, &a->delta));
  TRY(head_width(n, at, heads, &width));
  TRY(head_width(n, at + 1, kv_heads, &key_width));
  TRY(head_width(n, at + 2, kv_heads, &value_width));
  if (!dims_meet(width, key_width))
    return node_invalid(n, "a head has %lld floats of queries and %lld of keys", (long long)width,
                        (long long)key_width);
  a->width = dim_is_number(width) ? (size_t)width : 0;
  a->value_width = dim_is_number(value_width) ? (size_t)value_width : 0;
  a->heads = (size_t)kv_heads;
  a->served = (size_t)(heads / kv_heads);
  a->scale = node_float(n, "scale", 0);
  if (a->scale == 0) a->scale = 1 / sqrtf((float)a->width);
  const Dim *q = n->in[at]->shape.dim;
  *output = SHAPE(q[0], q[1], dims_times(n->graph, value_width, heads));
  *state = SHAPE(q[0], kv_heads, width, value_width);
  TRY(check_gates(n, at, a));
  TRY(check_tokens(n, at));
  if (has_in(n, at + 3)) TRY(check_past(n, at + 3, state));
  a->batch = dim_is_number(q[0]) ? (size_t)q[0] : 0;
  a->steps = dim_is_number(q[1]) ? (size_t)q[1] : 0;
  return STATUS_OK;
}

double linear_attention_work(const Node *n) {
  const LinearAttention *a = n->params;
  double state = (double)a->width * (double)a->value_width;
  return (double)a->batch * (double)a->steps * (double)a->heads * state * (4 + (double)a->served);
}

/* ---- one step ---- */

static size_t width_of(const Node *n, int input) { return (size_t)n->in[input]->shape.dim[2]; }

LinearHead linear_attention_head(const Node *n, int at, size_t batch, size_t head) {
  const LinearAttention *a = n->params;
  size_t first = batch * a->steps, state = a->width * a->value_width;
  LinearHead h = {.q_step = width_of(n, at), .k_step = width_of(n, at + 1), .v_step = width_of(n, at + 2)};
  h.q_at = first * h.q_step + head * a->served * a->width;
  h.k_at = first * h.k_step + head * a->width;
  h.v_at = first * h.v_step + head * a->value_width;
  h.past_at = (batch * a->heads + head) * state;
  h.q = in_f32(n, at) + h.q_at, h.k = in_f32(n, at + 1) + h.k_at, h.v = in_f32(n, at + 2) + h.v_at;
  if (has_in(n, at + 3)) h.past = in_f32(n, at + 3) + h.past_at;
  if (a->gated) {
    h.decay_step = width_of(n, at + 4);
    h.decay_at = first * h.decay_step + head * (a->row_decay ? a->width : 1);
    h.decay = in_f32(n, at + 4) + h.decay_at;
  }
  if (a->delta) {
    h.rate_step = width_of(n, at + 5);
    h.rate_at = first * h.rate_step + (a->shared_rate ? 0 : head);
    h.rate = in_f32(n, at + 5) + h.rate_at;
  }
  return h;
}

void linear_attention_step(const LinearAttention *a, const LinearHead *h, size_t t, const float *before, float *scaled,
                           float *u, float *after) {
  const float *k = h->k + t * h->k_step, *decay = h->decay ? h->decay + t * h->decay_step : NULL;
  size_t width = a->value_width;
  memcpy(u, h->v + t * h->v_step, width * sizeof(float));
  for (size_t i = 0; i < a->width; i++) {
    float d = decay ? expf(decay[a->row_decay ? i : 0]) : 1;
    for (size_t j = 0; j < width; j++) scaled[i * width + j] = d * before[i * width + j];
    for (size_t j = 0; j < width && a->delta; j++) u[j] -= k[i] * scaled[i * width + j];
  }
  for (size_t j = 0; j < width && a->delta; j++) u[j] *= h->rate[t * h->rate_step];
  for (size_t i = 0; i < a->width; i++)
    for (size_t j = 0; j < width; j++) after[i * width + j] = scaled[i * width + j] + k[i] * u[j];
}

static Status infer(Node *n) {
  Shape output, state;
  TRY(linear_attention_infer(n, 0, &output, &state));
  const LinearAttention *a = n->params;
  n->scratch_bytes = (2 * a->width * a->value_width + a->value_width) * sizeof(float);
  TRY(node_output(n, 0, DTYPE_FLOAT32, &output));
  return node_output(n, 1, DTYPE_FLOAT32, &state);
}

/* o = scale · Sᵀ q, for the heads of queries that lie side by side. */
static void read_state(const LinearAttention *a, const float *q, const float *s, float *o) {
  memset(o, 0, a->served * a->value_width * sizeof(float));
  for (size_t head = 0; head < a->served; head++, q += a->width, o += a->value_width)
    for (size_t i = 0; i < a->width; i++)
      for (size_t j = 0; j < a->value_width; j++) o[j] += a->scale * q[i] * s[i * a->value_width + j];
}

static void run(const Node *n) {
  const LinearAttention *a = n->params;
  size_t state = a->width * a->value_width, line = a->heads * a->served * a->value_width;
  float *scaled = n->scratch, *s = scaled + state, *u = s + state;
  for (size_t batch = 0; batch < a->batch; batch++)
    for (size_t head = 0; head < a->heads; head++) {
      LinearHead h = linear_attention_head(n, 0, batch, head);
      if (h.past) memcpy(s, h.past, state * sizeof(float));
      else memset(s, 0, state * sizeof(float));
      for (size_t t = 0; t < a->steps; t++) {
        linear_attention_step(a, &h, t, s, scaled, u, s);
        float *o = out_f32(n, 0) + (batch * a->steps + t) * line + head * a->served * a->value_width;
        read_state(a, h.q + t * h.q_step, s, o);
      }
      if (has_out(n, 1)) memcpy(out_f32(n, 1) + h.past_at, s, state * sizeof(float));
    }
}

static Status gradient(Grad *g) {
  Node *n = g->node;
  Value *in[8], *dy[2] = {g->dy[0], n->out_count > 1 ? g->dy[1] : NULL};
  for (int i = 0; i < 2; i++) in[i] = dy[i] ? dy[i] : EMIT_ABSENT;
  for (int i = 0; i < n->in_count; i++) in[2 + i] = n->in[i] ? n->in[i] : EMIT_ABSENT;
  Node *grad = emit_node(g->graph, "LinearAttentionGrad", (AttrList){n->attrs, n->attr_count}, in, 2 + n->in_count,
                         n->in_count, g->want);
  for (int i = 0; grad && i < n->in_count; i++) g->dx[i] = grad->out[i];
  return g->graph->error->status;
}

OPERATOR(linear_attention) = {
    .name = "LinearAttention",
    .since = {27},
    .inputs = {3, 6},
    .outputs = {1, 2},
    .infer = infer,
    .run = run,
    .grad = GRADIENT(gradient),
    .work = linear_attention_work,
    .cases = CASES({"f32[2,3,4] f32[2,3,4] f32[2,3,6]", "q_num_heads=2 kv_num_heads=2 update_rule=linear", 27},
                   {"f32[1,3,8] f32[1,3,4] f32[1,3,6] - f32[1,3,4]:-1..0",
                    "q_num_heads=4 kv_num_heads=2 update_rule=gated scale=0.8", 27},
                   {"f32[2,3,2] f32[2,3,2] f32[2,3,3] f32[2,1,2,3] - f32[2,3,1]:0.1..0.9",
                    "q_num_heads=1 kv_num_heads=1 update_rule=delta", 27},
                   {"f32[1,4,6] f32[1,4,6] f32[1,4,4] f32[1,2,3,2] f32[1,4,2]:-1..0 f32[1,4,1]:0.1..0.9",
                    "q_num_heads=2 kv_num_heads=2", 27},
                   {"f32[1,2,6] f32[1,2,6] f32[1,2,4] - f32[1,2,2]:-1..0 f32[1,2,2]:0.1..0.9",
                    "q_num_heads=2 kv_num_heads=2", 27, 2}),
};
