/* Winograd: convolutions of 3×3 cells and stride 1 with 36 multiplications for a 4×4 tile of y, where the plain sum has
 * 144. Each of the 36 cells is a product:
 *
 *   w ─G w Gᵀ─▶ U (36, F, C) ─┐
 *   x ─Bᵀ x B─▶ V (36, C, tiles) ─┴─▶ M = U V (36, F, tiles) ─Aᵀ M A─▶ y         a block of tiles at a time
 */
#pragma once
#include "kernels/conv.h"

/* Whether it can be done and is worth it. */
bool winograd_suits(const Conv *conv);
/* The convolution of dy that gives dx; its weights are those of `conv`, turned. */
Conv winograd_turned(const Conv *conv);

/* U of w, packed for the products: `packed` holds 36 · F · C floats. */
enum { WINOGRAD_CELLS = 36 };
void winograd_pack(const Conv *conv, const float *w, bool turned, float *packed, void *scratch);

bool winograd_forward_bytes(const Conv *conv, size_t *bytes);
/* Weights are conv->packed, if that is not NULL.
 * `turned`: w (C, F, 3, 3) is read with features and channels exchanged and both axes backwards. */
void winograd_forward(const Conv *conv, const float *x, const float *w, bool turned, const float *bias, float *y,
                      void *scratch);
bool winograd_weight_gradient_bytes(const Conv *conv, size_t *bytes);
void winograd_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch);
