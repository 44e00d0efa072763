/* Rows: products and distances of two rows of numbers. */
#pragma once
#include <stddef.h>

float row_product(const float *a, const float *b, size_t count);  /* Σ a·b */
float row_distance(const float *a, const float *b, size_t count); /* Σ (a - b)² */
