/* Quantization: q = round(x / scale) + zero point, and back; with one scale for all of x, one for each place of an
 * axis, or one for each block of places. The gradient treats rounding as the identity and stops where a number was out
 * of range: straight through, as in PyTorch's fake_quantize. None flows into scales and zero points. */
#pragma once
#include "graph/expansion.h"

typedef struct Quantization {
  size_t outer, axis, inner; /* x as (outer, axis, inner) */
  size_t block;              /* places of the axis to a scale */
  bool by_element;           /* scales have the inner dims, too: they are of blocks */
} Quantization;

/* Checks scale and zero point (inputs 1 and 2) against x and the attributes axis and block_size; params when the shapes
 * are numbers. */
Status quantization_infer(Node *n);

/* Elements at … of x in turn, whose scale and zero point are at `scale_at` or follow from there. */
typedef void QuantizationRow(const Node *n, size_t at, size_t scale_at, size_t step, size_t count);
void quantization_each(const Node *n, QuantizationRow *row);

/* For a scale, or data to quantize, that is not float32: the same in float32, with casts around it. */
bool quantization_expands(const Added *a);
Status quantization_expand(Expansion *c);

/* A scale or zero point in a shape that broadcasts to x; NULL for blocks. */
Value *quantization_along(Graph *g, const Node *n, Value *v);
