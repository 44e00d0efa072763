/* Rows: products, distances and sums of two rows of numbers. */
#pragma once
#include <stddef.h>

float row_product(const float *a, const float *b, size_t count);  /* Σ a·b */
float row_distance(const float *a, const float *b, size_t count); /* Σ (a - b)² */
/* Of row a from each of four rows that follow each other: the sums are row_distance's. */
void row_distances(const float *a, const float *b, size_t count, float d[4]);
void row_add(float *to, const float *from, size_t count); /* to += from */
