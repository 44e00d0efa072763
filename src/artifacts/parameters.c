/* The parameters of a loaded model as JSON: who reads each as what, what it may be called, and whether it trains. */
#include <limits.h>

#include "ops/ops.h"
#include "text_builder.h"
#include "artifacts/artifacts.h"
#include "train/computed.h"
#include "train/mode.h"
#include "train/modules.h"

static void put_text(TextBuilder *p, const char *key, const char *text) {
  text_key(p, key), text_string(p, text), text_put(p, ",");
}

static void put_readers(TextBuilder *p, const Readings *all) {
  text_put(p, "\"readers\":[");
  for (int i = all->count - 1; i >= 0; i--) {
    const Reading *r = &all->items[i];
    text_put(p, "{"), put_text(p, "node", r->node->name), put_text(p, "op", r->node->op->name);
    text_key(p, "as"), text_string(p, read_as_name(r->as)), text_put(p, i ? "}," : "}");
  }
  text_put(p, "],");
}

/* The parameter that an exporter has transposed into v; NULL: it did not, or does not say. */
static const char *origin(const Graph *m, const Value *v) {
  for (int i = 0; i < m->value_count && !v->computed_from && module_is_numbered(v->name); i++)
    if (mode_is_parameter(m->values[i]) && computed_is_transposed(v, m->values[i])) return m->values[i]->name;
  return v->computed_from;
}

static bool is_product(const Node *n) {
  return n->op == &op_mat_mul || n->op == &op_gemm || n->op == &op_fused_mat_mul;
}

/* The name that its role in a module gives: MODULE.weight or MODULE.bias. A numbered weight of a convolution contains
 * more than the module's weight, so it gets no such name. */
static void put_names_of(TextBuilder *p, const Value *v, const Reading *r) {
  bool folded = r->node->op == &op_conv && module_is_numbered(v->name);
  const char *module = read_is_learned(r->as) && !folded ? module_of_node(r->node, p->arena) : NULL;
  const char *name = module ? arena_print(p->arena, "%s.%s", module, r->as == READ_BIAS ? "bias" : "weight") : NULL;
  if (name) text_put(p, ","), text_string(p, name);
}

static void put_names(TextBuilder *p, const TrainletArtifacts *a, const Value *v) {
  const Readings *all = &a->weights.of[v->index];
  const char *from = origin(a->model, v);
  bool transposed = false;
  text_key(p, "names"), text_put(p, "["), text_string(p, v->name);
  if (from) text_put(p, ","), text_string(p, from);
  for (int i = all->count - 1; i >= 0; i--) {
    const Reading *r = &all->items[i];
    put_names_of(p, v, r);
    transposed |= is_product(r->node) && r->first == r->node && r->node->in[1] == v && !node_int(r->node, "transB", 0);
  }
  text_put(p, transposed ? "],\"transposed\":true," : "],\"transposed\":false,");
}

static void put_parameter(TextBuilder *p, const TrainletArtifacts *a, const Value *v) {
  const char *reason = artifacts_frozen_because(a, v);
  text_put(p, "{"), put_text(p, "name", v->name), put_text(p, "type", dtype_name(v->type));
  text_put(p, "\"dims\":[");
  for (int i = 0; i < v->shape.rank; i++) text_put(p, i ? "," : ""), text_int(p, v->shape.dim[i]);
  text_put(p, "],"), text_key(p, "size"), text_int(p, (int64_t)shape_elements(&v->shape));
  text_put(p, ","), put_names(p, a, v), put_readers(p, &a->weights.of[v->index]);
  if (reason) put_text(p, "reason", reason);
  text_put(p, reason ? "\"trainable\":false}" : "\"trainable\":true}");
}

static bool is_listed(const Value *v) { return v->kind == VALUE_CONSTANT && v->initializer && dtype_is_float(v->type); }

/* The place of the first node that reads it; those that none reads come last. */
static int first_read(const TrainletArtifacts *a, const Value *v) {
  const Readings *all = &a->weights.of[v->index];
  return all->count ? all->items[all->count - 1].node->stream : INT_MAX;
}

static void insert(const TrainletArtifacts *a, const Value **sorted, int count, const Value *v) {
  int at = count;
  for (; at > 0 && first_read(a, sorted[at - 1]) > first_read(a, v); at--) sorted[at] = sorted[at - 1];
  sorted[at] = v;
}

static Status print_parameters(TrainletArtifacts *a, TextBuilder *p) {
  if (!a->model)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "parameters are a model's, and none was loaded");
  TRY(artifacts_read_weights(a));
  const char *before = "[";
  int count = 0;
  const Value **sorted = ARENA_ARRAY(p->arena, const Value *, a->model->value_count);
  for (int i = 0; sorted && i < a->model->value_count; i++)
    if (is_listed(a->model->values[i])) insert(a, sorted, count++, a->model->values[i]);
  for (int i = 0; i < count; i++, before = ",") text_put(p, before), put_parameter(p, a, sorted[i]);
  text_put(p, *before == '[' ? "[]" : "]");
  return STATUS_OK;
}

const char *trainlet_artifacts_parameters(TrainletArtifacts *a) {
  artifacts_enter(a);
  artifacts_forget_parts(a);
  TextBuilder p = text_new(&a->building);
  bool done = print_parameters(a, &p) == STATUS_OK && p.text;
  return artifacts_leave(a, done) == STATUS_OK ? p.text : NULL;
}
