/* StringNormalizer: strings in upper or lower case (Latin, Greek and Cyrillic letters), without stop words; one empty
 * string if none is left. */
#include <stdlib.h>

#include "graph/strings.h"

typedef unsigned Letter(unsigned c);

static unsigned as_it_is(unsigned c) { return c; }

static unsigned lower(unsigned c) {
  bool by_32 = (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
               (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) || (c >= 0x410 && c <= 0x42F);
  bool even = (c >= 0x100 && c <= 0x137 && (c & ~1u) != 0x130) ||
              (c >= 0x14A && c <= 0x177); /* capitals have even numbers */
  bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  if (by_32) return c + 32;
  if (c >= 0x400 && c <= 0x40F) return c + 80;
  return (even && !(c & 1)) || (odd && c & 1) ? c + 1 : c;
}

static unsigned upper(unsigned c) {
  static const unsigned distances[] = {32, 80, 1};
  for (int i = 0; i < 3; i++)
    if (c > distances[i] && lower(c - distances[i]) == c) return c - distances[i];
  return c;
}

/* UTF-8: these letters have one byte or two, and keep their number. */
static const char *with_letters(const char *text, Letter *letter, Arena *arena) {
  char *s = arena_copy_text(arena, text);
  for (unsigned char *at = (unsigned char *)s; s && *at; at++) {
    if (*at < 0x80) *at = (unsigned char)letter(*at);
    else if (*at >= 0xC2 && *at < 0xE0 && (at[1] & 0xC0) == 0x80) {
      unsigned c = letter((*at & 0x1Fu) << 6 | (at[1] & 0x3Fu));
      at[0] = (unsigned char)(0xC0 | c >> 6);
      *++at = (unsigned char)(0x80 | (c & 0x3F));
    }
  }
  return s;
}

typedef struct StopWords {
  Letter *compared; /* words and texts are compared in these letters */
  const char **sorted;
  int count;
  Arena arena;
} StopWords;

static int by_letters(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool read_stopwords(StopWords *to, const Node *n) {
  const Attr *words = node_attr(n, "stopwords", ATTR_STRINGS);
  to->compared = node_int(n, "is_case_sensitive", 0) ? as_it_is : lower;
  to->count = words ? words->count : 0;
  if (!(to->sorted = ARENA_ARRAY(&to->arena, const char *, to->count + 1))) return false;
  for (int i = 0; i < to->count; i++)
    if (!(to->sorted[i] = with_letters(words->strings[i], to->compared, &to->arena))) return false;
  qsort(to->sorted, (size_t)to->count, sizeof *to->sorted, by_letters);
  return true;
}

static bool is_stopword(const StopWords *words, const char *text) {
  Arena scratch = {0};
  const char *own = with_letters(text, words->compared, &scratch);
  bool found = own && bsearch(&own, words->sorted, (size_t)words->count, sizeof own, by_letters);
  arena_free(&scratch);
  return found;
}

static Status find_action(const Node *n, Letter **letter) {
  const char *action = node_string(n, "case_change_action", "NONE");
  *letter = strcmp(action, "LOWER") == 0 ? lower : strcmp(action, "UPPER") == 0 ? upper : as_it_is;
  if (*letter != as_it_is || strcmp(action, "NONE") == 0) return STATUS_OK;
  return node_invalid(n, "case_change_action is '%.40s', it must be LOWER, UPPER or NONE", action);
}

static Status string_normalizer_expand(Expansion *c) {
  const Node *n = c->node;
  Shape shape = n->in[0]->shape;
  size_t count, kept = 0;
  Letter *letter;
  TRY(find_action(n, &letter));
  if (shape.rank != 1 && (shape.rank != 2 || shape.dim[0] != 1))
    return node_invalid(n, "its input must be of shape (C) or (1, C)");
  const char *const *x = strings_of(n, 0, &count);
  const char **all = x ? ARENA_ARRAY(c->graph->arena, const char *, count + 1) : NULL;
  if (!x || !all) return x ? STATUS_OUT_OF_MEMORY : c->graph->error->status;
  StopWords words = {0};
  bool made = read_stopwords(&words, n);
  for (size_t i = 0; made && i < count; i++) {
    const char *text = strings_text(x[i]);
    if (!strings_spend(n, 2 * strings_cost(text))) break;
    if (words.count && is_stopword(&words, text)) continue;
    made = (all[kept++] = with_letters(text, letter, c->graph->arena)) != NULL;
  }
  arena_free(&words.arena);
  if (!made) return STATUS_OUT_OF_MEMORY;
  TRY(strings_work(n, 0));
  if (!kept) all[kept++] = "";
  shape.dim[shape.rank - 1] = (Dim)kept;
  return c->out[0] = strings_constant(c, DTYPE_STRING, &shape, all), c->graph->error->status;
}

OPERATOR(string_normalizer) = {
    .name = "StringNormalizer",
    .since = {10},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = string_normalizer_expand,
};
