/* Glob: * is any run of characters, ? is one; anything else is itself. */
#include "train/glob.h"

#include <stddef.h>

bool glob_match(const char *pattern, const char *name) {
  const char *star = NULL, *retry = NULL;
  while (*name) {
    if (*pattern == '*') star = ++pattern, retry = name;
    else if (*pattern == '?' || *pattern == *name) pattern++, name++;
    else if (star) pattern = star, name = ++retry;
    else return false;
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}
