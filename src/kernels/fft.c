/* FFT by decimation in time: the transforms of every p-th number, joined by butterflies. */
#include "kernels/fft.h"

#include "kernels/double_math.h"

bool fft_new(Fft *f, size_t n, Arena *arena) {
  size_t rest = n, p = 4;
  int count = 0;
  f->n = n;
  while (rest > 1) {
    for (; rest % p; p = p == 4 ? 2 : p == 2 ? 3 : p + 2)
      if (p > 4 && p * p > rest) p = rest - 2; /* it is prime */
    f->factors[count++] = p;
    rest /= p;
  }
  if (!count) f->factors[0] = 1;
  if (!(f->turns = ARENA_ARRAY(arena, Complex, n))) return false;
  for (size_t k = 0; k < n; k++) {
    double cosine, sine;
    double_turn(k, n, &cosine, &sine);
    f->turns[k] = (Complex){(float)cosine, (float)-sine};
  }
  return true;
}

static inline Complex times(Complex a, Complex b) { return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static inline Complex plus(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }
static inline Complex minus(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }

static void join_two(const Fft *f, Complex *y, size_t m, size_t step) {
  for (size_t k = 0; k < m; k++) {
    Complex a = y[k], b = times(y[m + k], f->turns[k * step]);
    y[k] = plus(a, b);
    y[m + k] = minus(a, b);
  }
}

static void join_four(const Fft *f, Complex *y, size_t m, size_t step) {
  for (size_t k = 0; k < m; k++) {
    Complex a = y[k], b = times(y[m + k], f->turns[k * step]), c = times(y[2 * m + k], f->turns[2 * k * step]);
    Complex d = times(y[3 * m + k], f->turns[3 * k * step]), even = plus(a, c), odd = minus(a, c), sum = plus(b, d), turned = minus(b, d);
    y[k] = plus(even, sum);
    y[2 * m + k] = minus(even, sum);
    y[m + k] = (Complex){odd.re + turned.im, odd.im - turned.re};
    y[3 * m + k] = (Complex){odd.re - turned.im, odd.im + turned.re};
  }
}

static void join(const Fft *f, Complex *y, size_t p, size_t m, size_t step, Complex *spare) {
  for (size_t k = 0; k < m; k++) {
    for (size_t q = 0; q < p; q++) spare[q] = y[q * m + k];
    for (size_t r = 0; r < p; r++) {
      size_t turn = 0, by = (k + r * m) * step;
      Complex sum = spare[0];
      for (size_t q = 1; q < p; q++) {
        turn += by;
        if (turn >= f->n) turn -= f->n;
        sum = plus(sum, times(spare[q], f->turns[turn]));
      }
      y[r * m + k] = sum;
    }
  }
}

/* Of x[0], x[step] …: n / step numbers. */
static void transform(const Fft *f, const size_t *factor, const Complex *x, size_t step, Complex *y, Complex *spare) {
  size_t p = *factor, m = f->n / step / p;
  for (size_t q = 0; q < p; q++) {
    if (m == 1) y[q] = x[q * step];
    else transform(f, factor + 1, x + q * step, step * p, y + q * m, spare);
  }
  if (p == 2) join_two(f, y, m, step);
  else if (p == 4) join_four(f, y, m, step);
  else join(f, y, p, m, step, spare);
}

void fft_run(const Fft *f, const Complex *x, Complex *y, Complex *spare) { transform(f, f->factors, x, 1, y, spare); }
