/* Recompute: where a plan needs too much memory, a cheap value is dropped and computed again before it is next read.
 *
 *   step      0   1   2   3 … 7   8   9            conv  relu  pool  …  backward
 *   pool1         ███████████████████              kept from the forward pass for the backward pass
 *   instead       ████            ███              computed twice: the step of the most bytes has fewer
 */
#pragma once
#include "program/plan.h"

/* Changes the graph of a planned program so that the step with the most bytes needs fewer; it must then be planned
 * again. Returns false when nothing cheap is left to drop, or memory is out. Products and convolutions are not computed
 * twice.
 */
bool recompute_at_peak(Program *program);
