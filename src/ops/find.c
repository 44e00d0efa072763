/* Finding an operator in the table, whatever its order. */
#include <string.h>

#include "ops/ops.h"

const Op *op_at(int index) {
  int count;
  const Op *const *ops = op_table(&count);
  return index >= 0 && index < count ? ops[index] : NULL;
}

static bool is_named(const Op *op, const char *name) { return op && *op->name == *name && strcmp(op->name, name) == 0; }

/* The domain's first `length` letters name it. */
static bool is_of(const Op *op, const char *domain, size_t length) {
  const char *own = op->domain ? op->domain : "";
  return strncmp(own, domain, length) == 0 && !own[length];
}

static const Op *find(const char *domain, size_t length, const char *name) {
  int count;
  const Op *const *ops = op_table(&count);
  for (int i = 0; i < count; i++)
    if (is_named(ops[i], name) && is_of(ops[i], domain, length)) return ops[i];
  return NULL;
}

const Op *op_find_in(const char *domain, const char *name) { return find(domain, strlen(domain), name); }

const Op *op_find(const char *name) {
  const char *dot = strrchr(name, '.');
  if (dot) return find(name, (size_t)(dot - name), dot + 1);
  int count, found = 0;
  const Op *const *ops = op_table(&count), *op = NULL;
  for (int i = 0; i < count; i++) {
    if (!is_named(ops[i], name)) continue;
    if (!ops[i]->domain) return ops[i];
    op = ops[i];
    found++;
  }
  return found == 1 ? op : NULL;
}
