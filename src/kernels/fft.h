/* FFT: the discrete Fourier transform of n complex numbers in n · Σ of n's prime factors steps, or, where one of these
 * is large, in n · log n by Bluestein: as kt = (k² + t² - (k - t)²) / 2, it is a convolution, done by transforms of a
 * power of two.
 *
 *   Y[k] = Σ over t of X[t] · e^(-2πi·kt / n)  =  c[k] · Σ over t of (c[t] X[t]) · c̄[k - t],   c[k] = e^(-πi·k² / n)
 */
#pragma once
#include "arena.h"

typedef struct Complex {
  float re, im;
} Complex;

typedef struct Fft {
  size_t n;
  size_t factors[40]; /* their product is n */
  Complex *turns;     /* e^(-2πi·k / n); by Bluestein c */
  struct Fft *power;  /* Bluestein's transform, of 2n numbers or more; NULL: other algorithms */
} Fft;

bool fft_takes(size_t n); /* not a large multiple of a large prime, whose tables would be too long */
bool fft_new(Fft *f, size_t n, Arena *arena); /* n from 1 to 2^24; false when memory is out */
size_t fft_spare(const Fft *f);               /* numbers */
/* Y is not X. */
void fft_run(const Fft *f, const Complex *x, Complex *y, Complex *spare);
