/* Attention: y = softmax(scale · q kᵀ + mask) v for every image and head, a block of queries at a time.
 *
 *          keys                     the block's scores, then shares ─▶ y
 *        ┌────────┐                 The matrix of all scores is never kept: all the gradient needs of it is one
 *  block │ scores │                 float a query, norm = max + log Σ e^(score - max); it computes the block again.
 *        └────────┘
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Strides to element (image, head, line, d) of an operand. */
typedef struct AttentionStrides {
  size_t image, head, line, d;
} AttentionStrides;

typedef struct Attention {
  size_t images, heads, queries, keys;
  size_t width;       /* a head's, in q and k */
  size_t value_width; /* a head's, in v and y */
  float scale;
  bool causal;                 /* query i sees key j where j - i ≤ keys - queries */
  AttentionStrides q, k, v, y; /* d of q, v and y is 1 */
  struct {
    size_t image, head, query, key; /* 0 where broadcast; key is 0 or 1 */
  } mask;
} Attention;

/* mask may be NULL. norm: (images, heads, queries). */
bool attention_bytes(const Attention *a, size_t *bytes);
void attention_run(const Attention *a, const float *q, const float *k, const float *v, const float *mask, float *y,
                   float *norm, void *scratch);

/* dq, dk and dv are laid out like q, k and v. With S = softmax:
 *   dv = Sᵀ dy,  dS = dy vᵀ,  dscores = S · (dS - Σ dy · y) · scale,  dq = dscores k,  dk = dscoresᵀ q */
bool attention_gradient_bytes(const Attention *a, size_t *bytes);
void attention_gradient_run(const Attention *a, const float *dy, const float *q, const float *k, const float *v,
                            const float *y, const float *norm, const float *mask, float *dq, float *dk, float *dv,
                            void *scratch);
