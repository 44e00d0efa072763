/* RegexFullMatch: whether all of each string is what the pattern says. */
#include "graph/expansion.h"
#include "graph/strings.h"
#include "ops/text/regular_expression.h"

static Status regex_full_match_expand(Expansion *c) {
  const Node *n = c->node;
  const char *pattern = node_string(n, "pattern", ""), *wrong;
  size_t count;
  const char *const *x = strings_of(n, 0, &count);
  if (!x) return c->graph->error->status;
  uint8_t *y = ARENA_ARRAY(c->graph->arena, uint8_t, count + 1);
  Arena scratch = {0};
  RegexWork work = {strings_spend, n};
  const Regex *r = regex_read(pattern, &work, &scratch, &wrong);
  for (size_t i = 0; r && y && i < count && strings_spend(n, WORK_STRING); i++)
    y[i] = regex_matches_all(r, strings_text(x[i]));
  bool failed = scratch.failed;
  arena_free(&scratch);
  if (failed || !y) return STATUS_OUT_OF_MEMORY;
  if (!r) return node_fail(n, STATUS_UNSUPPORTED_OP, "its pattern '%.100s' cannot be used: %s", pattern, wrong);
  TRY(strings_work(n, 0));
  return expand_done(c, strings_constant(c, DTYPE_BOOL, &n->in[0]->shape, y));
}

OPERATOR(regex_full_match) = {
    .name = "RegexFullMatch",
    .since = {20},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = regex_full_match_expand,
};
