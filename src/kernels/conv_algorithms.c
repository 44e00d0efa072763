/* The algorithms that convolutions may choose among: all, unless a test leaves some out. */
#include "kernels/conv.h"

unsigned conv_algorithms = ~0u;
