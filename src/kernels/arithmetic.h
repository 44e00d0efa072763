/* Arithmetic: what Add, Sub, Mul and Div share; floats by rows of SIMD, integers (shape arithmetic) one by one. */
#pragma once
#include "kernels/broadcast.h"

typedef int64_t ArithmeticInts(int64_t a, int64_t b);

/* float32, int32 or int64; integers known on both sides give a known output. */
Status arithmetic_infer(Node *n, ArithmeticInts *ints);
void arithmetic_run(const Node *n, BroadcastRow *floats);
