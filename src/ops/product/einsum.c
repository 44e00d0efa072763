/* Einsum: sums of products, as an equation names them. Two operands at a time become one batched MatMul:
 *
 *   bik,bkj->bij   letters of both that are wanted later: batch (b); of both, not wanted: inner (k); of one: rows (i),
 * columns (j)
 *
 * A letter twice in one operand is its diagonal; a letter of one operand that nobody wants is summed before. */
#include <string.h>

#include "graph/expansion.h"

enum { OPERANDS = 8, ELLIPSIS = 52 }; /* dims of an ellipsis are letters from ELLIPSIS on, the last dim first */
typedef struct Term {
  int rank;
  int letter[RANK_MAX];
} Term;
typedef struct Factor {
  Value *value;
  Term term;
} Factor;

static int letter_of(char ch) {
  return ch >= 'a' && ch <= 'z' ? ch - 'a' + 26 : ch >= 'A' && ch <= 'Z' ? ch - 'A' : -1;
}
static int place_of(const Term *t, int letter) {
  for (int i = 0; i < t->rank; i++)
    if (t->letter[i] == letter) return i;
  return -1;
}
static bool push(Term *t, int letter) { return t->rank < RANK_MAX ? (t->letter[t->rank++] = letter, true) : false; }

/* Reads one term up to a comma, arrow or the end; `dims` of an ellipsis. NULL when it is none. */
static const char *read_term(const char *s, int dims, Term *t) {
  for (*t = (Term){0}; *s && *s != ',' && *s != '-'; s++) {
    if (*s == ' ') continue;
    bool fits = true;
    if (strncmp(s, "...", 3) == 0) {
      for (int i = dims - 1; i >= 0; i--) fits = fits && push(t, ELLIPSIS + i);
      s += 2;
    } else fits = letter_of(*s) >= 0 && push(t, letter_of(*s));
    if (!fits) return NULL;
  }
  return s;
}

/* The number of dims that this term's ellipsis stands for in an operand of the rank. */
static int ellipsis_dims(const char *s, int rank) {
  bool there = false;
  for (; *s && *s != ',' && *s != '-'; s++) {
    if (letter_of(*s) >= 0) rank--;
    there |= *s == '.';
  }
  return there && rank > 0 ? rank : 0;
}

static Status malformed(Expansion *c, const char *equation) {
  return node_invalid(c->node, "the equation '%.80s' does not fit its inputs", equation);
}

/* Without an arrow: the ellipsis, then the letters that come once, in the alphabet's order. */
static bool implicit_output(const Factor *f, int count, int most_dims, Term *out) {
  *out = (Term){0};
  bool fits = true;
  for (int i = most_dims - 1; i >= 0; i--) fits = fits && push(out, ELLIPSIS + i);
  for (int letter = 0; letter < ELLIPSIS; letter++) {
    int times = 0;
    for (int i = 0; i < count; i++)
      for (int k = 0; k < f[i].term.rank; k++) times += f[i].term.letter[k] == letter;
    if (times == 1) fits = fits && push(out, letter);
  }
  return fits;
}

static Status parse(Expansion *c, const char *equation, Factor *f, Term *out) {
  const char *s = equation;
  int count = c->node->in_count, most = 0;
  for (int i = 0; i < count; i++) {
    int rank = expand_shape(c, i)->rank, dims = ellipsis_dims(s, rank);
    f[i].value = c->node->in[i];
    most = dims > most ? dims : most;
    if (!(s = read_term(s, dims, &f[i].term)) || f[i].term.rank != rank || (*s == ',') != (i < count - 1))
      return malformed(c, equation);
    s += *s == ',';
  }
  if (!*s) return implicit_output(f, count, most, out) ? STATUS_OK : malformed(c, equation);
  if (s[0] != '-' || s[1] != '>' || !(s = read_term(s + 2, most, out)) || *s) return malformed(c, equation);
  return STATUS_OK;
}

/* ---- one factor ---- */

static void drop(Term *t, int place) {
  for (int i = place; i + 1 < t->rank; i++) t->letter[i] = t->letter[i + 1];
  t->rank--;
}

static void sum_place(Expansion *c, Factor *f, int place) {
  f->value = expand_reduce(c, "ReduceSum", f->value, (int64_t[]){place}, 1, false);
  drop(&f->term, place);
}

/* x·(i = j) summed over j, for places i < j of one letter. */
static void take_diagonals(Expansion *c, Factor *f) {
  for (int j = 1; j < f->term.rank; j++) {
    int i = place_of(&f->term, f->term.letter[j]);
    if (i == j) continue;
    Graph *g = c->graph;
    int64_t column[RANK_MAX + 1] = {-1};
    for (int k = 1; k < j - i + 1; k++) column[k] = 1;
    Value *at = expand_range(c, expand_dim(c, f->value, i, false));
    for (int k = 1; k < f->term.rank - j; k++) column[j - i + k] = 1;
    Value *rows = emit(g, "Reshape", at, emit_ints(g, column, f->term.rank - i)),
          *columns = emit(g, "Reshape", at, emit_ints(g, (int64_t[]){-1, 1, 1, 1, 1, 1, 1, 1}, f->term.rank - j));
    f->value = emit(g, "Mul", f->value,
                    expand_cast(c, emit(g, "Equal", rows, columns), f->value ? f->value->type : DTYPE_FLOAT32));
    sum_place(c, f, j--);
  }
}

/* Brings the dims into the order of `to`, which holds the same letters. */
static void arrange(Expansion *c, Factor *f, const Term *to) {
  int64_t perm[RANK_MAX];
  bool moves = false;
  for (int i = 0; i < to->rank; i++) {
    perm[i] = place_of(&f->term, to->letter[i]);
    moves |= perm[i] != i;
  }
  if (moves) f->value = emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", perm, to->rank)), f->value);
  f->term = *to;
}

/* ---- two factors ---- */

static Dim dim_of(const Factor *f, int letter) {
  return f->value ? f->value->shape.dim[place_of(&f->term, letter)] : 0;
}

/* A broadcast letter: 1 against n. A dim of an ellipsis that is not known yet may be that 1. */
static void broadcast(Expansion *c, Factor *f, const Factor *other) {
  Size sizes[RANK_MAX];
  bool broadcasts = false;
  for (int i = 0; i < f->term.rank; i++) {
    int letter = f->term.letter[i], at = place_of(&other->term, letter);
    Dim own = dim_of(f, letter), met = at >= 0 ? dim_of(other, letter) : own;
    bool may = own != met && (own == 1 || (letter >= ELLIPSIS && !dim_is_number(own)));
    sizes[i] = may ? SIZE_DIM(other->value, at) : SIZE_NUMBER(1);
    broadcasts |= may;
  }
  if (broadcasts) f->value = emit(c->graph, "Expand", f->value, expand_sizes(c, NULL, sizes, f->term.rank));
}

/* batch dims stay, rows and columns are merged: (batch…, rows, columns) */
static Value *as_matrices(Expansion *c, Factor *f, const Term *batch, const Term *rows, const Term *columns) {
  Term to = *batch;
  for (int i = 0; i < rows->rank; i++) push(&to, rows->letter[i]);
  for (int i = 0; i < columns->rank; i++) push(&to, columns->letter[i]);
  arrange(c, f, &to);
  Size sizes[RANK_MAX];
  int rank = batch->rank;
  for (int i = 0; i < rank; i++) sizes[i] = SIZE_DIM(f->value, i);
  sizes[rank] = rows->rank ? (Size){f->value, rank, rows->rank, 1, 0} : SIZE_NUMBER(1);
  sizes[rank + 1] = columns->rank ? (Size){f->value, rank + rows->rank, columns->rank, 1, 0} : SIZE_NUMBER(1);
  return expand_reshape(c, f->value, sizes, rank + 2);
}

static Status multiply(Expansion *c, Factor *a, Factor *b, const Term *wanted) {
  Term batch = {0}, inner = {0}, rows = {0}, columns = {0};
  for (int i = 0; i < a->term.rank; i++) {
    int letter = a->term.letter[i];
    bool both = place_of(&b->term, letter) >= 0;
    push(!both ? &rows : place_of(wanted, letter) >= 0 ? &batch : &inner, letter);
  }
  for (int i = 0; i < b->term.rank; i++)
    if (place_of(&a->term, b->term.letter[i]) < 0) push(&columns, b->term.letter[i]);
  if (batch.rank + 2 > RANK_MAX || batch.rank + rows.rank + columns.rank > RANK_MAX)
    return node_fail(c->node, STATUS_UNSUPPORTED_OP, "a product of it has more than %d dimensions", RANK_MAX);
  broadcast(c, a, b);
  broadcast(c, b, a);
  if (!rows.rank && !columns.rank &&
      inner.rank) { /* dots: as products of matrices they would be of one row and column */
    Term both = batch;
    int64_t axes[RANK_MAX];
    for (int i = 0; i < inner.rank; i++) axes[i] = both.rank, push(&both, inner.letter[i]);
    arrange(c, a, &both);
    arrange(c, b, &both);
    a->value = expand_reduce(c, "ReduceSum", emit(c->graph, "Mul", a->value, b->value), axes, inner.rank, false);
    a->term = batch;
    return c->graph->error->status;
  }
  Value *left = as_matrices(c, a, &batch, &rows, &inner), *right = as_matrices(c, b, &batch, &inner, &columns);
  Size y[RANK_MAX];
  int rank = batch.rank + rows.rank;
  for (int i = 0; i < rank; i++) y[i] = SIZE_DIM(a->value, i);
  for (int i = 0; i < columns.rank; i++) y[rank + i] = SIZE_DIM(b->value, batch.rank + inner.rank + i);
  a->value = expand_reshape(c, emit(c->graph, "MatMul", left, right), y, rank + columns.rank);
  a->term = batch;
  for (int i = 0; i < rows.rank; i++) push(&a->term, rows.letter[i]);
  for (int i = 0; i < columns.rank; i++) push(&a->term, columns.letter[i]);
  return c->graph->error->status;
}

/* The letters that the output or a factor from `next` on still wants. */
static Term wanted_letters(const Factor *f, int next, int count, const Term *out, const Term *of) {
  Term wanted = {0};
  for (int i = 0; i < of->rank; i++) {
    bool needed = place_of(out, of->letter[i]) >= 0;
    for (int k = next; k < count; k++) needed |= place_of(&f[k].term, of->letter[i]) >= 0;
    if (needed) push(&wanted, of->letter[i]);
  }
  return wanted;
}

static void sum_unwanted(Expansion *c, Factor *f, const Term *wanted, const Term *other) {
  for (int i = f->term.rank - 1; i >= 0; i--)
    if (place_of(wanted, f->term.letter[i]) < 0 && (!other || place_of(other, f->term.letter[i]) < 0))
      sum_place(c, f, i);
}

static Status einsum_expand(Expansion *c) {
  Factor f[OPERANDS];
  Term out;
  int count = c->node->in_count;
  if (count > OPERANDS)
    return node_fail(c->node, STATUS_UNSUPPORTED_OP, "it has %d operands, we have up to %d", count, OPERANDS);
  TRY(parse(c, node_string(c->node, "equation", ""), f, &out));
  for (int i = 0; i < out.rank; i++) {
    bool made = false;
    for (int k = 0; k < count; k++) made |= place_of(&f[k].term, out.letter[i]) >= 0;
    if (!made || place_of(&out, out.letter[i]) != i) return malformed(c, node_string(c->node, "equation", ""));
  }
  for (int i = 0; i < count; i++) take_diagonals(c, &f[i]);
  for (int i = 1; i < count; i++) {
    Term of_a = wanted_letters(f, i + 1, count, &out, &f[0].term),
         of_b = wanted_letters(f, i + 1, count, &out, &f[i].term);
    sum_unwanted(c, &f[0], &of_a, &f[i].term);
    sum_unwanted(c, &f[i], &of_b, &f[0].term);
    TRY(multiply(c, &f[0], &f[i], &of_a));
  }
  Term last = wanted_letters(f, count, count, &out, &f[0].term);
  sum_unwanted(c, &f[0], &last, NULL);
  arrange(c, &f[0], &out);
  return expand_done(c, f[0].value);
}

OPERATOR(einsum) = {
    .name = "Einsum",
    .since = {12},
    .inputs = {1, -1},
    .weights = ~0u,
    .flags = OP_FLOAT64,
    .expand = einsum_expand,
    .cases = CASES(
        {"f32[2,3] f32[3,4]", "equation=ij,jk->ik"}, {"f32[2,3,4] f32[2,4,2]", "equation=bik,bkj->bij"},
        {"f32[2,3,5] f32[2,4,5]", "equation=bid,bjd->bij"}, {"f32[2,3]", "equation=ij->ji"},
        {"f32[2,3]", "equation=ij->i"}, {"f32[2,2,3,3]", "equation=b...ii->b...i"}, {"f32[3] f32[3]", "equation=i,i"},
        {"f32[3] f32[2]", "equation=i,j->ij"}, {"f32[2,3,2,4] f32[2,5,2,4]", "equation=bqhd,bkhd->bhqk"},
        {"f32[2,3,4] f32[4,5]", "equation=btd,de->bte"}, {"f32[2,3,2,4] f32[2,4,5]", "equation=bthd,hde->bte"},
        {"f32[2,3,4] f32[4,2,5]", "equation=btd,dhe->bhte"}, {"f32[2,3] f32[3,2] f32[2,2]", "equation=ij,jk,kl->il"},
        {"f32[2,1,3] f32[4,3]", "equation=b...i,...i->b..."}, {"f32[2,3] f32[2,3]", "equation=ij,kj->ik"}),
};
