/* Atan: y = atan x.  dx = dy / (1 + x²). */
#include "ops/elementwise/arithmetic.h"

/* Brought to |x| ≤ tan(π/8) by atan x = π/2 - atan(1/x) and π/4 + atan((x - 1)/(x + 1)), there Cephes' polynomial. */
static f32x4 atan_of(f32x4 x) {
  f32x4 a = f32x4_abs(x), one = f32x4_splat(1);
  i32x4 large = a > 2.414213562f, middle = (a > 0.4142135624f) & ~large;
  f32x4 r = f32x4_select(large, -one, f32x4_select(middle, a - one, a)) /
            f32x4_select(large, a, f32x4_select(middle, a + one, one));
  f32x4 base = f32x4_select(large, f32x4_splat(1.57079633f),
                            f32x4_select(middle, f32x4_splat(0.785398163f), f32x4_splat(0)));
  f32x4 z = r * r;
  f32x4 p = ((z * 8.05374449538e-2f + -1.38776856032e-1f) * z + 1.99777106478e-1f) * z + -3.33329491539e-1f;
  f32x4 y = base + (p * z * r + r);
  return (f32x4)((i32x4)y | ((i32x4)x & INT32_MIN));
}
BROADCAST_ROW_1(atan_row, atan_of(x))

static Status atan_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0];
  grad->dx[0] = emit(g, "Div", grad->dy[0], emit(g, "Add", emit(g, "Mul", x, x), emit_float(g, 1)));
  return STATUS_OK;
}

OPERATOR(atan) = {
    .name = "Atan",
    .since = {7, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){atan_row},
    .grad = GRADIENT(atan_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[40]:-9..9"}, {"v:f32[4]=inf,-inf,0,1e30", .no_grad = "infinite"}),
};
