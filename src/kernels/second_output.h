/* Second output: a node whose gradient needs its optional output 1 (a mask, log-probabilities) gets it. */
#pragma once
#include "ops/op.h"

Status second_output_want(Node *n, const char *stem);
