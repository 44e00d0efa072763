/* BlackmanWindow: y(n) = 0.42 - 0.5·cos φ + 0.08·cos 2φ, φ = 2πn / size, or / (size - 1) where not periodic. */
#include "ops/signal/cosine_window.h"

static Status blackman_window_expand(Expansion *c) { return cosine_window_expand(c, 0.42f, 0.5f, 0.08f); }

OPERATOR(blackman_window) = {
    .name = "BlackmanWindow",
    .since = {17},
    .inputs = {1, 1},
    .expand = blackman_window_expand,
    .cases = CASES({"i64[]=10", .no_grad = "constant"}, {"i32[]=7", "periodic=0", .no_grad = "constant"}),
};
