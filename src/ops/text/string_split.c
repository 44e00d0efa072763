/* StringSplit: the parts of each string between delimiters, as many as the string with the most has (the others end
 * with empty ones), and how many each has. Without a delimiter, white space of any length is one. */
#include "graph/expansion.h"
#include "graph/strings.h"

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static const char *skip_space(const char *s) {
  while (is_space(*s)) s++;
  return s;
}

/* The end of the part that begins at `s`; *next: where the one after it begins, NULL: there is none. */
static const char *part_end(const char *s, const char *delimiter, const char **next) {
  const char *end = s;
  size_t length = strlen(delimiter);
  if (length) {
    while (*end && (*end != *delimiter || strncmp(end, delimiter, length) != 0)) end++;
    return *next = *end ? end + length : NULL, end;
  }
  while (*end && !is_space(*end)) end++;
  *next = skip_space(end);
  if (!**next) *next = NULL;
  return end;
}

/* Makes at most `most` parts; they go into `to` unless that is NULL, and count as work of n. */
static int64_t split(const char *s, const char *delimiter, int64_t most, const char **to, const Node *n) {
  int64_t count = 0;
  const char *next;
  if (!*delimiter) s = skip_space(s);
  if (!*s && !*delimiter) return 0;
  for (; s; s = next) {
    const char *end = part_end(s, delimiter, &next);
    if (count + 1 == most && next) end = s + strlen(s), next = NULL;
    while (!*delimiter && !next && end > s && is_space(end[-1])) end--;
    if (to && !strings_spend(n, WORK_STRING)) break;
    if (to) to[count] = arena_copy_part(n->graph->arena, s, (size_t)(end - s));
    count++;
  }
  return count;
}

static Status string_split_expand(Expansion *c) {
  const Node *n = c->node;
  Arena *arena = c->graph->arena;
  const char *delimiter = node_string(n, "delimiter", "");
  int64_t most = node_int(n, "maxsplit", INT64_MAX - 1) + 1, width = 0;
  Shape shape = n->in[0]->shape;
  size_t count, cells;
  const char *const *x = strings_of(n, 0, &count);
  int64_t *counts = x ? ARENA_ARRAY(arena, int64_t, count + 1) : NULL;
  if (!x || !counts) return x ? STATUS_OUT_OF_MEMORY : c->graph->error->status;
  if (shape.rank == RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output has more than %d dimensions", RANK_MAX);
  if (most < 1) return node_invalid(n, "maxsplit is %lld", (long long)(most - 1));
  double reads = *delimiter ? (double)strlen(delimiter)
                            : 1; /* reads of a letter, if most of the delimiter comes all along */
  for (size_t i = 0; i < count; i++) {
    TRY(strings_work(n, reads * strings_cost(x[i])));
    counts[i] = split(strings_text(x[i]), delimiter, most, NULL, n);
    if (counts[i] > width) width = counts[i];
  }
  c->out[1] = strings_constant(c, DTYPE_INT64, &shape, counts);
  shape.dim[shape.rank++] = width;
  if (!shape_count(&shape, &cells)) return node_invalid(n, "its output is too large");
  const char **all = ARENA_ARRAY(arena, const char *, cells + 1);
  for (size_t i = 0; all && i < count && strings_spend(n, 0); i++)
    split(strings_text(x[i]), delimiter, most, all + i * (size_t)width, n);
  TRY(strings_work(n, 0));
  return all && !arena->failed ? expand_done(c, strings_constant(c, DTYPE_STRING, &shape, all)) : STATUS_OUT_OF_MEMORY;
}

OPERATOR(string_split) = {
    .name = "StringSplit",
    .since = {20},
    .inputs = {1, 1},
    .outputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = string_split_expand,
};
