/* HannWindow: y(n) = 0.5 - 0.5·cos φ, φ = 2πn / size, or / (size - 1) where not periodic. */
#include "ops/signal/cosine_window.h"

static Status hann_window_expand(Expansion *c) { return cosine_window_expand(c, 0.5f, 0.5f, 0); }

OPERATOR(hann_window) = {
    .name = "HannWindow",
    .since = {17},
    .inputs = {1, 1},
    .expand = hann_window_expand,
    .cases = CASES({"i64[]=10", .no_grad = "constant"}, {"i32[]=7", "periodic=0", .no_grad = "constant"}),
};
