/* Program cache: binds symbols to the shapes that were fed, and keeps the last few programs. */
#include "program/program_cache.h"

#include <math.h>
#include <string.h>

#include "budget.h"
#include "graph/op.h"
#include "graph/work.h"
#include "part.h"
#include "passes/passes.h"
#include "program/loss.h"
#include "program/recompute.h"
#include "program/dynamic_shapes.h"

OPTIONAL(recompute, recompute_at_peak);
OPTIONAL(pack, packed_take);
OPTIONAL(pack_refresh, packed_refresh);
OPTIONAL(lean, plan_make_lean);
OPTIONAL(dynamic_shapes, dynamic_shapes_clone);

static int feed_count(const Request *r) { return r->graph->input_count + r->feature_count; }

/* The value that the i-th feed is for. */
static Value *fed_value(const Request *r, int i) {
  return i < r->graph->input_count ? r->graph->inputs[i] : r->features[i - r->graph->input_count];
}

/* ---- the key of a program ---- */

/* Numbers that differ whenever the program must: part, mode, passes, the shape of each input fed, the values fetched. 0
 * when memory is out. */
static size_t key_of(ProgramCache *t, const Request *r) {
  size_t most = 3 + (size_t)r->fetch_count, n = 0;
  for (int i = 0; i < feed_count(r); i++) most += feed_key_size(&r->feeds[i]);
  if (!block_reserve(&t->key, most * sizeof(int64_t))) return 0;
  int64_t *key = t->key.data;
  key[n++] = r->part;
  key[n++] = r->overwrite_gradients | r->on_device << 1;
  key[n++] = r->passes;
  for (int i = 0; i < feed_count(r); i++) n += feed_key(&r->feeds[i], key + n);
  for (int i = 0; i < r->fetch_count; i++) key[n++] = (int64_t)(intptr_t)r->fetches[i];
  return n;
}

static CachedProgram *cache_find(ProgramCache *t, size_t key_count) {
  for (int i = 0; i < PROGRAMS_MAX; i++) {
    CachedProgram *c = t->programs[i];
    if (c && c->key_count == key_count && memcmp(c->key, t->key.data, key_count * sizeof *c->key) == 0) return c;
  }
  return NULL;
}

static void let_go(CachedProgram *c) {
  if (!c || --c->holders) return;
  Arena arena = c->arena; /* c itself lies in it */
  arena_free(&arena);
}

/* The slot for a new program: that of the same key, whose shapes depended on contents; else (`same` is NULL) an
 * empty one, or the least recently used. */
static CachedProgram **cache_slot(ProgramCache *t, const CachedProgram *same) {
  CachedProgram **slot = &t->programs[0];
  for (int i = 1; i < PROGRAMS_MAX && *slot != same; i++)
    if (t->programs[i] == same || (!same && t->programs[i]->used < (*slot)->used)) slot = &t->programs[i];
  let_go(*slot);
  *slot = NULL;
  return slot;
}

/* ---- binding ---- */

static Status bind_dim(Graph *g, Dim *numbers, const Value *input, int axis, Dim number, Error *error) {
  Dim wanted = input->shape.dim[axis];
  if (!dim_is_symbol(wanted)) return STATUS_OK; /* checked when it was fed */
  Dim *bound = &numbers[dim_symbol(wanted)];
  if (*bound >= 0 && *bound != number)
    return error_set(error, STATUS_INVALID_FEED, NULL,
                     "input '%.100s': dimension %d ('%.40s') is %lld, another input says %lld", input->name, axis,
                     graph_symbol_name(g, wanted), (long long)number, (long long)*bound);
  *bound = number;
  return STATUS_OK;
}

static Dim *bind_symbols(const Request *r, Arena *arena, Error *error) {
  Graph *g = r->graph;
  Dim *numbers = ARENA_ARRAY(arena, Dim, g->symbol_count);
  if (!numbers) return NULL;
  for (int i = 0; i < g->symbol_count; i++) numbers[i] = -1;
  for (int i = 0; i < feed_count(r); i++)
    for (int k = 0; r->feeds[i].fed && k < fed_value(r, i)->shape.rank; k++)
      if (bind_dim(g, numbers, fed_value(r, i), k, r->feeds[i].shape.dim[k], error) != STATUS_OK) return NULL;
  return numbers;
}

/* Checks that every input which the bound graph reads was fed. An optional need not be. */
static Status check_fed(const Request *r, Error *error) {
  char dims[SHAPE_TEXT];
  for (int i = 0; i < r->graph->input_count; i++) {
    const Value *v = r->graph->inputs[i];
    const Declared *d = v->declared;
    if (r->feeds[i].fed || (d && d->optional) || !v->copy) continue;
    if (d)
      return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' (a %s of %s) is missing", v->name,
                       d->sequence ? "sequence" : "map", dtype_name(d->type));
    return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' (%s %s) is missing", v->name,
                     dtype_name(v->type), shape_print(&v->shape, dims));
  }
  return STATUS_OK;
}

/* Sequences and optionals are replaced by what was fed, and so are features; an optional that was not fed is empty. */
static Status pin_fed(const Request *r, Arena *arena) {
  for (int i = r->graph->input_count; i < feed_count(r); i++)
    if (r->feeds[i].fed && !(fed_value(r, i)->pin = feed_pin(&r->feeds[i], arena))) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < r->graph->input_count; i++) {
    bool pinned = r->graph->inputs[i]->declared && (r->feeds[i].fed || r->graph->inputs[i]->declared->optional);
    if (pinned && !(r->graph->inputs[i]->pin = feed_pin(&r->feeds[i], arena))) return STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

static Status check_shapes(const Graph *bound) {
  for (int i = 0; i < bound->node_count; i++)
    for (int k = 0; k < bound->nodes[i]->out_count; k++)
      if (bound->nodes[i]->out[k] && !shape_is_concrete(&bound->nodes[i]->out[k]->shape))
        return node_fail(bound->nodes[i], STATUS_UNSUPPORTED_OP, "the shape of its output depends on computed values");
  return STATUS_OK;
}

/* Each try plans again; at worst there is one for every two nodes. */
static int most_tries(const Graph *g) {
  int64_t pairs = (int64_t)g->node_count * (g->node_count < 8192 ? g->node_count : 8192),
          tries = pairs ? ((int64_t)1 << 33) / pairs : 0;
  return (int)(tries < g->node_count ? tries : g->node_count);
}

static const Block *arena_of(const ProgramCache *t, const Request *r) { return r->arena ? r->arena : &t->step_arena; }

/* The bytes that the budget leaves for the run's arena, which replaces the existing one. */
static double arena_room(const ProgramCache *t, const Request *r) {
  const Block *arena = arena_of(t, r);
  return budget_room() + (double)arena->capacity - (arena->raw ? 0 : BLOCK_EXTRA);
}

static bool is_too_large(const ProgramCache *t, const Request *r, const Program *p) {
  return !r->on_device && (double)p->arena_bytes > arena_room(t, r);
}

/* True if a step trains and most of its parameters are frozen. Most memory then holds values that backward reads. */
static bool is_mostly_frozen(const Graph *g) {
  double frozen = 0, trained = 0;
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    if (v->kind == VALUE_STATE) *(v->fixed ? &frozen : &trained) += (double)value_bytes(v);
  }
  return trained > 0 && frozen > trained;
}

static double elements_computed(const Graph *g) {
  double elements = 0;
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->out_count && !(g->nodes[i]->op->flags & OP_VIEW); k++)
      if (g->nodes[i]->out[k]) elements += (double)shape_elements(&g->nodes[i]->out[k]->shape);
  return elements;
}

enum { ELEMENT_WORK = 20 }; /* multiply-adds of products that take as long as an element of something cheap */

/* Recomputes cheap values that backward reads instead of keeping them, as long as that takes at most a hundredth of the
 * work. */
static Status spare_memory(const Request *r, Program *p) {
  Graph *g = p->graph;
  double work = 0, elements = elements_computed(g), before = INFINITY;
  for (int i = 0; i < p->step_count; i++) work += work_of(p->steps[i]);
  for (int tries = most_tries(g); tries > 0 && (double)p->arena_bytes < before; tries--) {
    before = (double)p->arena_bytes;
    for (int i = 0; i <= g->node_count / 100; i++) /* a plan for each would take long */
      if ((elements_computed(g) - elements) * ELEMENT_WORK * 100 > work || !part_recompute(p)) break;
    TRY(plan(g, r->overwrite_gradients, p));
  }
  return STATUS_OK;
}

static void attach_stage(void *context, Graph *stage) {
  const Request *r = context;
  for (int i = 0; i < r->graph->input_count; i++) feed_attach(&r->feeds[i], stage);
}

/* The graph with numbers for symbols, and with the contents on which shapes depend. Once symbols are numbers, every
 * graph may wait for these: sizes that were symbols while gradients were made of it depend on what is fed. */
static Graph *bind_open(const Request *r, CachedProgram *c, const Dim *numbers, Value *const *wanted, int count,
                        Error *error) {
  r->graph->work_limit = r->work_limit;
  r->graph->stop = r->stop;
  r->graph->work_expanded = 0;
  bool allowed = r->graph->deferral.allowed;
  r->graph->deferral.allowed = true;
  Graph *bound = graph_clone(r->graph, &c->arena, error, numbers, wanted, count);
  r->graph->deferral.allowed = allowed;
  if (!bound || !bound->deferral.pending) return bound;
  if (check_fed(r, error) != STATUS_OK) return NULL;
  if (r->only_plans)
    return error_set(error, STATUS_UNSUPPORTED_OP, NULL,
                     "shapes depend on computed values, so without weights nothing can be planned"),
           NULL;
  if (!part_dynamic_shapes) return part_missing(error, "shapes that depend on computed values"), NULL;
  DynamicShapes shapes = {
      .work_limit = r->work_limit, .attach = attach_stage, .context = (void *)(uintptr_t)r, .stop = r->stop};
  bound = part_dynamic_shapes(&shapes, bound, &c->arena, error);
  c->for_once = shapes.computed;
  c->stage_work = shapes.work;
  return bound;
}

static Graph *bind(const Request *r, CachedProgram *c, const Dim *numbers, Value *const *wanted, int count,
                   Error *error) {
  bool pinned = pin_fed(r, &c->arena) == STATUS_OK;
  Graph *bound = pinned ? bind_open(r, c, numbers, wanted, count, error) : NULL;
  for (int i = 0; i < feed_count(r); i++) fed_value(r, i)->pin = NULL;
  return bound;
}

static Status find_losses(Program *p, Arena *arena, Error *error) {
  if (!(p->loss_count = loss_list(p, NULL))) return STATUS_OK;
  if (!(p->losses = ARENA_ARRAY(arena, const Node *, p->loss_count))) return error_memory(error, "while planning");
  loss_list(p, p->losses);
  return STATUS_OK;
}

static Status build(ProgramCache *t, const Request *r, CachedProgram *c, Error *error) {
  Dim *numbers = bind_symbols(r, &c->arena, error);
  int count = r->fetch_count + r->effect_count;
  Value **wanted = ARENA_ARRAY(&c->arena, Value *, count);
  if (!numbers || !wanted) return error_memory(error, "while planning");
  for (int i = 0; i < count; i++) wanted[i] = i < r->fetch_count ? r->fetches[i] : r->effects[i - r->fetch_count];
  Graph *bound = bind(r, c, numbers, wanted, count, error);
  Value **fetched = bound ? dynamic_shapes_spread(bound) : NULL;
  if (!fetched) return error_memory(error, "while planning");
  TRY(check_fed(r, error));
  TRY(check_shapes(bound));
  TRY(passes_run(bound, r->overwrite_gradients ? r->passes & ~(1u << PASS_accumulate) : r->passes));
  for (int i = 0; r->on_device && i < bound->node_count; i++) bound->nodes[i]->scratch_bytes = 0;
  TRY(plan(bound, r->overwrite_gradients, &c->program));
  c->program.number = ++t->built;
  bool recomputes = r->passes >> PASS_recompute & 1;
  if (recomputes && part_recompute && is_mostly_frozen(bound)) TRY(spare_memory(r, &c->program));
  for (int tries = recomputes ? most_tries(bound) : 0; tries > 0 && is_too_large(t, r, &c->program); tries--) {
    if (!part_recompute || !part_recompute(&c->program)) break;
    TRY(plan(bound, r->overwrite_gradients, &c->program));
  }
  if (is_too_large(t, r, &c->program))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL,
                     "a step on these shapes needs %zu bytes beside what is taken, maxMemoryBytes leaves %.0f",
                     c->program.arena_bytes, fmax(arena_room(t, r), 0));
  if (budget_missed()) return STATUS_OUT_OF_MEMORY;
  TRY(plan_check_work(&c->program, r->work_limit, &c->stage_work));
  TRY(find_losses(&c->program, &c->arena, error));
  c->program.fetched = fetched;
  if (r->arena && !part_lean) return part_missing(error, "forward");
  if (r->arena) TRY(part_lean(&c->program, r->fetch_count));
  size_t arena = c->program.arena_bytes > t->largest_bytes ? c->program.arena_bytes : t->largest_bytes;
  if (r->passes >> PASS_pack & 1 && part_pack) part_pack(&t->packed, bound, arena_room(t, r) - (double)arena);
  return STATUS_OK;
}

/* ---- pointers ---- */

/* Inputs point at the feeds' buffers; everything is resolved again when one of them or the arena has moved. */
void program_cache_resume(CachedProgram *c, const Feed *feeds, int count, const Block *arena) {
  Program *p = &c->program;
  bool moved = p->base != arena->data;
  for (int i = 0; i < count; i++) moved |= feed_attach(&feeds[i], p->graph);
  if (moved) plan_resolve(p, arena->data);
}

static Status reserve(ProgramCache *t, const Request *r, const Program *p, Error *error) {
  if (r->on_device) return STATUS_OK;
  if (!block_reserve(r->arena ? r->arena : &t->step_arena, p->arena_bytes))
    return error_memory_bytes(error, "a step on these shapes needs", p->arena_bytes);
  if (p->arena_bytes <= t->largest_bytes) return STATUS_OK;
  t->largest_bytes = p->arena_bytes;
  t->lower_bound_bytes = p->lower_bound_bytes;
  return STATUS_OK;
}

static CachedProgram *program_new(void) {
  Arena arena = {0};
  CachedProgram *c = ARENA_NEW(&arena, CachedProgram);
  if (!c) return arena_free(&arena), NULL;
  c->arena = arena;
  c->holders = 1;
  return c;
}

/* Builds the program of the key at hand. */
static CachedProgram *cache_build(ProgramCache *t, CachedProgram **slot, const Request *r, size_t key_count,
                                  Error *error) {
  CachedProgram *c = program_new();
  int64_t *key = c ? ARENA_ARRAY(&c->arena, int64_t, key_count) : NULL;
  if (key && build(t, r, c, error) == STATUS_OK) {
    memcpy(key, t->key.data, key_count * sizeof *key);
    c->key = key;
    c->key_count = key_count;
    return *slot = c;
  }
  error_memory(error, "while planning"); /* the first error wins */
  let_go(c);
  return NULL;
}

/* Builds it with all the memory that it needs; NULL if there is not enough. */
static CachedProgram *prepare(ProgramCache *t, const Request *r, size_t key_count, Error *error) {
  CachedProgram *c = cache_find(t, key_count);
  if ((!c || c->for_once) && !(c = cache_build(t, cache_slot(t, c), r, key_count, error))) return NULL;
  return reserve(t, r, &c->program, error) == STATUS_OK ? c : NULL;
}

/* Gives back what a session can do without: the other programs, and the packed weights that they read; the step arena
 * where the run has its own. */
static bool drop_caches(ProgramCache *t, const Request *r) {
  bool any = (t->packed.bytes > 0 && !t->holders) || (r->arena && t->step_arena.raw);
  for (int i = 0; i < PROGRAMS_MAX; i++) {
    any |= t->programs[i] != NULL;
    let_go(t->programs[i]);
    t->programs[i] = NULL;
  }
  if (!t->holders) packed_free(&t->packed);
  if (r->arena) block_free(&t->step_arena);
  return any;
}

/* Tries once more after memory has been freed, and without packed weights. */
static CachedProgram *prepare_alone(ProgramCache *t, const Request *r, size_t key_count, Error *error) {
  if (error->status != STATUS_OUT_OF_MEMORY || !drop_caches(t, r)) return NULL;
  Request unpacked = *r;
  unpacked.passes &= ~(1u << PASS_pack);
  error_clear(error);
  budget_forgive();
  return prepare(t, &unpacked, key_count, error);
}

static CachedProgram *program_of(ProgramCache *t, const Request *r, Error *error) {
  size_t key_count = key_of(t, r);
  if (!key_count) return error_memory(error, "while planning"), NULL;
  CachedProgram *c = prepare(t, r, key_count, error);
  if (!c && !(c = prepare_alone(t, r, key_count, error))) return NULL;
  c->used = ++t->clock;
  program_cache_resume(c, r->feeds, feed_count(r), arena_of(t, r));
  if (part_pack_refresh) part_pack_refresh(&t->packed);
  return c;
}

Program *program_cache_find(ProgramCache *t, const Request *r, Error *error) {
  CachedProgram *c = program_of(t, r, error);
  return c ? &c->program : NULL;
}

CachedProgram *program_cache_hold(ProgramCache *t, const Request *r, Error *error) {
  CachedProgram *c = program_of(t, r, error);
  if (c) c->holders++, t->holders++;
  return c;
}

void program_cache_let_go(ProgramCache *t, CachedProgram *c) {
  t->holders--;
  let_go(c);
}

const Program *program_cache_last(const ProgramCache *t, int part) {
  const CachedProgram *last = NULL;
  for (int i = 0; i < PROGRAMS_MAX; i++) {
    const CachedProgram *c = t->programs[i];
    if (c && c->key[0] == part && (!last || c->used > last->used)) last = c;
  }
  return last ? &last->program : NULL;
}

void program_cache_forget(ProgramCache *t) { drop_caches(t, &(Request){0}); }

void program_cache_free(ProgramCache *t) {
  for (int i = 0; i < PROGRAMS_MAX; i++) let_go(t->programs[i]);
  packed_free(&t->packed);
  block_free(&t->step_arena);
  block_free(&t->key);
  *t = (ProgramCache){0};
}
