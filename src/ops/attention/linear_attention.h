/* Parts that LinearAttention and LinearAttentionGrad share. Each head of keys and values has a state S (D × D'), and
 * each step t does with k, v, q, the decay d = e^g and the rate β:
 *
 *   S' = d S                                  d is 1 unless the rule is gated; a number for each row, or one for all
 *   u  = v, or with a delta rule β (v - S'ᵀ k)
 *   S  = S' + k uᵀ
 *   o  = scale · Sᵀ q                         for every head of queries that this one serves
 */
#pragma once
#include "graph/op.h"

typedef struct LinearAttention {
  size_t batch, steps, heads, served; /* heads of keys; of queries for each of these */
  size_t width, value_width;          /* D, D' */
  float scale;
  bool gated, delta;
  bool row_decay;   /* a decay for each row of S; else one for all */
  bool shared_rate; /* one rate for all heads */
} LinearAttention;

/* Checks query, key, value, past_state, decay and beta at inputs `at` … at + 5, fills n->params once all shapes are
 * numbers, and gives the shapes of the outputs. */
Status linear_attention_infer(Node *n, int at, Shape *output, Shape *state);
double linear_attention_work(const Node *n);

/* One head of one of the batch: where its numbers are; steps are `*_step` floats apart. */
typedef struct LinearHead {
  const float *q, *k, *v, *past, *decay, *rate; /* the last three may be NULL */
  size_t q_step, k_step, v_step, decay_step, rate_step;
  size_t q_at, k_at, v_at, past_at, decay_at, rate_at; /* the same from the beginning of each */
} LinearHead;
LinearHead linear_attention_head(const Node *n, int at, size_t batch, size_t head);

/* S' = d S of one step, then u and S = S' + k uᵀ. `scaled` (D × D') and `u` (D') are what the gradient needs of it. */
void linear_attention_step(const LinearAttention *a, const LinearHead *h, size_t t, const float *before, float *scaled,
                           float *u, float *after);
