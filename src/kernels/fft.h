/* FFT: the discrete Fourier transform of n complex numbers in n · Σ of n's prime factors steps.
 *
 *   Y[k] = Σ over t of X[t] · e^(-2πi·kt / n)
 */
#pragma once
#include "arena.h"

typedef struct Complex {
  float re, im;
} Complex;

typedef struct Fft {
  size_t n;
  size_t factors[40]; /* their product is n */
  Complex *turns;     /* e^(-2πi·k / n) */
} Fft;

bool fft_new(Fft *f, size_t n, Arena *arena); /* n from 1 to 2^24; false when memory is out */
/* Y is not X; spare: n numbers. */
void fft_run(const Fft *f, const Complex *x, Complex *y, Complex *spare);
