/* Attention in pieces: what the attention operators of ONNX and ONNX Runtime are made of. The pass `attention` puts the
 * pieces together again. */
#pragma once
#include "graph/expansion.h"

typedef struct AttentionPieces {
  Value *q, *k, *v; /* (N, H, T, D), (N, H', S, D), (N, H', S, D'): H a multiple of H' */
  /* true where a query does not see a key: broadcasts to (N, H, T, S); NULL: every query sees all keys */
  Value *hidden;
  Value *bias;          /* added to the scores, broadcasts alike; NULL: nothing */
  bool blind;           /* a query may see no key at all: its result is 0 then */
  float scale, softcap; /* 0: 1/√D, none */
  Value *stages[4]; /* computed along the way, (N, H, T, S): scaled products; capped; with bias and hidden; softmax */
} AttentionPieces;
Value *attention_pieces(Expansion *c, AttentionPieces *p); /* (N, H, T, D') */
/* Its first and its last step: the scaled products, and what the shares make of the values. */
Value *attention_scores(Expansion *c, const AttentionPieces *p);
Value *attention_product(Expansion *c, const AttentionPieces *p, Value *shares);

Value *attention_heads(Expansion *c, Value *x, int64_t heads);  /* (N, T, H·D) as (N, H, T, D) */
Value *attention_tokens(Expansion *c, Value *y);                /* and back */
Value *attention_appended(Expansion *c, Value *past, Value *x); /* x after past along T; x itself where past is NULL */

/* 0, 1 … as (T, 1) and (S): the places of queries and keys. `before`, NULL for 0: how many keys come before the first
 * query. */
Value *attention_rows(Expansion *c, Value *q, Value *before);
Value *attention_columns(Expansion *c, Value *k);
Value *attention_either(Expansion *c, Value *a, Value *b); /* Or, where a may be NULL */
/* The type of a mask decides whether it is bias or hidden: true is seen, a number is added. */
void attention_mask(Expansion *c, AttentionPieces *p, Value *mask);
/* ONNX Runtime's int32 masks of padding: (N, S), 0 where `low` is added to the scores; (N), how many keys there are;
 * (N, T, S). */
Status attention_padding(Expansion *c, AttentionPieces *p, int input, float low);
Status attention_refuse(const Expansion *c, const char *const *attributes); /* those, ended by NULL, that are not 0 */
