/* The plan as text, one node a line. */
#pragma once
#include "text_builder.h"
#include "program/plan.h"

/* Prints a program that plan_resolve has seen. After an output's shape: @offset+bytes in the step arena and the numbers
 * of the [first, last] nodes that write and read these bytes; `in` another value that it shares bytes with. */
void plan_print(TextBuilder *to, const Program *p);
