/* Tokenizer (com.microsoft): the tokens of each string: the matches of an expression, what is between separators, or
 * letters. Each row has as many as the one with the most; the others end with the pad. */
#include "graph/expansion.h"
#include "graph/strings.h"
#include "ops/text/regular_expression.h"

typedef struct Span {
  const char *at, *end;
} Span;

typedef struct Spans {
  Span *items;
  int count, capacity;
} Spans;

typedef struct Tokenizer {
  const Node *n;
  Arena scratch;
  RegexWork work;
  const Regex *token;       /* NULL: by separators; neither: letters */
  const Regex **separators; /* one after another */
  int separator_count;
  int64_t least; /* letters of a token */
  Spans spans;   /* tokens of all rows */
  int *ends;     /* end of each row among the spans */
} Tokenizer;

static bool is_long(const Tokenizer *t, const char *at, const char *end) {
  int64_t count = 0;
  for (; at < end && count < t->least; count++) at = regex_next_letter(at);
  return count >= t->least;
}

static bool add(Tokenizer *t, Spans *to, const char *at, const char *end) {
  if (!is_long(t, at, end)) return true;
  if (!strings_spend(t->n, WORK_STRING)) return false;
  Span *items = arena_list_grow(&t->scratch, to->items, to->count, &to->capacity, sizeof *items);
  if (!items) return false;
  to->items = items;
  items[to->count++] = (Span){at, end};
  return true;
}

static bool add_letters(Tokenizer *t, const char *text) {
  for (const char *next; *text; text = next)
    if (!add(t, &t->spans, text, next = regex_next_letter(text))) return false;
  return true;
}

/* A match that is too short is passed by a letter. */
static bool add_matches(Tokenizer *t, const char *text) {
  const char *at, *end, *from = text;
  while (*from && regex_find(t->token, text, from, &at, &end)) {
    if (!add(t, &t->spans, at, end)) return false;
    from = is_long(t, at, end) ? end : *at ? regex_next_letter(at) : at;
  }
  return true;
}

/* The parts of a text between separators; one that is empty takes the letter after it. */
static bool cut(Tokenizer *t, const Regex *separator, const char *text, Spans *to) {
  const char *from = text, *at, *end;
  while (regex_find(separator, text, from, &at, &end)) {
    if (!add(t, to, from, at)) return false;
    from = end > at ? end : *at ? regex_next_letter(at) : at;
    if (end == at && !*at) return true;
  }
  return add(t, to, from, from + strlen(from));
}

/* Parts are copied, so that each ends where the next separator sees its end. */
static bool add_parts(Tokenizer *t, const char *text) {
  Spans parts = {0};
  if (!add(t, &parts, text, text + strlen(text))) return false;
  for (int k = 0; k < t->separator_count; k++) {
    Spans next = {0};
    for (int i = 0; i < parts.count; i++) {
      const char *part = arena_copy_part(&t->scratch, parts.items[i].at,
                                         (size_t)(parts.items[i].end - parts.items[i].at));
      if (!part || !cut(t, t->separators[k], part, &next)) return false;
    }
    parts = next;
  }
  for (int i = 0; i < parts.count; i++)
    if (!add(t, &t->spans, parts.items[i].at, parts.items[i].end)) return false;
  return true;
}

static Status read_expression(Tokenizer *t, const char *pattern, const Regex **out) {
  const char *wrong;
  if ((*out = regex_read(pattern, &t->work, &t->scratch, &wrong))) return STATUS_OK;
  if (t->scratch.failed) return STATUS_OUT_OF_MEMORY;
  return node_fail(t->n, STATUS_UNSUPPORTED_OP, "its expression '%.100s' cannot be used: %s", pattern, wrong);
}

static Status read_attributes(Tokenizer *t) {
  const Attr *separators = node_attr(t->n, "separators", ATTR_STRINGS);
  const char *token = node_string(t->n, "tokenexp", "");
  t->least = node_int(t->n, "mincharnum", 0);
  bool letters = separators ? separators->count == 1 && !*separators->strings[0] : strcmp(token, ".") == 0;
  if (t->least < 1 || (letters && t->least > 1))
    return node_invalid(t->n, "mincharnum is %lld, it must be 1%s", (long long)t->least, letters ? "" : " or more");
  if (separators ? !separators->count : !*token) return node_invalid(t->n, "it has neither tokenexp nor separators");
  if (letters) return STATUS_OK;
  if (!separators) return read_expression(t, token, &t->token);
  if (!(t->separators = ARENA_ARRAY(&t->scratch, const Regex *, separators->count))) return STATUS_OUT_OF_MEMORY;
  for (; t->separator_count < separators->count; t->separator_count++)
    TRY(read_expression(t, separators->strings[t->separator_count], &t->separators[t->separator_count]));
  return STATUS_OK;
}

static Status tokenize(Tokenizer *t, const char *const *x, size_t rows, int *width) {
  *width = 0;
  if (!(t->ends = ARENA_ARRAY(&t->scratch, int, rows))) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < rows; i++) {
    const char *text = strings_text(x[i]);
    int begin = t->spans.count;
    bool added = t->token ? add_matches(t, text) : t->separators ? add_parts(t, text) : add_letters(t, text);
    TRY(strings_work(t->n, strings_cost(text)));
    if (!added) return STATUS_OUT_OF_MEMORY;
    if (t->spans.count - begin > *width) *width = t->spans.count - begin;
    t->ends[i] = t->spans.count;
  }
  return STATUS_OK;
}

/* Start, tokens, end, pads. */
static Status write_rows(Tokenizer *t, Expansion *c, size_t rows, int width) {
  bool mark = width && node_int(t->n, "mark", 0);
  const char *pad = node_string(t->n, "pad_value", "");
  Arena *arena = c->graph->arena;
  Shape shape = t->n->in[0]->shape;
  size_t cells;
  shape.dim[shape.rank++] = width + 2 * mark;
  if (!shape_count(&shape, &cells)) return node_invalid(t->n, "its output is too large");
  const char **all = ARENA_ARRAY(arena, const char *, cells + 1), **to = all;
  for (size_t i = 0, k = 0; all && i < rows && width; i++) {
    const char **row_end = to + width + 2 * mark;
    if (mark) *to++ = "\x02";
    for (; k < (size_t)t->ends[i]; k++) {
      Span s = t->spans.items[k];
      TRY(strings_work(t->n, WORK_STRING));
      *to++ = arena_copy_part(arena, s.at, (size_t)(s.end - s.at));
    }
    if (mark) *to++ = "\x03";
    while (to < row_end) *to++ = pad;
  }
  if (!all || arena->failed) return STATUS_OUT_OF_MEMORY;
  return expand_done(c, strings_constant(c, DTYPE_STRING, &shape, all));
}

static Status tokenizer_expand(Expansion *c) {
  Tokenizer t = {.n = c->node, .work = {strings_spend, c->node}};
  size_t rows;
  int width;
  TRY(node_want_rank(c->node, 0, 1, 2));
  const char *const *x = strings_of(c->node, 0, &rows);
  if (!x) return c->graph->error->status;
  Status status = read_attributes(&t);
  if (status == STATUS_OK) status = tokenize(&t, x, rows, &width);
  if (status == STATUS_OK) status = write_rows(&t, c, rows, width);
  arena_free(&t.scratch);
  return status;
}

OPERATOR(tokenizer) = {
    .name = "Tokenizer",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = tokenizer_expand,
};
