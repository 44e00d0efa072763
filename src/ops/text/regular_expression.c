/* Regular expression: read by descent into instructions, whose jumps are relative so that they can be moved. */
#include "ops/text/regular_expression.h"

#include <stdint.h>
#include <string.h>

typedef enum Kind { RANGES, SPLIT, JUMP, BEGIN, END, EDGE, NO_EDGE, MATCH } Kind;
enum { INSTRUCTIONS_MAX = 4096, RANGES_MAX = 4096, REPEATS_MAX = 1000, DEPTH_MAX = 100, CODE_MAX = 0x10FFFF };

typedef struct Instruction {
  Kind kind;
  int a, b; /* SPLIT: both ways, relative; JUMP: a; RANGES: the first of them and how many */
  bool negated;
} Instruction;

typedef struct Range {
  unsigned low, high;
} Range;

/* The places in the code at which a search is. */
typedef struct Places {
  int *at, count, reached;
  const char **from; /* the letter at which each began, in order */
} Places;

struct Regex {
  Instruction *code;
  Range *ranges;
  int count, range_count;
  Places places[2];
  int *seen; /* the last letter at which a place was added, counted from 1; by place */
  int *stack;
  RegexWork *work;
};

typedef struct Reader {
  Regex *r;
  const char *at;
  const char *wrong;
  int depth;
} Reader;

static bool refuse(Reader *in, const char *why) {
  if (!in->wrong) in->wrong = why;
  return false;
}

/* Decodes a UTF-8 letter; a byte that begins none counts as itself. */
static unsigned next_letter(const char **at) {
  const unsigned char *s = (const unsigned char *)*at;
  int more = *s >= 0xF0 ? 3 : *s >= 0xE0 ? 2 : *s >= 0xC2 ? 1 : 0;
  unsigned c = more ? *s & (0x3Fu >> more) : *s;
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xC0) != 0x80) return *at += 1, *s;
    c = c << 6 | (s[i] & 0x3Fu);
  }
  *at += more + 1;
  return c;
}

static bool put(Reader *in, Instruction i) {
  if (in->r->count == INSTRUCTIONS_MAX) return refuse(in, "it is too long");
  in->r->code[in->r->count++] = i;
  return true;
}

/* Before what begins at `start`. */
static bool put_before(Reader *in, int start, Instruction i) {
  Instruction *code = in->r->code;
  if (!put(in, i)) return false;
  memmove(code + start + 1, code + start, (size_t)(in->r->count - 1 - start) * sizeof *code);
  code[start] = i;
  return true;
}

/* ---- letters and classes ---- */

static bool put_range(Reader *in, unsigned low, unsigned high) {
  if (in->r->range_count == RANGES_MAX) return refuse(in, "its classes are too long");
  if (low > high) return refuse(in, "a range of its classes goes backwards");
  in->r->ranges[in->r->range_count++] = (Range){low, high};
  return true;
}

/* All letters that are in none of the ranges, which ascend. */
static bool put_others(Reader *in, const Range *ranges, int count) {
  unsigned low = 0;
  for (int i = 0; i < count; i++) {
    if (ranges[i].low > low && !put_range(in, low, ranges[i].low - 1)) return false;
    low = ranges[i].high + 1;
  }
  return put_range(in, low, CODE_MAX);
}

/* \d, \s, \w and their opposites; false when it is none of them. */
static bool put_class(Reader *in, char letter, bool *is_class) {
  static const Range digits[] = {{'0', '9'}}, spaces[] = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}},
                     words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  char small = (char)(letter | 0x20);
  const Range *ranges = small == 'd' ? digits : small == 's' ? spaces : words;
  int count = small == 'd' ? 1 : small == 's' ? 3 : 4;
  *is_class = letter && strchr("dDsSwW", letter) != NULL;
  if (!*is_class) return true;
  if (letter != small) return put_others(in, ranges, count);
  for (int i = 0; i < count; i++)
    if (!put_range(in, ranges[i].low, ranges[i].high)) return false;
  return true;
}

static int hex_digit(char c) {
  char small = (char)(c | 0x20);
  return c >= '0' && c <= '9' ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* \x41 or \x{1F600} */
static bool read_hex(Reader *in, unsigned *out) {
  bool braces = *in->at == '{';
  int count = 0;
  in->at += braces;
  for (*out = 0; count < (braces ? 6 : 2) && hex_digit(*in->at) >= 0; count++)
    *out = *out << 4 | (unsigned)hex_digit(*in->at++);
  if (!count || (!braces && count < 2) || (braces && *in->at++ != '}') || *out > CODE_MAX)
    return refuse(in, "it has an escape \\x without a number");
  return true;
}

/* The letter that stands after a backslash. */
static bool read_escape(Reader *in, unsigned *out) {
  static const char names[] = "tnrfva", letters[] = "\t\n\r\f\v\a";
  const char *name = *in->at ? strchr(names, *in->at) : NULL;
  bool letter = (*in->at | 0x20) >= 'a' && (*in->at | 0x20) <= 'z', digit = *in->at >= '0' && *in->at <= '9';
  if (*in->at == 'x') return in->at++, read_hex(in, out);
  if (!name && (!*in->at || letter || digit)) return refuse(in, "it has an escape that we do not read");
  *out = name ? (unsigned)letters[name - names] : (unsigned char)*in->at;
  if (name) return in->at++, true;
  *out = next_letter(&in->at);
  return true;
}

/* One letter of [ ], or a class. */
static bool read_member(Reader *in, unsigned *out, bool *is_class) {
  *is_class = false;
  if (!*in->at) return refuse(in, "it has a '[' without a ']'");
  if (*in->at != '\\') return *out = next_letter(&in->at), true;
  in->at++;
  if (!put_class(in, *in->at, is_class)) return false;
  return *is_class ? (in->at++, true) : read_escape(in, out);
}

static bool read_brackets(Reader *in) {
  int first = in->r->range_count;
  bool negated = *in->at == '^', is_class;
  in->at += negated;
  for (bool begun = false; *in->at != ']' || !begun; begun = true) {
    unsigned low = 0, high;
    if (in->at[0] == '[' && in->at[1] == ':') return refuse(in, "it has a class by name, which we do not read");
    if (!read_member(in, &low, &is_class)) return false;
    if (is_class) continue;
    high = low;
    if (in->at[0] == '-' && in->at[1] != ']') {
      in->at++;
      if (!read_member(in, &high, &is_class)) return false;
      if (is_class) return refuse(in, "a range of its classes has no end");
    }
    if (!put_range(in, low, high)) return false;
  }
  in->at++;
  return put(in, (Instruction){RANGES, first, in->r->range_count - first, negated});
}

/* ---- structure ---- */

static bool read_choice(Reader *in);

static bool is_word(unsigned c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

/* Returns the text after "<name>"; NULL if there is no such name. */
static const char *after_name(const char *at) {
  const char *name = at + 1;
  if (*at++ != '<') return NULL;
  while (is_word((uint8_t)*at)) at++;
  return at > name && *at == '>' ? at + 1 : NULL;
}

static bool read_group(Reader *in) {
  if (in->at[0] == '?') {
    const char *after = after_name(in->at[1] == 'P' ? in->at + 2 : in->at + 1);
    if (in->at[1] == ':') in->at += 2;
    else if (after) in->at = after;
    else return refuse(in, "it has a group with flags, which we do not read");
  }
  if (++in->depth > DEPTH_MAX) return refuse(in, "its groups are too deep");
  if (!read_choice(in)) return false;
  in->depth--;
  return *in->at++ == ')' || (in->at--, refuse(in, "it has a '(' without a ')'"));
}

static bool put_letter(Reader *in, unsigned c) {
  int first = in->r->range_count;
  return put_range(in, c, c) && put(in, (Instruction){RANGES, first, 1});
}

static bool read_backslash(Reader *in) {
  static const char places[] = "AzbB";
  static const Kind kinds[] = {BEGIN, END, EDGE, NO_EDGE};
  const char *place = *in->at ? strchr(places, *in->at) : NULL;
  int first = in->r->range_count;
  bool is_class;
  unsigned c = 0;
  if (place) return in->at++, put(in, (Instruction){kinds[place - places]});
  if (!put_class(in, *in->at, &is_class)) return false;
  if (is_class) return in->at++, put(in, (Instruction){RANGES, first, in->r->range_count - first});
  return read_escape(in, &c) && put_letter(in, c);
}

/* Its digits; anything above REPEATS_MAX is as much as one more. False when there are none. */
static bool read_number(const char **at, int *out) {
  const char *from = *at;
  for (*out = 0; **at >= '0' && **at <= '9'; ++*at)
    if (*out <= REPEATS_MAX) *out = *out * 10 + (**at - '0');
  return *at > from;
}

/* {least}, {least,} or {least,most}; most is -1 for any number. False when it is none of them, but a letter. */
static bool read_counts(const char **from, int *least, int *most) {
  const char *at = *from;
  if (*at++ != '{' || !read_number(&at, least)) return false;
  *most = *least;
  if (*at == ',' && *++at == '}') *most = -1;
  else if (at[-1] == ',' && !read_number(&at, most)) return false;
  if (*at != '}') return false;
  return *from = at + 1, true;
}

static bool read_atom(Reader *in) {
  const char *counts = in->at;
  int least, most;
  if (read_counts(&counts, &least, &most)) return refuse(in, "it repeats nothing");
  switch (*in->at) {
    case '(': return in->at++, read_group(in);
    case '[': return in->at++, read_brackets(in);
    case '^': return in->at++, put(in, (Instruction){BEGIN});
    case '$': return in->at++, put(in, (Instruction){END});
    case '\\': return in->at++, read_backslash(in);
    case '*':
    case '+':
    case '?': return refuse(in, "it repeats nothing");
    case '.': {
      int first = in->r->range_count;
      return in->at++, put_range(in, '\n', '\n') && put(in, (Instruction){RANGES, first, 1, true});
    }
    default: return put_letter(in, next_letter(&in->at));
  }
}

/* Repeats the part that begins at `start` any number of times; with `once`, at least once. */
static bool put_loop(Reader *in, int start, bool once) {
  int length = in->r->count - start;
  if (once) return put(in, (Instruction){SPLIT, -length, 1});
  return put_before(in, start, (Instruction){SPLIT, 1, length + 2}) && put(in, (Instruction){JUMP, -length - 1});
}

static bool put_maybe(Reader *in, int start) {
  return put_before(in, start, (Instruction){SPLIT, 1, in->r->count - start + 1});
}

/* The atom at `from`, which was read once already, again and again. */
static bool put_counted(Reader *in, const char *from, int start, int least, int most) {
  const char *after = in->at;
  if (least > REPEATS_MAX || most > REPEATS_MAX || (most >= 0 && most < least))
    return refuse(in, "it repeats too often, or from more to fewer times");
  in->r->count = start;
  for (int i = 0; i < (most < 0 ? least + !least : most); i++) {
    int copy = in->r->count;
    in->at = from;
    if (!read_atom(in)) return false;
    if (most < 0 && i + 1 >= least && !put_loop(in, copy, least > 0)) return false;
    if (most >= 0 && i >= least && !put_maybe(in, copy)) return false;
  }
  return in->at = after, true;
}

static bool read_repeated(Reader *in) {
  const char *from = in->at;
  int start = in->r->count, least, most;
  if (!read_atom(in)) return false;
  bool counted = read_counts(&in->at, &least, &most);
  if (counted) {
    if (!put_counted(in, from, start, least, most)) return false;
  } else if (*in->at == '*' || *in->at == '+') {
    if (!put_loop(in, start, *in->at++ == '+')) return false;
  } else if (*in->at == '?') {
    in->at++;
    if (!put_maybe(in, start)) return false;
  } else return true;
  in->at += *in->at == '?'; /* the shorter first: all the same where all is matched */
  return true;
}

/* a|b:  split 1, 3   a   jump 2   b */
static bool read_choice(Reader *in) {
  int start = in->r->count;
  while (*in->at && *in->at != '|' && *in->at != ')')
    if (!read_repeated(in)) return false;
  if (*in->at != '|') return true;
  in->at++;
  if (++in->depth > DEPTH_MAX) return refuse(in, "it has too many alternatives");
  if (!put_before(in, start, (Instruction){SPLIT, 1, in->r->count - start + 2})) return false;
  int jump = in->r->count;
  if (!put(in, (Instruction){JUMP}) || !read_choice(in)) return false;
  in->r->code[jump].a = in->r->count - jump;
  in->depth--;
  return true;
}

static bool make_room(Regex *r, Arena *arena) {
  size_t count = (size_t)r->count;
  for (int i = 0; i < 2; i++) {
    r->places[i] = (Places){ARENA_ARRAY(arena, int, count), .from = ARENA_ARRAY(arena, const char *, count)};
    if (!r->places[i].at || !r->places[i].from) return false;
  }
  r->seen = ARENA_ARRAY(arena, int, count);
  r->stack = ARENA_ARRAY(arena, int, 2 * count + 2);
  return r->seen && r->stack;
}

const Regex *regex_read(const char *pattern, RegexWork *work, Arena *arena, const char **wrong) {
  Regex *r = ARENA_NEW(arena, Regex);
  *wrong = "out of memory";
  if (!r || !(r->code = ARENA_ARRAY(arena, Instruction, INSTRUCTIONS_MAX)) ||
      !(r->ranges = ARENA_ARRAY(arena, Range, RANGES_MAX)))
    return NULL;
  r->work = work;
  Reader in = {r, pattern};
  if (read_choice(&in) && *in.at) refuse(&in, "it has a ')' without a '('");
  if (!in.wrong) put(&in, (Instruction){MATCH});
  if (!in.wrong && !make_room(r, arena)) refuse(&in, "out of memory");
  *wrong = in.wrong;
  return in.wrong ? NULL : r;
}

/* ---- matching ---- */

static bool holds(Kind kind, unsigned before, unsigned next, bool begins) {
  bool edge = (!begins && is_word(before)) != is_word(next);
  return kind == BEGIN ? begins : kind == END ? !next : kind == EDGE ? edge : !edge;
}

/* A letter of the text, or its end. */
typedef struct Position {
  const char *at;
  int step;              /* from 1 */
  unsigned before, next; /* letters, 0 at an end */
  bool begins;           /* the text */
} Position;

/* Adds all places that are reached from the first one without a letter. */
static void add_place(const Regex *r, Places *p, int first, const char *from, const Position *here) {
  int depth = 0;
  r->stack[depth++] = first;
  while (depth) {
    int at = r->stack[--depth];
    const Instruction *i = &r->code[at];
    p->reached++;
    if (r->seen[at] == here->step) continue;
    r->seen[at] = here->step;
    if (i->kind == SPLIT) r->stack[depth++] = at + i->b;
    if (i->kind == SPLIT || i->kind == JUMP) r->stack[depth++] = at + i->a;
    else if (i->kind == RANGES || i->kind == MATCH) p->at[p->count] = at, p->from[p->count++] = from;
    else if (holds(i->kind, here->before, here->next, here->begins)) r->stack[depth++] = at + 1;
  }
}

static bool takes(const Regex *r, const Instruction *i, unsigned c) {
  bool found = false;
  for (int k = 0; k < i->b && !found; k++) found = c >= r->ranges[i->a + k].low && c <= r->ranges[i->a + k].high;
  return i->kind == RANGES && found != i->negated;
}

static unsigned peek(const char *text) { return *text ? next_letter(&text) : 0; }

/* A match that begins earlier than the best so far, or ends later: those that began after it are dropped. */
static void take_matches(const Regex *r, Places *now, const char *here, const char **begin, const char **end) {
  for (int k = 0; k < now->count; k++) {
    if (r->code[now->at[k]].kind != MATCH) continue;
    *begin = now->from[k];
    *end = here;
    while (now->from[now->count - 1] > *begin) now->count--;
  }
}

static void advance(const Regex *r, const Places *now, Places *then, Position *here) {
  unsigned c = here->before = next_letter(&here->at);
  here->next = peek(here->at);
  here->begins = false;
  here->step++;
  then->count = 0;
  for (int k = 0; k < now->count; k++)
    if (takes(r, &r->code[now->at[k]], c)) add_place(r, then, now->at[k] + 1, now->from[k], here);
}

enum { WORK_PLACE = 32, WORK_RANGE = 4 };

static bool may_go_on(const Regex *r, Places *now) {
  double work = WORK_PLACE * (1.0 + now->reached);
  for (int k = 0; k < now->count; k++)
    if (r->code[now->at[k]].kind == RANGES) work += WORK_RANGE * r->code[now->at[k]].b;
  now->reached = 0;
  return !r->work || r->work->spend(r->work->context, work);
}

/* The leftmost match, and of these the longest. */
static bool find(const Regex *r, const char *text, const char *from, bool anchored, const char **begin,
                 const char **end) {
  Places now = r->places[0], then = r->places[1];
  Position here = {from, 1, from > text ? (unsigned char)from[-1] : 0, peek(from), from == text};
  now.reached = r->count;
  memset(r->seen, 0, (size_t)r->count * sizeof *r->seen);
  *begin = NULL;
  for (;;) {
    if (!*begin && (!anchored || here.at == from)) add_place(r, &now, 0, here.at, &here);
    take_matches(r, &now, here.at, begin, end);
    if (!*here.at || (!now.count && (*begin || anchored))) return *begin != NULL;
    if (!may_go_on(r, &now)) return false;
    advance(r, &now, &then, &here);
    Places swapped = now;
    now = then, then = swapped;
  }
}

bool regex_matches_all(const Regex *r, const char *text) {
  const char *begin, *end;
  return find(r, text, text, true, &begin, &end) && !*end;
}

bool regex_find(const Regex *r, const char *text, const char *from, const char **begin, const char **end) {
  return find(r, text, from, false, begin, end);
}

const char *regex_next_letter(const char *at) { return next_letter(&at), at; }
