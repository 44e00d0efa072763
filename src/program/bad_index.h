/* Bad index: refuses a run that met an index out of range (graph/bad_index.h). */
#pragma once
#include "program/plan.h"

/* Names the node, the value and the place; what was noted is forgotten. */
Status bad_index_check(const Program *p);
