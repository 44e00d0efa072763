/* BlackmanWindow: y(n) = 0.42 - 0.5·cos φ + 0.08·cos 2φ, φ = 2πn / size, or / (size - 1) where not periodic. */
#include "ops/signal/cosine_window.h"

static Status blackman_window_compose(Compose *c) { return cosine_window_compose(c, 0.42f, 0.5f, 0.08f); }

CASES_OF(blackman_window_cases) = {
    {"i64[]=10", .no_grad = "constant"}, {"i32[]=7", "periodic=0", .no_grad = "constant"}, {0}};

OPERATOR(blackman_window) = {
    .name = "BlackmanWindow",
    .since = {17},
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .compose = blackman_window_compose,
    .cases = CASES(blackman_window_cases),
};
