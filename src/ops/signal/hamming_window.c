/* HammingWindow: y(n) = 0.543478261 - 0.456521739·cos φ, φ = 2πn / size, or / (size - 1) where not periodic. */
#include "ops/signal/cosine_window.h"

static Status hamming_window_expand(Expansion *c) { return cosine_window_expand(c, 0.543478261f, 0.456521739f, 0); }

OPERATOR(hamming_window) = {
    .name = "HammingWindow",
    .since = {17},
    .inputs = {1, 1},
    .expand = hamming_window_expand,
    .cases = CASES({"i64[]=10", .no_grad = "constant"}, {"i32[]=7", "periodic=0", .no_grad = "constant"}),
};
