/* The names of variants, and the set that was used. */
#include "variant.h"

uint32_t variants_seen;

const char *variant_name(int variant) {
  static const char *const names[] = {
#define VARIANT(variant, name) name,
#include "variant.def"
#undef VARIANT
  };
  return names[variant];
}
