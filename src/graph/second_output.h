/* Second output: a node whose gradient needs its optional outputs (a mask, log-probabilities, statistics) gets them. */
#pragma once
#include "graph/op.h"

Status second_output_want(Node *n, const char *stem);
/* The same of any output. */
Status output_want(Node *n, int i, const char *stem);
