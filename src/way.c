/* The names of ways, and which were taken. */
#include "way.h"

uint32_t ways_seen;

const char *way_name(int way) {
  static const char *const names[] = {
#define WAY(way, name) name,
#include "way.def"
#undef WAY
  };
  return names[way];
}
