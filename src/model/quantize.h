/* Quantize: frozen weights that only products and look-ups read become integers or halves, which take their place among
 * the parameters; gradients go through them to what is before.
 *
 *   int8      x · DequantizeLinear(W or Wᵀ, a scale for each output)       Cast(W[i]) · scale[i]  of an embedding
 *   int4      MatMulNBits(x, W in blocks of 32, scales, zero points)       an embedding as with int8
 *   float16   x · Cast(W)                                                  Cast(W[i])
 */
#pragma once
#include "train/weights.h"

typedef enum QuantizeKind { QUANTIZE_NONE, QUANTIZE_INT8, QUANTIZE_INT4, QUANTIZE_FLOAT16 } QuantizeKind;

/* "int8", "int4" or "float16"; QUANTIZE_NONE for another name. */
QuantizeKind quantize_named(const char *name);

typedef struct Quantizer Quantizer;

/* Chooses weights of the model g, whose parameters are read as `weights` says; what is `trained`, by index of a value,
 * stays as it is, and so do tables that no layer learns, as the cosines of a rotary embedding. Refuses a model in which
 * nothing is left (NULL). `nominal`: no value is ever read or made. */
Quantizer *quantize_choose(Graph *g, QuantizeKind kind, const bool *trained, const Weights *weights, bool nominal,
                           Arena *arena);
/* v, whose values have come now: makes what takes its place, and says so; false where it stays, or when memory is out
 * (the graph's error). */
bool quantize_make(Quantizer *q, const Value *v);
/* Makes what is not made yet, and changes the model. */
Status quantize_put(Quantizer *q);
