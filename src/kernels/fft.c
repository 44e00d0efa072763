/* FFT by decimation in time: the transforms of every p-th number, joined by butterflies. */
#include "kernels/fft.h"

#include "kernels/double_math.h"

enum {
  PRIME_MAX = 128,
  BLUESTEIN_MAX = 1 << 21
}; /* a larger factor is more expensive than Bluestein's way, whose tables are four times as long */

/* False when one of them is larger than that. */
static bool find_factors(Fft *f) {
  size_t rest = f->n, p = 4;
  int count = 0;
  while (rest > 1) {
    for (; rest % p; p = p == 4 ? 2 : p == 2 ? 3 : p + 2)
      if (p > PRIME_MAX) return false;
    if (p > PRIME_MAX) return false;
    f->factors[count++] = p;
    rest /= p;
  }
  if (!count) f->factors[0] = 1;
  return true;
}

static bool turns_new(Fft *f, Arena *arena) {
  if (!(f->turns = ARENA_ARRAY(arena, Complex, f->n))) return false;
  for (size_t k = 0; k < f->n; k++) {
    double cosine, sine;
    double_turn(k, f->n, &cosine, &sine);
    f->turns[k] = (Complex){(float)cosine, (float)-sine};
  }
  return true;
}

static bool bluestein_new(Fft *f, Arena *arena);

bool fft_takes(size_t n) {
  Fft f = {.n = n};
  return n <= BLUESTEIN_MAX || find_factors(&f);
}

bool fft_new(Fft *f, size_t n, Arena *arena) {
  *f = (Fft){.n = n};
  return find_factors(f) ? turns_new(f, arena) : bluestein_new(f, arena);
}

static inline Complex times(Complex a, Complex b) {
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
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
    Complex d = times(y[3 * m + k], f->turns[3 * k * step]), even = plus(a, c), odd = minus(a, c), sum = plus(b, d),
            turned = minus(b, d);
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

/* Transforms x[0], x[step] …: n / step numbers. */
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

/* ---- Bluestein ---- */

enum { FINE = 1024 };

/* e^(-2πi·k / of), or of k²: a coarse turn times a fine one, in double. */
static bool turns_by_two(Fft *f, size_t of, bool squared, Arena *arena) {
  size_t coarse = of / FINE + 1;
  double(*turn)[2] = arena_alloc_array(arena, coarse + FINE, sizeof *turn);
  if (!turn || !(f->turns = ARENA_ARRAY(arena, Complex, f->n))) return false;
  for (size_t i = 0; i < coarse + FINE; i++)
    double_turn((i < coarse ? i * FINE : i - coarse) % of, of, &turn[i][0], &turn[i][1]);
  for (size_t k = 0; k < f->n; k++) {
    size_t at = squared ? (size_t)((uint64_t)k * k % of) : k;
    const double *a = turn[at / FINE], *b = turn[coarse + at % FINE];
    f->turns[k] = (Complex){(float)(a[0] * b[0] - a[1] * b[1]), (float)-(a[0] * b[1] + a[1] * b[0])};
  }
  return true;
}

static bool bluestein_new(Fft *f, Arena *arena) {
  if (!(f->power = ARENA_NEW(arena, Fft))) return false;
  for (f->power->n = 1; f->power->n < 2 * f->n;) f->power->n *= 2;
  return find_factors(f->power) && turns_by_two(f->power, f->power->n, false, arena) &&
         turns_by_two(f, 2 * f->n, true, arena);
}

/* c̄, of negative places too, and over the power's length: that of the transform back. */
static void write_filter(const Fft *f, Complex *to) {
  size_t m = f->power->n;
  float scale = 1 / (float)m;
  for (size_t k = 0; k < m; k++) {
    size_t place = k < f->n ? k : m - k;
    to[k] = place < f->n ? (Complex){scale * f->turns[place].re, -scale * f->turns[place].im} : (Complex){0, 0};
  }
}

/* The transform back is that of the conjugates. `spare` holds three lines of the power's length. */
static void bluestein(const Fft *f, const Complex *x, Complex *y, Complex *spare) {
  const Fft *power = f->power;
  size_t m = power->n;
  Complex *line = spare, *filter = spare + m, *turned = spare + 2 * m;
  write_filter(f, line);
  transform(power, power->factors, line, 1, filter, NULL);
  for (size_t t = 0; t < m; t++) line[t] = t < f->n ? times(x[t], f->turns[t]) : (Complex){0, 0};
  transform(power, power->factors, line, 1, turned, NULL);
  for (size_t k = 0; k < m; k++) {
    Complex product = times(turned[k], filter[k]);
    line[k] = (Complex){product.re, -product.im};
  }
  transform(power, power->factors, line, 1, turned, NULL);
  for (size_t k = 0; k < f->n; k++) y[k] = times((Complex){turned[k].re, -turned[k].im}, f->turns[k]);
}

size_t fft_spare(const Fft *f) { return f->power ? 3 * f->power->n : f->n; }

void fft_run(const Fft *f, const Complex *x, Complex *y, Complex *spare) {
  if (f->power) bluestein(f, x, y, spare);
  else transform(f, f->factors, x, 1, y, spare);
}
