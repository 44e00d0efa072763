/* LoRA: chooses modules, and puts a branch of two small matrices beside each. */
#include "model/lora.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/random/random.h"
#include "text_builder.h"
#include "train/mode.h"
#include "train/modules.h"
#include "train/eval_mode.h"

static bool ends_in_one(const char *name, const char *const *ends, int count) {
  size_t length = strlen(name);
  for (int i = 0; i < count; i++)
    if (length > strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

bool lora_is_matrix(const char *name) {
  static const char *const ends[] = {".lora_A.weight", ".lora_B.weight", ".lora_embedding_A", ".lora_embedding_B"};
  return ends_in_one(name, ends, 4);
}

bool lora_is_zero_at_first(const char *name) {
  static const char *const ends[] = {".lora_B.weight", ".lora_embedding_A"};
  return ends_in_one(name, ends, 2);
}

LoraOptions lora_default(void) { return (LoraOptions){.r = 8, .alpha = 8}; }

typedef struct Adapter {
  const Module *module;
  int r;
  float alpha, scale;
  Value *a, *b;
  Value *adapted; /* the weight itself with what is added to it, of a module that is adapted so */
} Adapter;

typedef struct Lora {
  Graph *g;
  const LoraOptions *o;
  NameList *parameters;
  Arena *arena;
  Modules modules;
  Adapter *adapters;
  int count;
  NameList others; /* names of parameters that train beside the adapters */
  uint32_t drawn;  /* streams of random numbers for first weights */
} Lora;

static Status out_of_memory(const Lora *l) { return error_memory(l->g->error, "for LoRA's adapters"); }

/* ---- which modules ---- */

static bool is_saved_whole(const Lora *l, const char *module) {
  return module_matches_any(&l->o->modules_to_save, module);
}

static bool trains_already(const Lora *l, const Module *m) { return names_have(l->parameters, m->weight->name); }

static bool is_all_linear(const char *target) { return strcmp(target, "all-linear") == 0; }

/* A pattern that matches a module also matches the modules within it, as PEFT's layer for MultiheadAttention does. */
static bool matches(const char *pattern, const Module *m) {
  return module_matches(pattern, m->name) || (m->within && module_matches(pattern, m->within));
}

static bool is_target(const Lora *l, const Module *m) {
  const NameList *targets = &l->o->targets;
  bool wanted = !targets->count && m->kind == MODULE_LINEAR && !m->last;
  for (int i = 0; i < targets->count; i++)
    wanted |= is_all_linear(targets->names[i]) ? m->kind == MODULE_LINEAR && !m->last : matches(targets->names[i], m);
  return wanted && !module_matches_any(&l->o->exclude, m->name) && !is_saved_whole(l, m->name) && !trains_already(l, m);
}

/* A weight that several layers share is adapted for all of them. */
static bool is_wanted(const Lora *l, const Module *m) {
  for (int i = 0; i < l->modules.count; i++)
    if (modules_share(&l->modules.items[i], m) && is_target(l, &l->modules.items[i])) return true;
  return false;
}

/* "fc1, fc2, …" */
static const char *listed(const Modules *modules, Arena *arena) {
  TextBuilder p = text_new(arena);
  for (int i = 0; i < modules->count; i++) {
    if (p.length > LISTED_MAX) return text_put(&p, " …"), p.text;
    if (i) text_put(&p, ", ");
    text_put(&p, modules->items[i].name);
  }
  return p.text ? p.text : "";
}

static Status check_targets(const Lora *l) {
  for (int i = 0; i < l->o->targets.count; i++) {
    const char *target = l->o->targets.names[i];
    bool found = is_all_linear(target);
    for (int k = 0; k < l->modules.count; k++) found |= matches(target, &l->modules.items[k]);
    if (!found)
      return error_set(l->g->error, STATUS_INVALID_ARGUMENT, NULL,
                       "lora.targets: '%.200s' matches no module that can be adapted; these are %s", target,
                       l->modules.count ? listed(&l->modules, l->arena) : "none");
  }
  return STATUS_OK;
}

/* The number of the first pattern that matches. */
static float number_for(const NameList *patterns, const Module *module, Arena *arena, float otherwise) {
  for (int i = 0; i < patterns->count; i++) {
    const char *equals = strrchr(patterns->names[i], '=');
    const char *pattern = arena_print(arena, "%.*s", (int)(equals - patterns->names[i]), patterns->names[i]);
    if (pattern && matches(pattern, module)) return strtof(equals + 1, NULL);
  }
  return otherwise;
}

/* Several nodes that read the same weight the same way share one adapter. */
static Adapter *sharing(const Lora *l, const Module *m) {
  for (int i = 0; i < l->count; i++)
    if (modules_share(l->adapters[i].module, m)) return &l->adapters[i];
  return NULL;
}

/* ---- first weights ---- */

typedef enum First { FIRST_ZERO, FIRST_UNIFORM, FIRST_NORMAL } First;

static Value *parameter(Lora *l, const Module *m, const char *end, Shape shape, First first, float scale) {
  static const Rng rng = {0};
  size_t count = shape_elements(&shape);
  const char *name = arena_print(l->g->arena, "%s.%s", m->name, end);
  float *data = ARENA_ARRAY(l->g->arena, float, count);
  if (!name || !data || graph_claim(l->g, name) != STATUS_OK) return NULL;
  l->drawn++;
  for (size_t i = 0; first != FIRST_ZERO && i < count; i += 4) {
    uint32_t bits[4];
    rng_block(&rng, l->drawn, (uint32_t)(i / 4), bits);
    f32x4 u = {rng_unit(bits[0]), rng_unit(bits[1]), rng_unit(bits[2]), rng_unit(bits[3])};
    f32x4 x = (first == FIRST_NORMAL ? random_normal_of(u) : 2.0f * u - 1.0f) * scale;
    for (size_t k = 0; k < 4 && i + k < count; k++) data[i + k] = x[k];
  }
  Value *v = graph_constant(l->g, name, DTYPE_FLOAT32, &shape, data);
  if (!v || !names_add(l->parameters, v->name, l->arena)) return NULL;
  v->initializer = true;
  v->note = NOTE_PARAMETER;
  return v;
}

/* Initializes like PEFT. A is kaiming-uniform with a = √5, which is uniform between ± 1/√(numbers that an output
 * reads), or normal with deviation 1/r; B is zero. For an embedding A is zero and B standard normal. */
static Status make_parameters(Lora *l, Adapter *a) {
  const Module *m = a->module;
  First first = l->o->gaussian ? FIRST_NORMAL : FIRST_UNIFORM;
  Shape down = SHAPE(a->r, m->in), up = SHAPE(m->out, a->r);
  if (m->on_weight) down.dim[1] = m->weight->shape.dim[!m->in_first], up.dim[0] = m->weight->shape.dim[m->in_first];
  if (m->kind == MODULE_EMBEDDING) {
    a->a = parameter(l, m, "lora_embedding_A", down, FIRST_ZERO, 0);
    a->b = parameter(l, m, "lora_embedding_B", up, FIRST_NORMAL, 1);
    return a->a && a->b ? STATUS_OK : out_of_memory(l);
  }
  if (m->kind == MODULE_CONV) {
    down = m->node->in[1]->shape, up = down;
    down.dim[0] = a->r, up.dim[0] = m->out, up.dim[1] = a->r;
    for (int i = 2; i < up.rank; i++) up.dim[i] = 1;
  }
  size_t read = shape_span(&down, 1, down.rank);
  a->a = parameter(l, m, "lora_A.weight", down, first, l->o->gaussian ? 1 / (float)a->r : 1 / sqrtf((float)read));
  a->b = parameter(l, m, "lora_B.weight", up, FIRST_ZERO, 0);
  return a->a && a->b ? STATUS_OK : out_of_memory(l);
}

/* ---- branches ---- */

static Value *called(Lora *l, const Adapter *a, const char *end, Value *v) {
  if (v) v->producer->name = arena_print(l->g->arena, "%s%s", a->module->name, end);
  return v && v->producer->name ? v : NULL;
}

static Value *dropped(Lora *l, const Adapter *a, Value *x) {
  if (l->o->dropout == 0) return x;
  return called(l, a, LORA_DROPOUT, emit(l->g, "Dropout", x, emit_float(l->g, l->o->dropout)));
}

/* (…, last) as rows. */
static Value *as_rows(Graph *g, Value *x, Dim last) {
  return x->shape.rank == 2 ? x : emit(g, "Reshape", x, emit_ints(g, (int64_t[]){-1, last}, 2));
}

/* base + s · rows Bᵀ, of the shape of base */
static Value *put_up(Lora *l, const Adapter *a, Value *rows, Value *base) {
  Graph *g = l->g;
  Value *flat = as_rows(g, base, a->module->out);
  Value *y = called(
      l, a, ".lora_B",
      emit_with(g, "Gemm", ATTRS(attr_of_float("alpha", a->scale), attr_of_int("transB", 1)), rows, a->b, flat));
  return flat == base ? y : emit(g, "Reshape", y, emit_shape(g, base));
}

static Value *put_linear(Lora *l, const Adapter *a, Value *x, Value *base) {
  Value *rows = as_rows(l->g, dropped(l, a, x), a->module->in);
  Value *down = emit_with(l->g, "Gemm", ATTRS(attr_of_int("transB", 1)), rows, a->a);
  return put_up(l, a, called(l, a, ".lora_A", down), base);
}

static Value *put_conv(Lora *l, const Adapter *a, Value *x, Value *base) {
  Graph *g = l->g;
  const Node *n = a->module->node;
  Value *in[] = {dropped(l, a, x), a->a};
  Value *down = called(l, a, ".lora_A", emit_first(g, "Conv", (AttrList){n->attrs, n->attr_count}, in, 2));
  if (a->scale != 1) down = emit(g, "Mul", down, emit_float(g, a->scale));
  return emit(g, "Add", base, called(l, a, ".lora_B", emit(g, "Conv", down, a->b)));
}

static Value *put_embedding(Lora *l, const Adapter *a, Value *ids, Value *base) {
  Value *looked_up = emit(l->g, "Gather", emit(l->g, "Transpose", a->a), ids);
  return put_up(l, a, as_rows(l->g, called(l, a, ".lora_A", looked_up), a->r), base);
}

/* Moves the nodes from `first` on behind one, or before all. */
static Status move_behind(Graph *g, const Node *behind, int first, Arena *arena) {
  int at = -1, count = g->node_count - first;
  Node **moved = ARENA_ARRAY(arena, Node *, count);
  if (!moved) return STATUS_OUT_OF_MEMORY;
  while (behind && g->nodes[++at] != behind) {
  }
  memcpy(moved, g->nodes + first, (size_t)count * sizeof *moved);
  memmove(g->nodes + at + 1 + count, g->nodes + at + 1, (size_t)(first - at - 1) * sizeof *moved);
  memcpy(g->nodes + at + 1, moved, (size_t)count * sizeof *moved);
  return STATUS_OK;
}

/* The sum takes the place of the layer's output, which keeps its name; what the layer gives is another value now. */
static Status put_branch(Lora *l, const Adapter *a, Node *n) {
  static Value *(*const puts[])(Lora *, const Adapter *, Value *, Value *) = {put_linear, put_conv, put_embedding};
  Graph *g = l->g;
  int first = g->node_count;
  Value *y = n->out[0], *base = graph_value(g, NULL, y->type, &y->shape, VALUE_NODE);
  if (!base) return out_of_memory(l);
  base->producer = n;
  n->out[0] = base;
  Value *sum = puts[a->module->kind](l, a, n->in[a->module->kind == MODULE_EMBEDDING], base);
  if (!sum) return out_of_memory(l);
  y->producer = sum->producer;
  y->producer->out[0] = y;
  sum->producer = NULL;
  return move_behind(g, n, first, l->arena) == STATUS_OK ? STATUS_OK : out_of_memory(l);
}

/* W + s · B A, or its transpose, before all layers that read W */
static Status put_on_weight(Lora *l, Adapter *a, Node *n) {
  int first = l->g->node_count, at = 1;
  bool turned = a->module->in_first;
  if (!a->adapted) {
    a->adapted = emit_with(
        l->g, "Gemm",
        ATTRS(attr_of_float("alpha", a->scale), attr_of_int("transA", turned), attr_of_int("transB", turned)),
        turned ? a->a : a->b, turned ? a->b : a->a, (Value *)a->module->weight);
    if (!called(l, a, ".lora_B", a->adapted) || move_behind(l->g, NULL, first, l->arena) != STATUS_OK)
      return out_of_memory(l);
  }
  for (; n->in[at]->producer && n->in[at] != a->adapted; at = 0) n = n->in[at]->producer;
  n->in[at] = a->adapted;
  return STATUS_OK;
}

static Status put(Lora *l, Adapter *a, const Module *m) {
  return m->on_weight ? put_on_weight(l, a, m->node) : put_branch(l, a, m->node);
}

static Status adapt(Lora *l, const Module *m) {
  Adapter *shared = sharing(l, m);
  if (shared) return put(l, shared, m);
  Adapter *a = &l->adapters[l->count++];
  *a = (Adapter){.module = m,
                 .r = (int)number_for(&l->o->ranks, m, l->arena, (float)l->o->r),
                 .alpha = number_for(&l->o->alphas, m, l->arena, l->o->alpha)};
  a->scale = a->alpha / (l->o->rs_lora ? sqrtf((float)a->r) : (float)a->r);
  TRY(make_parameters(l, a));
  return put(l, a, m);
}

/* ---- what else trains ---- */

static bool is_adapted(const Lora *l, const char *module) {
  for (int i = 0; i < l->count; i++)
    if (strcmp(l->adapters[i].module->name, module) == 0) return true;
  return false;
}

/* Called a bias, as PEFT asks. */
static bool is_wanted_bias(const Lora *l, const char *name, const char *module) {
  if (l->o->bias == LORA_BIAS_NONE || !strstr(name, "bias")) return false;
  return l->o->bias == LORA_BIAS_ALL || is_adapted(l, module);
}

/* The module whose weight it is, which may have a number for a name. */
static const Module *reader_of(const Lora *l, const Value *v) {
  for (int i = 0; i < l->modules.count; i++)
    if (l->modules.items[i].weight == v) return &l->modules.items[i];
  return NULL;
}

static const char *module_of(const Lora *l, const Value *v) {
  const Module *m = reader_of(l, v);
  return m ? m->name : module_of_parameter(v->computed_from ? v->computed_from : v->name, l->arena);
}

static Status add_other(Lora *l, const char *name) {
  bool added = names_add(l->parameters, name, l->arena) && names_add(&l->others, name, l->arena);
  return added ? STATUS_OK : out_of_memory(l);
}

static Status add_others(Lora *l) {
  const NameList *saved = &l->o->modules_to_save;
  int values = l->g->value_count;
  bool *found = ARENA_ARRAY(l->arena, bool, saved->count);
  if (!found) return out_of_memory(l);
  for (int i = 0; i < values; i++) {
    const Value *v = l->g->values[i];
    if (!mode_is_parameter(v) || names_have(l->parameters, v->name)) continue;
    const char *module = module_of(l, v);
    if (!module) return out_of_memory(l);
    bool wanted = is_wanted_bias(l, v->name, module);
    for (int k = 0; k < saved->count; k++)
      if (module_matches(saved->names[k], module)) wanted = found[k] = true;
    if (wanted) TRY(add_other(l, v->name));
  }
  for (int k = 0; k < saved->count; k++)
    if (!found[k] && !l->o->of_peft)
      return error_set(l->g->error, STATUS_INVALID_ARGUMENT, NULL,
                       "lora.modulesToSave: '%.200s' matches no module with float32 parameters", saved->names[k]);
  return STATUS_OK;
}

/* ---- report ---- */

static void tell_list(TextBuilder *p, const char *key, const NameList *list) {
  text_put(p, ","), text_key(p, key), text_put(p, "[");
  for (int i = 0; i < list->count; i++) text_put(p, i ? "," : ""), text_string(p, list->names[i]);
  text_put(p, "]");
}

static void tell_adapter(TextBuilder *p, const Adapter *a) {
  static const char *const kinds[] = {"linear", "conv", "embedding"};
  text_put(p, "{"), text_key(p, "name"), text_string(p, a->module->name);
  text_put(p, ","), text_key(p, "kind"), text_string(p, kinds[a->module->kind]);
  text_put(p, ","), text_key(p, "weight"), text_string(p, a->module->weight->name);
  text_field(p, "r", a->r);
  text_put(p, ","), text_key(p, "alpha"), text_float(p, (double)a->alpha);
  text_put(p, "}");
}

/* Writes the parameter's name in the framework that the model comes from. */
static void tell_other(TextBuilder *p, const Lora *l, const char *parameter) {
  const Value *v = graph_find(l->g, parameter);
  const Module *m = reader_of(l, v);
  const char *name = v->computed_from ? v->computed_from : v->name;
  text_put(p, "{"), text_key(p, "parameter"), text_string(p, parameter);
  text_put(p, ","), text_key(p, "name");
  text_string(p, m && m->turned ? arena_print(l->arena, "%s.weight", m->name) : name);
  text_put(p, ","), text_key(p, "turned"), text_put(p, m && m->turned ? "true}" : "false}");
}

static Status set_metadata(Lora *l) {
  static const char *const biases[] = {"none", "all", "lora_only"};
  const LoraOptions *o = l->o;
  TextBuilder p = text_new(l->g->arena);
  text_put(&p, "{"), text_field(&p, "r", o->r);
  text_put(&p, ","), text_key(&p, "alpha"), text_float(&p, (double)o->alpha);
  text_put(&p, ","), text_key(&p, "dropout"), text_float(&p, (double)o->dropout);
  text_put(&p, ","), text_key(&p, "rsLora"), text_put(&p, o->rs_lora ? "true" : "false");
  text_put(&p, ","), text_key(&p, "bias"), text_string(&p, biases[o->bias]);
  tell_list(&p, "targets", &o->targets);
  tell_list(&p, "exclude", &o->exclude);
  tell_list(&p, "modulesToSave", &o->modules_to_save);
  tell_list(&p, "rankPattern", &o->ranks);
  tell_list(&p, "alphaPattern", &o->alphas);
  text_put(&p, ","), text_key(&p, "modules"), text_put(&p, "[");
  for (int i = 0; i < l->count; i++) text_put(&p, i ? "," : ""), tell_adapter(&p, &l->adapters[i]);
  text_put(&p, "],"), text_key(&p, "others"), text_put(&p, "[");
  for (int i = 0; i < l->others.count; i++) text_put(&p, i ? "," : ""), tell_other(&p, l, l->others.names[i]);
  text_put(&p, "]}");
  return p.text && graph_set_metadata(l->g, LORA_KEY, p.text) == STATUS_OK ? STATUS_OK : out_of_memory(l);
}

Status lora_put(Graph *g, const LoraOptions *o, NameList *parameters, Arena *arena) {
  Lora l = {.g = g, .o = o, .parameters = parameters, .arena = arena};
  TRY(modules_find(g, &o->module_names, arena, &l.modules));
  TRY(check_targets(&l));
  if (!(l.adapters = ARENA_ARRAY(arena, Adapter, l.modules.count))) return out_of_memory(&l);
  for (int i = 0; i < l.modules.count; i++)
    if (is_wanted(&l, &l.modules.items[i])) TRY(adapt(&l, &l.modules.items[i]));
  if (!l.count)
    return error_set(g->error, STATUS_INVALID_ARGUMENT, NULL,
                     "lora: no module is left to adapt; those of the model are %s",
                     l.modules.count ? listed(&l.modules, arena) : "none");
  TRY(add_others(&l));
  return set_metadata(&l);
}
