/* The table of operators. */
#include "ops/ops.h"

#include <string.h>

static const Op *const ops[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
};
enum { OPS = sizeof ops / sizeof *ops };

const Op *op_at(int index) { return index >= 0 && index < OPS ? ops[index] : NULL; }

const Op *op_find(const char *name) {
  for (int i = 0; i < OPS; i++)
    if (strcmp(ops[i]->name, name) == 0) return ops[i];
  return NULL;
}

const Op *op_find_in(const char *domain, const char *name) {
  for (int i = 0; i < OPS; i++)
    if (strcmp(ops[i]->name, name) == 0 && strcmp(ops[i]->domain ? ops[i]->domain : "", domain) == 0) return ops[i];
  return NULL;
}
