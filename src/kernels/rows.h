/* Rows: products, distances and sums of two rows of numbers. */
#pragma once
#include <stddef.h>

float row_product(const float *a, const float *b, size_t count);  /* Σ a·b */
float row_distance(const float *a, const float *b, size_t count); /* Σ (a - b)² */
/* Distances of row a from each of four consecutive rows, with the same sums as row_distance. */
void row_distances(const float *a, const float *b, size_t count, float d[4]);
void row_add(float *to, const float *from, size_t count); /* to += from */
