/* Glob: matches parameter names against patterns with * and ?. */
#pragma once
#include <stdbool.h>

bool glob_match(const char *pattern, const char *name);
