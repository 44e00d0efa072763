/* Cosine window: what HannWindow, HammingWindow and BlackmanWindow have in common. */
#pragma once
#include "graph/expansion.h"

/* y(n) = a - b·cos φ + c·cos 2φ, φ = 2πn / size, or / (size - 1) where not periodic; size is input 0. */
Status cosine_window_expand(Expansion *expand, float a, float b, float c);
