/* Vector math: the errors that its functions state, against libm's in double. */
#include "kernels/vector_math.h"
#include <math.h>
#include "check.h"
#include "kernels/float_power.h"

typedef struct Function {
  const char *name;
  f32x4 (*four)(f32x4 x);
  double (*exact)(double x);
  float low, high; /* for x */
  double ulps;
} Function;

static double exact_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double exact_over_root_cubed(double x) { return pow(x, -0.75); }
static f32x4 four_over_root_cubed(f32x4 x) {
  float_powers_by((float *)&x, (const float *)&x, -0.75f, 4);
  return x;
}
static f32x4 four_power(f32x4 x) { return float_powers(x, f32x4_splat(-1.3f)); }
static double exact_power_of_float(double x) { return pow(x, (double)-1.3f); }

/* The distance between `want` rounded to float and the next float. */
static double ulp(double want) {
  float w = fabsf((float)want);
  return (double)(nextafterf(w, INFINITY) - w);
}

static void error_is_as_stated(const void *argument) {
  const Function *f = argument;
  double worst = 0;
  float at = 0;
  for (float x = f->low; x < f->high; x += fabsf(x) * 1.7e-5f + 1e-9f) {
    double want = f->exact((double)x), off = fabs((double)f->four(f32x4_splat(x))[2] - want) / ulp(want);
    if (off > worst) worst = off, at = x;
  }
  check(worst <= f->ulps, "%s is %.2f ulp off at %.9g, which should be %.2f at most", f->name, worst, (double)at,
        f->ulps);
  test_note("%.2f ulp", worst);
}

static f32x4 four_exp(f32x4 x) { return f32x4_exp(x); }
static f32x4 four_log(f32x4 x) { return f32x4_log(x); }
static f32x4 four_tanh(f32x4 x) { return f32x4_tanh(x); }
static f32x4 four_sigmoid(f32x4 x) { return f32x4_sigmoid(x); }
static f32x4 four_erf(f32x4 x) { return f32x4_erf(x); }

int main(void) {
  static const Function functions[] = {
      {"exp", four_exp, exp, -87, 88, 1.0},
      {"log", four_log, log, 1e-30f, 1e30f, 0.9},
      {"tanh", four_tanh, tanh, -12, 12, 2.5},
      {"sigmoid", four_sigmoid, exact_sigmoid, -86, 30, 2.5},
      {"erf", four_erf, erf, -5, 5, 1.3},
      {"x^-3/4", four_over_root_cubed, exact_over_root_cubed, 1e-30f, 1e30f, 4.5},
      {"x^-1.3", four_power, exact_power_of_float, 1e-25f, 1e25f, 0.51},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    test_run(functions[i].name, error_is_as_stated, &functions[i]);
  return test_finish();
}
