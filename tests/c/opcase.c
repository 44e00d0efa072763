/* Reads the Case text and builds its graph. */
#include "opcase.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "graph/lengths.h"

static const char *const input_names[OPCASE_INPUTS] = {"in0", "in1", "in2",  "in3",  "in4",  "in5",  "in6",  "in7",
                                                       "in8", "in9", "in10", "in11", "in12", "in13", "in14", "in15"};

static const char *const output_names[OPCASE_INPUTS] = {"out0",  "out1",  "out2",  "out3", "out4",  "out5",
                                                        "out6",  "out7",  "out8",  "out9", "out10", "out11",
                                                        "out12", "out13", "out14", "out15"};

static const struct {
  const char *name;
  DType type;
} types[] = {{"f32", DTYPE_FLOAT32}, {"f64", DTYPE_FLOAT64}, {"f16", DTYPE_FLOAT16}, {"i8", DTYPE_INT8},
             {"i16", DTYPE_INT16},   {"i32", DTYPE_INT32},   {"i64", DTYPE_INT64},   {"u8", DTYPE_UINT8},
             {"u16", DTYPE_UINT16},  {"u32", DTYPE_UINT32},  {"u64", DTYPE_UINT64},  {"bool", DTYPE_BOOL}};

static bool problem(OpCase *c, const char *sentence, const char *at) {
  snprintf(c->problem, sizeof c->problem, "%s at '%.60s'", sentence, at);
  return false;
}

static void store(CaseInput *in, size_t i, double x) {
  switch (in->type) {
    case DTYPE_FLOAT32: ((float *)in->data)[i] = (float)x; break;
    case DTYPE_FLOAT64: ((double *)in->data)[i] = x; break;
    case DTYPE_INT64: ((int64_t *)in->data)[i] = x >= 0x1p63 ? INT64_MAX : (int64_t)x; break;
    case DTYPE_INT32:
    case DTYPE_UINT32: ((int32_t *)in->data)[i] = (int32_t)(int64_t)x; break;
    case DTYPE_INT16:
    case DTYPE_UINT16:
    case DTYPE_FLOAT16: ((uint16_t *)in->data)[i] = (uint16_t)(int64_t)x; break;
    case DTYPE_UINT64: ((uint64_t *)in->data)[i] = (uint64_t)x; break;
    default: ((uint8_t *)in->data)[i] = (uint8_t)(int64_t)x; break;
  }
}

/* Distinct values: place i of a shuffled even grid over the range, moved inside its cell. */
static void fill_range(CaseInput *in, uint32_t seed, double low, double high) {
  size_t n = in->count, *place = malloc((n + 1) * sizeof *place);
  for (size_t i = 0; i < n; i++) place[i] = i;
  for (size_t i = n; i-- > 1;) {
    size_t k = batch_bits(seed, i) % (i + 1), swap = place[i];
    place[i] = place[k];
    place[k] = swap;
  }
  bool whole = in->type != DTYPE_FLOAT32 && in->type != DTYPE_FLOAT64;
  for (size_t i = 0; i < n; i++) {
    double at = ((double)place[i] + 0.25 + 0.5 * batch_unit(seed + 1, i)) / (double)n;
    double x = low + (high - low) * at;
    store(in, i, whole ? (double)(int64_t)(x < 0 ? x - 1 : x) : x);
  }
  free(place);
}

/* −1.5..1.5 without −0.05..0.05: the range 0..2.9 folded around the gap. */
static void fill_default(CaseInput *in, uint32_t seed) {
  if (in->type == DTYPE_BOOL) return fill_range(in, seed, 0, 2);
  fill_range(in, seed, -1.45, 1.45);
  for (size_t i = 0; i < in->count; i++) {
    if (in->type == DTYPE_FLOAT32) ((float *)in->data)[i] += ((float *)in->data)[i] < 0 ? -0.05f : 0.05f;
    else if (in->type == DTYPE_FLOAT64) ((double *)in->data)[i] += ((double *)in->data)[i] < 0 ? -0.05 : 0.05;
  }
}

static const char *read_shape(OpCase *c, CaseInput *in, const char *s) {
  if (*s != '[') return problem(c, "a shape must follow", s), NULL;
  for (s++; *s != ']';) {
    char *end;
    long long dim = strtoll(s, &end, 10);
    if (end == s || in->shape.rank == RANK_MAX) return problem(c, "no dim", s), NULL;
    in->shape.dim[in->shape.rank++] = dim;
    s = *end == ',' ? end + 1 : end;
  }
  in->count = shape_elements(&in->shape);
  in->bytes = in->count * dtype_bytes(in->type);
  in->data = arena_alloc(&c->arena, in->bytes);
  return s + 1;
}

static const char *read_values(OpCase *c, CaseInput *in, const char *s) {
  for (size_t i = 0; i < in->count; i++) {
    char *end;
    double x = strtod(s, &end);
    if (end == s) return problem(c, "too few values", s), NULL;
    store(in, i, x);
    for (; *end == '*' && i + 1 < in->count; i++) store(in, i + 1, x);
    s = *end == ',' || *end == '*' ? end + 1 : end;
  }
  return s;
}

static uint32_t text_seed(const char *a, const char *b, int index) {
  uint32_t h = 2166136261u + (uint32_t)index;
  for (; *a; a++) h = (h ^ (unsigned char)*a) * 16777619u;
  for (; b && *b; b++) h = (h ^ (unsigned char)*b) * 16777619u;
  return h;
}

/* One word of `in`: "f32[2,3]", "f32[3]:0.5..2", "i64[2]=2,-1", "v:i64[2]=0,1" or "-". */
static const char *read_input(OpCase *c, const char *s) {
  CaseInput *in = &c->in[c->in_count];
  uint32_t seed = text_seed(c->text->in, c->text->attrs, c->in_count);
  *in = (CaseInput){0};
  if (c->in_count++ == OPCASE_INPUTS - 1) return problem(c, "too many inputs", s), NULL;
  if (*s == '-') return in->absent = true, s + 1;
  bool variable = strncmp(s, "v:", 2) == 0;
  if (variable) s += 2;
  for (size_t i = 0; i < sizeof types / sizeof *types && !in->type; i++)
    if (strncmp(s, types[i].name, strlen(types[i].name)) == 0 && s[strlen(types[i].name)] == '[') {
      in->type = types[i].type;
      s += strlen(types[i].name);
    }
  if (!in->type) return problem(c, "no type", s), NULL;
  if (!(s = read_shape(c, in, s))) return NULL;
  if (*s == '=') return in->constant = !variable, read_values(c, in, s + 1);
  if (*s != ':') return fill_default(in, seed), s;
  char *dots, *end;
  double low = strtod(s + 1, &dots);
  for (dots = (char *)(uintptr_t)(s + 1); *dots && strncmp(dots, "..", 2) != 0; dots++) {
  }
  if (!*dots) return problem(c, "no range", s), NULL;
  double high = strtod(dots + 2, &end);
  return fill_range(in, seed, low, high), end;
}

static int list_length(const char *s) {
  int count = s[1] != ']';
  for (; *s && *s != ']'; s++) count += *s == ',';
  return count;
}

/* A number with a point or exponent before the next separator is a float. */
static bool looks_float(const char *s) {
  size_t n = strcspn(s, " ,]"), digits = strcspn(s, ".e");
  return digits < n || strncmp(s, "inf", 3) == 0 || strncmp(s, "-inf", 4) == 0;
}

static const char *read_words(OpCase *c, Attr *a, const char *s) {
  const char **words = ARENA_ARRAY(&c->arena, const char *, list_length(s));
  a->kind = ATTR_STRINGS;
  a->strings = words;
  do {
    size_t length = strcspn(++s, ",]");
    words[a->count++] = arena_print(&c->arena, "%.*s", (int)length, s);
    s += length;
  } while (*s == ',');
  return *s == ']' ? s + 1 : (problem(c, "the list does not end", s), NULL);
}

static const char *read_list(OpCase *c, Attr *a, const char *s) {
  char *end;
  if (isupper((unsigned char)s[1])) return read_words(c, a, s);
  a->count = list_length(s);
  bool is_float = looks_float(s + 1);
  a->kind = is_float ? ATTR_FLOATS : ATTR_INTS;
  float *floats = ARENA_ARRAY(&c->arena, float, a->count);
  int64_t *ints = ARENA_ARRAY(&c->arena, int64_t, a->count);
  s++;
  for (int i = 0; i < a->count; i++) {
    if (is_float) floats[i] = strtof(s, &end);
    else ints[i] = strtoll(s, &end, 10);
    if (end == s) return problem(c, "no number in the list", s), NULL;
    s = *end == ',' ? end + 1 : end;
  }
  if (is_float) a->floats = floats;
  else a->ints = ints;
  return *s == ']' ? s + 1 : (problem(c, "the list does not end", s), NULL);
}

static const char *read_attr(OpCase *c, const char *s) {
  size_t name = strcspn(s, "="), length;
  if (c->attr_count == OPCASE_ATTRS || !s[name]) return problem(c, "no attribute", s), NULL;
  Attr *a = &c->attrs[c->attr_count++];
  char *copy = arena_print(&c->arena, "%.*s", (int)name, s);
  *a = (Attr){.name = copy};
  s += name + 1;
  if (*s == '[') return read_list(c, a, s);
  length = strcspn(s, " ");
  if (isdigit((unsigned char)*s) || *s == '-' || *s == '.') {
    a->kind = looks_float(s) ? ATTR_FLOAT : ATTR_INT;
    if (a->kind == ATTR_FLOAT) a->f = strtof(s, NULL);
    else a->i = strtoll(s, NULL, 10);
  } else {
    a->kind = ATTR_STRING;
    a->s = arena_print(&c->arena, "%.*s", (int)length, s);
  }
  return s + length;
}

bool opcase_parse(const Op *op, const Case *text, OpCase *out) {
  *out = (OpCase){.op = op, .text = text};
  snprintf(out->key, sizeof out->key, "%s | %s | %s | %d %d", op->name, text->in, text->attrs ? text->attrs : "",
           text->opset, text->outputs);
  for (const char *s = text->in; *s;) {
    if (isspace((unsigned char)*s)) s++;
    else if (!(s = read_input(out, s))) return false;
  }
  for (const char *s = text->attrs; s && *s;) {
    if (isspace((unsigned char)*s)) s++;
    else if (!(s = read_attr(out, s))) return false;
  }
  return true;
}

void opcase_free(OpCase *c) { arena_free(&c->arena); }

Value *opcase_value(const Graph *g, int i) { return graph_find(g, input_names[i]); }

static bool is_free(const OpCase *c, int i, int d, Symbols symbols) {
  const Shape *first = &c->in[0].shape;
  switch (symbols) {
    case SYMBOLS_NONE: return false;
    case SYMBOLS_FIRST: return i == 0 && d == 0;
    case SYMBOLS_SHARED: return d == 0 && first->rank && c->in[i].shape.dim[0] == first->dim[0];
    case SYMBOLS_ALL: return c->in[i].type == DTYPE_FLOAT32 && c->in[i].shape.dim[d] > 1;
    case SYMBOLS_APART:
    case SYMBOLS_DEFERRED: return true;
    default: return (int)symbols == SYMBOLS_EACH + RANK_MAX * i + d;
  }
}

static const char *symbol_of(const OpCase *c, int i, int d, Symbols symbols, Arena *arena) {
  if (symbols < SYMBOLS_ALL) return "N";
  if (symbols == SYMBOLS_ALL) return arena_print(arena, "D%lld", (long long)c->in[i].shape.dim[d]);
  return arena_print(arena, "F%d_%d", i, d);
}

Graph *opcase_build(const OpCase *c, Arena *arena, Error *error, Symbols symbols) {
  static const Rng rng = {.seed = 20240607, .step = 3};
  Graph *g = graph_new(arena, error);
  Value *in[OPCASE_INPUTS] = {0};
  if (!g) return NULL;
  g->rng = &rng;
  g->deferral.allowed = symbols == SYMBOLS_DEFERRED;
  const char *domain = c->op->domain ? c->op->domain : "";
  if (c->text->opset && graph_import(g, domain, c->text->opset) != STATUS_OK) return NULL;
  if (graph_import(g, "", 17) != STATUS_OK || graph_import(g, domain, 1) != STATUS_OK) return NULL;
  for (int i = 0; i < c->in_count; i++) {
    if (c->in[i].absent) continue;
    Shape shape = c->in[i].shape;
    for (int d = 0; d < shape.rank && opcase_is_fed(c, i); d++)
      if (is_free(c, i, d, symbols)) shape.dim[d] = graph_symbol(g, symbol_of(c, i, d, symbols, arena));
    in[i] = c->in[i].constant ? graph_constant(g, input_names[i], c->in[i].type, &shape, c->in[i].data)
                              : graph_value(g, input_names[i], c->in[i].type, &shape, VALUE_INPUT);
    if (!in[i] || (!c->in[i].constant && graph_add_input(g, in[i]) != STATUS_OK)) return NULL;
  }
  Added added = {c->op, "tested", in, c->in_count, output_names, opcase_outputs(c), c->attrs, c->attr_count};
  if (lengths_settle(g, &added, in, c->rank ? *c->rank : -1) != STATUS_OK) return NULL;
  return graph_add(g, &added) == STATUS_OK ? g : NULL;
}

int opcase_outputs(const OpCase *c) { return c->text->outputs ? c->text->outputs : 1; }
Value *opcase_output(const Graph *g, int i) { return graph_find(g, output_names[i]); }

bool opcase_accepts(const OpCase *c, Symbols symbols) {
  Arena arena = {0};
  Error error = {0};
  bool accepted = opcase_build(c, &arena, &error, symbols) != NULL;
  arena_free(&arena);
  return accepted;
}

Dim opcase_number(const OpCase *c, const char *symbol) {
  int input, axis;
  if (sscanf(symbol, "F%d_%d", &input, &axis) == 2) return c->in[input].shape.dim[axis];
  return strcmp(symbol, "N") == 0 ? c->in[0].shape.dim[0] : *symbol == 'D' ? atoll(symbol + 1) : -1;
}

Symbols opcase_symbols(const OpCase *c) {
  if (!c->in_count || c->in[0].absent || c->in[0].constant || c->in[0].type != DTYPE_FLOAT32 || !c->in[0].shape.rank)
    return SYMBOLS_NONE;
  return opcase_accepts(c, SYMBOLS_SHARED) ? SYMBOLS_SHARED : SYMBOLS_FIRST;
}
