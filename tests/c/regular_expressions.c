/* Regular expressions against others': in `common` is what RE2 and Python's re read alike, its answers are those of
 * re.fullmatch(pattern, text, re.ASCII); in `own` what Python lacks or means otherwise. Go's regexp, which reads RE2's
 * syntax, gives the same answers to both. And patterns that are refused, each with words of its sentence. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "ops/text/regular_expression.h"

/* Texts of which all is matched, and texts of which it is not. */
typedef struct Row {
  const char *pattern, *yes[10], *no[8];
} Row;

static const Row common[] = {
    /* letters */
    {"", {""}, {"a"}},
    {"abc", {"abc"}, {"ab", "abcd", "xabc"}},
    {"a", {NULL}, {"A"}},
    {"-", {"-"}},
    {"]", {"]"}},
    {"}", {"}"}},
    {"a b", {"a b"}},
    {".", {"a", "\r"}, {"", "\n"}},
    {"a.c", {"a\tc"}},
    {"...", {NULL}, {"ab"}},
    /* UTF-8: of two, three and four bytes */
    {"é", {"é"}, {"è"}},
    {".", {"é", "€", "😀"}},
    {"..", {NULL}, {"é", "€"}},
    {"...", {NULL}, {"😀"}},
    {".",
     {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}}, /* U+80 … */
    {"€+", {"€€€"}},
    {"😀?", {""}},
    {"[é€]", {"€"}, {"ê"}},
    {"[à-ü]+", {"éèê"}},
    {"[à-ü]", {NULL}, {"ÿ"}},
    {"[😀-😆]", {"😃"}, {"😇"}},
    {"[^é]", {"😀"}, {"é"}},
    {"[^a]", {"€"}},
    {"ß|ẞ", {"ẞ"}, {"s"}},
    {"日本?語", {"日語"}, {"日本本語"}},
    /* classes in brackets */
    {"[abc]", {"b"}, {"d", ""}},
    {"[a-c]", {"b"}, {"-"}},
    {"[a-cx-z]", {"y"}, {"m"}},
    {"[^a-c]", {"d"}, {"a"}},
    {"[^a]", {"\n"}, {""}},
    {"[]a]", {"]", "a"}},
    {"[^]a]", {"b"}, {"]"}},
    {"[a-]", {"-"}, {"b"}},
    {"[-a]", {"-"}},
    {"[a^]", {"^"}},
    {"[\\^a]", {"^"}},
    {"[\\]]", {"]"}},
    {"[\\-a]", {"-"}},
    {"[\\\\]", {"\\"}},
    {"[.]", {"."}, {"a"}},
    {"[[a]", {"[", "a"}, {"[a"}},
    {"[*+?]", {"?"}},
    {"[(|)]", {"|"}},
    {"[$]", {"$"}},
    {"[a-a]", {"a"}},
    {"[+--]", {","}},
    {"[a-c-e]", {"-"}, {"d"}},
    {"[\\t-\\r]", {"\n"}, {" "}},
    {"[a:]", {":"}},
    {"[:a]", {":"}},
    /* classes by letter */
    {"\\d", {"7"}, {"a"}},
    {"\\D", {"a", "é"}, {"7"}},
    {"\\s", {" ", "\t", "\n", "\f", "\r"}, {"x"}},
    {"\\S", {"x", "€"}, {" "}},
    {"\\w", {"a", "Z", "0", "_"}, {"-", "é"}},
    {"\\W", {"é", "@", "`", "[", "{", "/", ":"}, {"_"}},
    {"[\\d]", {"5"}},
    {"[\\da-f]+", {"1a9f"}, {"1g"}},
    {"[^\\d]", {"x"}, {"5"}},
    {"[\\D]", {NULL}, {"5"}},
    {"[^\\D]", {"5"}, {"x"}},
    {"[\\s\\d]+", {"1 2\t3"}},
    {"[\\W\\d]", {"4"}, {"a"}},
    {"[^\\s\\w]", {"-"}, {"a"}},
    {"[\\S\\s]", {"\n"}},
    {"[\\w-]+", {"a-b"}},
    {"[\\w.]+@[\\w.]+", {"a.b@c.d"}, {"a.b@"}},
    /* escapes */
    {"\\.", {"."}, {"a"}},
    {"\\*\\+\\?", {"*+?"}},
    {"\\(\\)", {"()"}},
    {"\\[\\]", {"[]"}},
    {"\\{\\}", {"{}"}},
    {"\\^\\$\\|", {"^$|"}},
    {"\\\\", {"\\"}},
    {"\\t\\n\\r", {"\t\n\r"}},
    {"\\f\\v\\a", {"\f\v\a"}},
    {"\\t", {NULL}, {"t"}},
    {"\\-", {"-"}},
    {"\\/", {"/"}},
    {"\\x41", {"A"}, {"a"}},
    {"\\x4a", {"J"}},
    {"\\x4A", {"J"}},
    {"\\xe9", {"é"}},
    {"\\x411", {"A1"}},
    {"[\\x41-\\x43]", {"B"}, {"D"}},
    {"[\\n]", {"\n"}, {"n"}},
    {"\\x2a*", {"***"}},
    /* repeats */
    {"a*", {"", "aaaa"}, {"aab"}},
    {"a+", {"a", "aaa"}, {""}},
    {"a?", {"", "a"}, {"aa"}},
    {"a*?", {"aaa"}},
    {"a+?", {NULL}, {""}},
    {"a+?b", {"aab"}},
    {"a??b", {"ab"}, {"aab"}},
    {"a{3}", {"aaa"}, {"aa", "aaaa"}},
    {"a{2,}", {"aa", "aaaaa"}, {"a"}},
    {"a{0,}", {"", "aa"}},
    {"a{1,}", {"aa"}, {""}},
    {"a{1,3}", {"aaa"}, {"", "aaaa"}},
    {"a{0}", {""}, {"a"}},
    {"a{0}b", {"b"}},
    {"a{0,2}", {""}, {"aaa"}},
    {"a{2}?", {"aa"}},
    {"a{2,}?", {"aaa"}},
    {"a{1,2}?b", {"aab"}},
    {"a{10}", {"aaaaaaaaaa"}, {"aaaaaaaaa"}},
    {"(ab){2}", {"abab"}, {"aba"}},
    {"(ab|c){2,3}", {"cabc"}, {"abab "}},
    {"[ab]{2}c", {"bac"}},
    {"(a{2}){2}", {"aaaa"}, {"aaa"}},
    {"(a*)*", {"aaa"}},
    {"(a*)+b", {"b"}},
    {"(a|b)*c", {"ababc"}, {"abab"}},
    {"(a*b)+", {"aabab"}},
    {"(a?)*b", {"aab"}},
    {"(|a)+", {"aa"}},
    {"(a+)+b", {NULL}, {"aaaaaaaaaaaaaaaaaaaaaaaac"}},
    {"a{", {"a{"}},
    {"a{}", {"a{}"}},
    {"a{b}", {"a{b}"}},
    {"a{1", {"a{1"}},
    {"a{1,", {"a{1,"}},
    {"a{1,b}", {"a{1,b}"}},
    {"a{1,2", {"a{1,2"}},
    {"a{1b}", {"a{1b}"}},
    {"{", {"{"}},
    {"a{-1}", {"a{-1}"}},
    {"\\d{4}-\\d{2}-\\d{2}", {"2024-02-29"}, {"2024-2-29"}},
    /* groups and alternatives */
    {"(a)", {"a"}},
    {"()", {""}, {"a"}},
    {"a(b)c", {"abc"}},
    {"(?:ab)+", {"abab"}, {"aba"}},
    {"(?P<name>a)b", {"ab"}},
    {"(?P<name>a|b)", {NULL}, {"c"}},
    {"a|b", {"a", "b"}, {"c", "ab"}},
    {"a|bc|d", {"bc"}, {"bd"}},
    {"ab|a", {"a"}},
    {"a|ab", {"ab"}},
    {"(a|ab)(c|bcd)", {"abcd", "abc"}, {"ab"}},
    {"|a", {""}},
    {"a|", {"", "a"}},
    {"a||b", {""}},
    {"(a|)b", {"b"}},
    {"((a)|(b))((c))", {"bc"}},
    {"x(a|b|)y", {"xy"}},
    {"(0|1(01*0)*1)*", {"110"}, {"111"}},
    {"(red|green) (cat|dog)s?", {"green dogs"}, {"greendogs"}},
    /* places */
    {"^a$", {"a"}},
    {"^a", {"a"}},
    {"a$", {"a"}},
    {"a^", {NULL}, {"a"}},
    {"$a", {NULL}, {"a"}},
    {"^$", {""}},
    {"^^a$$", {"a"}},
    {"a^b", {NULL}, {"ab"}},
    {"a$b", {NULL}, {"ab"}},
    {"(^a|b)+", {"ab"}, {"ba"}},
    {"(a$|b)+", {"ba"}, {"ab"}},
    {"\\Aa", {"a"}},
    {"a\\Ab", {NULL}, {"ab"}},
    {"(\\Aa|b)*", {NULL}, {"bba"}},
    {"\\ba\\b", {"a"}},
    {"a\\bb", {NULL}, {"ab"}},
    {"a\\b-", {"a-"}},
    {"a\\b ", {"a "}},
    {"-\\b-", {NULL}, {"--"}},
    {"-\\ba", {"-a"}},
    {"a\\Bb", {"ab"}},
    {"a\\B-", {NULL}, {"a-"}},
    {"-\\B-", {"--"}},
    {"\\B-\\B", {"-"}},
    {"\\b-", {NULL}, {"-"}},
    {"\\Ba", {NULL}, {"a"}},
    {"\\w+\\b \\b\\w+", {"hello world"}},
    {"Z\\b@", {"Z@"}},
    {"_\\b\\{", {"_{"}},
    {"9\\b:", {"9:"}},
    {"0\\B_", {"0_"}},
    {"z\\b\\{", {"z{"}},
    {"A\\Ba", {"Aa"}},
    {"é\\bz", {"éz"}},
    {"é\\b", {NULL}, {"é"}},
    {"(\\b\\w+\\b ?)+", {"a bc d"}},
};

static const Row own[] = {
    {"(?<name>a)b", {"ab"}},
    {"\\x{41}", {"A"}},
    {"\\x{1F600}", {"😀"}, {"😁"}},
    {"\\x{20ac}", {"€"}},
    {"\\x{10FFFF}", {"\xF4\x8F\xBF\xBF"}},
    {"[\\x{1F600}-\\x{1F606}]", {"😃"}},
    {"a\\z", {"a"}},
    {"a\\zb", {NULL}, {"ab"}},
    {"(a\\z|b)+", {"ba"}, {"ab"}},
    {"a$\n", {NULL}, {"a\n"}},
    {"a$\n?", {NULL}, {"a\n"}},
    {"\\s", {NULL}, {"\v"}},
    {"\\S", {"\v"}},
};

/* REPEATS_MAX is RE2's limit as well; the other limits are ours. */
static const struct {
  const char *pattern, *words;
} wrong[] = {
    {"*", "repeats nothing"},
    {"+a", "repeats nothing"},
    {"a|?", "repeats nothing"},
    {"(*a)", "repeats nothing"},
    {"a**", "repeats nothing"},
    {"a+*", "repeats nothing"},
    {"a?+", "repeats nothing"},
    {"a{2}*", "repeats nothing"},
    {"a*??", "repeats nothing"},
    {"^|*", "repeats nothing"},
    {"(", "'(' without a ')'"},
    {"(a", "'(' without a ')'"},
    {"a(b|c", "'(' without a ')'"},
    {"((a)", "'(' without a ')'"},
    {"(?:a", "'(' without a ')'"},
    {")", "')' without a '('"},
    {"a)b", "')' without a '('"},
    {"(a))", "')' without a '('"},
    {"a|b)", "')' without a '('"},
    {"[", "'[' without a ']'"},
    {"[a", "'[' without a ']'"},
    {"[]", "'[' without a ']'"},
    {"[^]", "'[' without a ']'"},
    {"[a-", "'[' without a ']'"},
    {"[^", "'[' without a ']'"},
    {"[\\d", "'[' without a ']'"},
    {"[[:alpha:]]", "class by name"},
    {"[a[:digit:]]", "class by name"},
    {"[b-a]", "goes backwards"},
    {"[é-a]", "goes backwards"},
    {"[\\x42-\\x41]", "goes backwards"},
    {"[a-\\d]", "has no end"},
    {"[a-\\W]", "has no end"},
    {"\\", "escape that we do not read"},
    {"a\\", "escape that we do not read"},
    {"[\\", "escape that we do not read"},
    {"[a\\", "escape that we do not read"},
    {"[a-\\", "escape that we do not read"},
    {"\\1", "escape that we do not read"},
    {"\\9", "escape that we do not read"},
    {"\\pL", "escape that we do not read"},
    {"\\PN", "escape that we do not read"},
    {"\\Q.\\E", "escape that we do not read"},
    {"\\Z", "escape that we do not read"},
    {"[\\b]", "escape that we do not read"},
    {"[\\pL]", "escape that we do not read"},
    {"[\\0]", "escape that we do not read"},
    {"\\y", "escape that we do not read"},
    {"\\C", "escape that we do not read"},
    {"\\x", "\\x without a number"},
    {"\\x4", "\\x without a number"},
    {"\\xg1", "\\x without a number"},
    {"\\x4g", "\\x without a number"},
    {"\\x{", "\\x without a number"},
    {"\\x{}", "\\x without a number"},
    {"\\x{41", "\\x without a number"},
    {"\\x{4g}", "\\x without a number"},
    {"\\x{110000}", "\\x without a number"},
    {"\\x{1234567}", "\\x without a number"},
    {"[\\x]", "\\x without a number"},
    {"\\x:0", "\\x without a number"},
    {"\\x/0", "\\x without a number"},
    {"(?i)a", "group with flags"},
    {"(?i:a)", "group with flags"},
    {"(?=a)", "group with flags"},
    {"(?!a)", "group with flags"},
    {"(?<=a)b", "group with flags"},
    {"(?<=a)b>c)", "group with flags"},
    {"(?<!x)a|>b)", "group with flags"},
    {"(?<a b>c)", "group with flags"},
    {"(?P<>c)", "group with flags"},
    {"a{2}{3}", "it repeats nothing"},
    {"{2}", "it repeats nothing"},
    {"a|{2,}", "it repeats nothing"},
    {"(?P=name)", "group with flags"},
    {"(?", "group with flags"},
    {"(?P", "group with flags"},
    {"(?P<name", "group with flags"},
    {"(?<name", "group with flags"},
    {"(?P>a)", "group with flags"},
    {"(?#a)", "group with flags"},
    {"a{1001}", "repeats too often"},
    {"a{1001,}", "repeats too often"},
    {"a{1,1001}", "repeats too often"},
    {"a{99999999999999999999}", "repeats too often"},
    {"a{2,1}", "from more to fewer"},
    {"(a{5,4})", "from more to fewer"},
    {"(a{1000}){5}", "too long"},
    {"((a{0,1000}){0,3})", "too long"},
    {"([a-cx]{900}b){5}", "too long"},
};

static size_t check_texts(const Row *row, const Regex *r, bool matches) {
  Arena arena = {0};
  const char *const *texts = matches ? row->yes : row->no, *const *text = texts;
  for (; *text; text++)
    check(regex_matches_all(r, *text) == matches, "'%s' %s '%s'", row->pattern, matches ? "does not match" : "matches",
          *text);
  arena_free(&arena);
  return (size_t)(text - texts);
}

static void check_rows(const Row *rows, size_t count) {
  size_t texts = 0;
  for (const Row *row = rows; row < rows + count; row++) {
    Arena arena = {0};
    const char *why = NULL;
    const Regex *r = regex_read(row->pattern, NULL, &arena, &why);
    if (check(r != NULL, "'%s' is refused: %s", row->pattern, why ? why : "without a sentence"))
      texts += check_texts(row, r, true) + check_texts(row, r, false);
    arena_free(&arena);
  }
  test_note("%zu patterns, %zu texts", count, texts);
}

static void as_python_says(const void *argument) { check_rows(common, sizeof common / sizeof *common); }
static void as_re2_says(const void *argument) { check_rows(own, sizeof own / sizeof *own); }

static void refuses(const char *pattern, const char *words) {
  Arena arena = {0};
  const char *why = NULL;
  const Regex *r = regex_read(pattern, NULL, &arena, &why);
  if (check(r == NULL && why, "'%.60s' is read", pattern))
    check(strstr(why, words) && why[strlen(why) - 1] != '.', "of '%.60s' it says: %s", pattern, why);
  arena_free(&arena);
}

static void wrong_patterns_are_refused(const void *argument) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) refuses(wrong[i].pattern, wrong[i].words);
  test_note("%zu patterns", sizeof wrong / sizeof *wrong);
}

/* `before`, the unit `count` times, `after`. */
static const char *repeated(Arena *arena, const char *before, const char *unit, int count, const char *after) {
  char *text = arena_alloc(arena, strlen(before) + strlen(unit) * (size_t)count + strlen(after) + 1), *at = text;
  at += sprintf(at, "%s", before);
  for (int i = 0; i < count; i++) at += sprintf(at, "%s", unit);
  sprintf(at, "%s", after);
  return text;
}

/* Patterns at the limits are read, one more or a few are refused, wherever the last one fails. */
static void long_patterns_are_refused(const void *argument) {
  static const struct {
    const char *before, *unit, *after;
    int most;
    const char *words;
  } rows[] = {
      {"", "^", "", 4095, "too long"},      {"", "^", "*", 4093, "too long"},    {"", "^", "+", 4094, "too long"},
      {"", "^", "?", 4094, "too long"},     {"[", "b", "]", 4096, "classes"},    {"[\\w", "b", "]", 4092, "classes"},
      {"[", "b", "\\d]", 4095, "classes"},  {"[", "b", "\\D]", 4094, "classes"}, {"[", "b", "].", 4095, "classes"},
      {"[", "b", "]c", 4095, "classes"},    {"[", "b", "]\\S", 4092, "classes"}, {"", "a|", "a", 100, "alternatives"},
      {"[", "b", "]\\s", 4093, "classes"},  {"", "^", ".", 4094, "too long"},    {"", "^", "a", 4094, "too long"},
      {"", "^", "\\d", 4094, "too long"},   {"", "^", "|", 4093, "too long"},    {"", "^", "a{1,2}", 4092, "too long"},
      {"", "^", "a{1,}", 4093, "too long"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Arena arena = {0};
    const char *why = NULL, *fits = repeated(&arena, rows[i].before, rows[i].unit, rows[i].most, rows[i].after);
    check(regex_read(fits, NULL, &arena, &why) != NULL, "%d of '%s' are refused: %s", rows[i].most, rows[i].unit, why);
    for (int more = 1; more <= 4; more++)
      refuses(repeated(&arena, rows[i].before, rows[i].unit, rows[i].most + more, rows[i].after), rows[i].words);
    arena_free(&arena);
  }
}

static void deep_groups_are_refused(const void *argument) {
  for (int depth = 100; depth <= 101; depth++) {
    Arena arena = {0};
    const char *why = NULL, *pattern = repeated(&arena, "", "(", depth, repeated(&arena, "a", ")", depth, ""));
    if (depth > 100) refuses(pattern, "groups are too deep");
    else check(regex_read(pattern, NULL, &arena, &why) != NULL, "%d groups are refused: %s", depth, why);
    arena_free(&arena);
  }
}

/* (a?)ⁿaⁿ takes a machine that goes back 2ⁿ steps. */
static void time_does_not_explode(const void *argument) {
  Arena arena = {0};
  const char *why = NULL;
  const Regex *r = regex_read("(a?){60}a{60}", NULL, &arena, &why);
  if (check(r != NULL, "%s", why)) {
    check(regex_matches_all(r, repeated(&arena, "", "a", 60, "")), "60 are not matched");
    check(regex_matches_all(r, repeated(&arena, "", "a", 120, "")), "120 are not matched");
    check(!regex_matches_all(r, repeated(&arena, "", "a", 121, "")), "121 are matched");
    check(!regex_matches_all(r, repeated(&arena, "", "a", 59, "")), "59 are matched");
  }
  arena_free(&arena);
}

/* A byte that begins no letter, or whose letter ends early, is one letter by itself. */
static void bytes_that_are_no_letters(const void *argument) {
  static const Row rows[] = {
      {".", {"\xC3"}},
      {"..", {"\xE2\x82"}},
      {".", {NULL}, {"\xE2\x82"}},
      {"...", {"\xF0\x9F\x98"}},
      {".", {"\x80"}},
      {"..",
       {"\xC3"
        "a"}},
      {".a",
       {"\xFF"
        "a"}},
      {"\\w", {NULL}, {"\xC3"}},
      {"[^a]+", {"\xC1\xBF"}},
      {".", {NULL}, {"\xC1\xBF"}},
  };
  check_rows(rows, sizeof rows / sizeof *rows);
}

int main(void) {
  TEST(as_python_says);
  TEST(as_re2_says);
  TEST(wrong_patterns_are_refused);
  TEST(long_patterns_are_refused);
  TEST(deep_groups_are_refused);
  TEST(time_does_not_explode);
  TEST(bytes_that_are_no_letters);
  return test_finish();
}
