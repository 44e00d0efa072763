/* Finding an operator in the table, whatever its order. */
#include <string.h>

#include "ops/ops.h"

enum { SEEN_MAX = 1024 };
static bool seen[SEEN_MAX]; /* indexed by the row in the table */

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
    if (is_named(ops[i], name) && is_of(ops[i], domain, length)) return op_see(ops[i]), ops[i];
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

void op_see(const Op *op) {
  int count, i = 0;
  const Op *const *ops = op_table(&count);
  while (i < count && ops[i] != op) i++;
  if (i < count && i < SEEN_MAX) seen[i] = true;
}

void op_print_seen(TextBuilder *p) {
  for (int i = 0; i < SEEN_MAX && op_at(i); i++)
    if (seen[i]) text_print(p, "operator %s.%s\n", op_at(i)->domain ? op_at(i)->domain : "ai.onnx", op_at(i)->name);
}
