/* Undo: PyTorch's exporters make one initializer of parameters that are equal, and drop biases of zeros. Each parameter
 * is there again, under its name, before the node that reads it is read.
 *
 *   TorchScript       Identity_0: norm1.weight ─▶ norm2.weight      norm2.weight, an initializer
 *   torch.export      aten.layer_norm(x, [8], %p_norm2_weight …)    reads norm2.weight, no longer norm1.weight
 *   a bias of zeros   aten.linear(x, %p_fc_weight, %p_fc_bias)      Gemm reads fc.bias, zeros
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/notes.h"
#include "graph/op.h"
#include "onnx/parts.h"

static Status out_of_memory(const OnnxReader *r) {
  return error_memory(r->error, "for parameters that the exporter merged");
}

static Value *add_parameter(OnnxReader *r, const char *name, const Value *like, const Shape *shape, const void *data) {
  Value *v = name && data ? graph_constant(r->graph, name, like->type, shape, data) : NULL;
  if (v) v->initializer = true;
  return v;
}

static const Value *initializer_at(const OnnxReader *r, const Onnx__NodeProto *n, size_t i) {
  const Value *v = graph_find(r->graph, n->input[i]);
  return v && v->kind == VALUE_CONSTANT && v->initializer && dtype_is_float(v->type) ? v : NULL;
}

/* ---- TorchScript ---- */

static bool is_statistic(const OnnxReader *r, const char *name) {
  for (size_t i = 0; i < r->from->n_node; i++) {
    const Onnx__NodeProto *n = r->from->node[i];
    for (size_t k = 3; k < n->n_input; k++)
      if (strcmp(n->op_type, "BatchNormalization") == 0 && strcmp(n->input[k], name) == 0) return true;
  }
  return false;
}

/* Not what it computed, which it calls by a number: of a module that is called twice it computes that twice. */
static bool stands_for_parameter(const OnnxReader *r, const Onnx__NodeProto *n) {
  static const char made[] = "Identity_", numbered[] = "onnx::";
  if (strcmp(n->op_type, "Identity") != 0 || !n->name || strncmp(n->name, made, sizeof made - 1) != 0) return false;
  if (!isdigit((unsigned char)n->name[sizeof made - 1]) || n->n_input != 1 || n->n_output != 1) return false;
  if (strncmp(n->output[0], numbered, sizeof numbered - 1) == 0) return false;
  for (size_t i = 0; i < r->from->n_output; i++)
    if (r->from->output[i]->name && strcmp(r->from->output[i]->name, n->output[0]) == 0) return false;
  return initializer_at(r, n, 0) && (!r->keeps_merged || is_statistic(r, n->output[0]));
}

/* ---- torch.export ---- */

static const char call_key[] = "pkg.torch.onnx.fx_node";
enum { ARGUMENTS_MAX = 16 };
typedef struct Call {
  const char *text, *arguments;           /* …aten.linear.default](args = (%x, %p_fc_weight), kwargs = {}) */
  const Placeholder *read[ARGUMENTS_MAX]; /* the placeholders among them */
  size_t count;
} Call;

/* The next name among arguments; what follows it, or NULL where there is none. */
static const char *next_name(const char *at, Span *name) {
  if (!(at = strchr(at, '%'))) return NULL;
  name->at = ++at;
  while (isalnum((unsigned char)*at) || *at == '_') at++;
  name->length = (size_t)(at - name->at);
  return at;
}

static bool equals(Span a, Span b) { return a.length == b.length && memcmp(a.at, b.at, a.length) == 0; }

static bool is_named(const Call *c, Span wanted) {
  Span name;
  for (const char *at = c->arguments; (at = next_name(at, &name));)
    if (equals(name, wanted)) return true;
  return false;
}

static bool read_call(const OnnxReader *r, const Onnx__NodeProto *n, Call *c) {
  const char *text = onnx_exporter_note(n, call_key);
  Span name;
  *c = (Call){.text = text, .arguments = text ? strstr(text, "](args = (") : NULL};
  for (const char *at = c->arguments; at && (at = next_name(at, &name)) && c->count < ARGUMENTS_MAX;)
    for (size_t i = 0; i < r->placeholder_count; i++)
      if (equals(r->placeholders[i].name, name)) c->read[c->count++] = &r->placeholders[i];
  return c->arguments;
}

/* The initializer that is it, or was computed from it. */
static Value *value_of(const OnnxReader *r, const Placeholder *p) {
  for (int i = 0; i < r->graph->value_count; i++) {
    Value *v = r->graph->values[i];
    const char *name = v->computed_from ? v->computed_from : v->name;
    if (v->initializer && equals((Span){name, strlen(name)}, p->target)) return v;
  }
  return NULL;
}

/* ---- parameters that were merged ---- */

typedef struct Inputs {
  size_t at[ARGUMENTS_MAX];
  const Value *value[ARGUMENTS_MAX];
  const Placeholder *own[ARGUMENTS_MAX];
  size_t count;
} Inputs;

static void find_inputs(const OnnxReader *r, const Onnx__NodeProto *n, Inputs *in) {
  in->count = 0;
  for (size_t i = 0; i < n->n_input && in->count < ARGUMENTS_MAX; i++) {
    const Value *v = initializer_at(r, n, i);
    const Placeholder *own = v ? onnx_exporter_placeholder(r, v) : NULL;
    if (!own) continue;
    in->at[in->count] = i, in->value[in->count] = v;
    in->own[in->count++] = own;
  }
}

/* True if the node's inputs are those of the call, in the same order and number. */
static bool is_in_order(const Call *c, const Inputs *in) {
  bool same = in->count == c->count && !strstr(c->text, "aten.addmm"); /* (bias, x, weight) */
  for (size_t i = 0; same && i < c->count; i++)
    for (size_t k = 0; k < c->count; k++) same &= in->own[k] != c->read[i] || in->own[i] == c->read[i];
  return same;
}

static const char *end_of(Span target) {
  const char *end = target.at + target.length;
  while (end > target.at && end[-1] != '.') end--;
  return end;
}

static bool end_alike(const Placeholder *a, const Placeholder *b) {
  const char *x = end_of(a->target), *y = end_of(b->target);
  return equals((Span){x, a->target.length - (size_t)(x - a->target.at)},
                (Span){y, b->target.length - (size_t)(y - b->target.at)});
}

/* Not where the file has it with numbers of its own. */
static bool may_be(const OnnxReader *r, const Value *v, const Placeholder *p) {
  const Value *other = value_of(r, p);
  return !other || other->data == v->data;
}

/* The input of the call that the node's i-th input was. */
static const Placeholder *pick(const OnnxReader *r, const Call *c, const Inputs *in, size_t i) {
  const Placeholder *last = NULL, *alike = NULL;
  size_t count = 0;
  if (is_in_order(c, in)) return may_be(r, in->value[i], c->read[i]) ? c->read[i] : NULL;
  if (is_named(c, in->own[i]->name)) return NULL;
  for (size_t k = 0; k < c->count; k++) {
    if (!may_be(r, in->value[i], c->read[k])) continue;
    last = c->read[k], count++;
    if (end_alike(last, in->own[i])) alike = last;
  }
  return count == 1 ? last : alike;
}

/* True if some other call names v itself; otherwise v is the result of a rewrite rule of the exporter. */
static bool is_named_elsewhere(const OnnxReader *r, const Value *v, Span own) {
  for (size_t i = 0; i < r->from->n_node; i++) {
    Call c;
    for (size_t k = 0; k < r->from->node[i]->n_input; k++)
      if (strcmp(r->from->node[i]->input[k], v->name) == 0 && read_call(r, r->from->node[i], &c) && is_named(&c, own))
        return true;
  }
  return false;
}

static Value *add_own(OnnxReader *r, const Value *v, const Placeholder *p) {
  const char *target = arena_print(r->arena, "%.*s", (int)p->target.length, p->target.at);
  const char *name = v->computed_from ? arena_print(r->arena, "%s:%s", target ? target : "", v->name) : target;
  Value *own = name ? add_parameter(r, graph_fresh_name(r->graph, name), v, &v->shape, v->data) : NULL;
  if (!own) return NULL;
  own->note = p->parameter ? NOTE_PARAMETER : v->note == NOTE_NONE ? NOTE_NONE : NOTE_NO_PARAMETER;
  if (v->computed_from) own->computed_from = target;
  return own;
}

Value *onnx_undo_parameter(OnnxReader *r, Value *v, const Placeholder *p) {
  Value *own = value_of(r, p);
  return !own ? add_own(r, v, p) : own->data == v->data ? own : v;
}

static Status separate(OnnxReader *r, Onnx__NodeProto *n, size_t at, const Value *v, const Placeholder *p) {
  Value *own = value_of(r, p);
  if (!own && !(own = add_own(r, v, p))) return out_of_memory(r);
  n->input[at] = (char *)(uintptr_t)own->name;
  return STATUS_OK;
}

/* v is a number of the program, which equals a parameter: all that the call names is there, and the parameter is not
 * named. */
static bool is_number(const OnnxReader *r, const Onnx__NodeProto *n, const Call *c, const Value *v, Span own) {
  static const char number[] = "scalar_tensor";
  Span name;
  if (v->shape.rank || is_named(c, own) || onnx_exporter_note(n, "pkg.onnxscript.rewriter.rule_name")) return false;
  for (const char *at = c->arguments; (at = next_name(at, &name));) {
    bool known = strncmp(name.at, number, sizeof number - 1) == 0;
    for (size_t i = 0; i < c->count; i++) known |= equals(c->read[i]->name, name);
    const char *text = known ? NULL : arena_print(r->arena, "%.*s", (int)name.length, name.at);
    if (!known && !(text && graph_find(r->graph, text))) return false;
  }
  return true;
}

static Status read_number(OnnxReader *r, Onnx__NodeProto *n, size_t at, const Value *v) {
  Value *number = add_parameter(r, graph_fresh_name(r->graph, "number"), v, &v->shape, v->data);
  if (!number) return out_of_memory(r);
  number->initializer = false;
  n->input[at] = (char *)(uintptr_t)number->name;
  return STATUS_OK;
}

static Status separate_all(OnnxReader *r, Onnx__NodeProto *n, const Call *c) {
  Inputs in;
  find_inputs(r, n, &in);
  for (size_t i = 0; i < in.count; i++) {
    const Placeholder *p = pick(r, c, &in, i);
    if (!p && is_number(r, n, c, in.value[i], in.own[i]->name)) TRY(read_number(r, n, in.at[i], in.value[i]));
    if (p && p != in.own[i] && is_named_elsewhere(r, in.value[i], in.own[i]->name))
      TRY(separate(r, n, in.at[i], in.value[i], p));
  }
  return STATUS_OK;
}

/* Inserts an Identity, as TorchScript's files have one, for a computed parameter that only another node's call names.
 * untie decides about it. */
static Status mark_replaced(OnnxReader *r, Onnx__NodeProto *n, const Call *c) {
  for (size_t i = 0; i < n->n_input && !c->count; i++) {
    Value *v = graph_find(r->graph, n->input[i]);
    Span own = {n->input[i], strlen(n->input[i])};
    if (!initializer_at(r, n, i) || !v->computed_from || is_named(c, own) || !is_named_elsewhere(r, v, own)) continue;
    const char *name = arena_print(r->arena, "onnx::%s", v->name);
    if (name) name = graph_fresh_name(r->graph, name);
    if (!name || !graph_node(r->graph, op_find_in("", "Identity"), NULL, &v, 1, &name, 1, NULL, 0))
      return out_of_memory(r);
    n->input[i] = (char *)(uintptr_t)name;
    r->replaced_count++;
  }
  return STATUS_OK;
}

/* ---- biases that were dropped ---- */

static int64_t int_of(const Onnx__NodeProto *n, const char *name, int64_t otherwise) {
  for (size_t i = 0; i < n->n_attribute; i++)
    if (n->attribute[i]->name && strcmp(n->attribute[i]->name, name) == 0) return n->attribute[i]->i;
  return otherwise;
}

static Dim width_of(const Onnx__NodeProto *n, const Shape *w) {
  if (w->rank < 2) return 0;
  if (strcmp(n->op_type, "Gemm") == 0) return w->dim[!int_of(n, "transB", 0)];
  return strcmp(n->op_type, "Conv") == 0 ? w->dim[0] : w->dim[1] * int_of(n, "group", 1);
}

static bool reads(const Onnx__NodeProto *n, const Value *v) {
  for (size_t i = 0; v && i < n->n_input; i++)
    if (strcmp(n->input[i], v->name) == 0) return true;
  return false;
}

/* Zeros; of a module that is called again those that are there. */
static Value *find_bias(OnnxReader *r, const Placeholder *p, const Value *w, Dim width) {
  Value *bias = value_of(r, p);
  if (bias) return bias;
  const char *name = arena_print(r->arena, "%.*s", (int)p->target.length, p->target.at);
  void *zeros = arena_alloc(r->arena, (size_t)width * dtype_bytes(w->type));
  bias = add_parameter(r, graph_fresh_name(r->graph, name), w, &(Shape){1, {width}}, zeros);
  if (bias && w->note != NOTE_NONE) bias->note = p->parameter ? NOTE_PARAMETER : NOTE_NO_PARAMETER;
  return bias;
}

static Status restore_bias(OnnxReader *r, Onnx__NodeProto *n, const Call *c) {
  static const char rule[] = "RemoveOptionalBiasFrom";
  const char *by = onnx_exporter_note(n, "pkg.onnxscript.rewriter.rule_name");
  const Placeholder *lost = NULL;
  size_t count = 0;
  if (!by || strncmp(by, rule, sizeof rule - 1) != 0 || n->n_input != 2) return STATUS_OK;
  for (size_t i = 0; i < c->count; i++)
    if (!reads(n, value_of(r, c->read[i]))) lost = c->read[i], count++;
  const Value *w = count == 1 ? initializer_at(r, n, 1) : NULL;
  Dim width = w ? width_of(n, &w->shape) : 0;
  if (width <= 0) return STATUS_OK;
  char **input = ARENA_ARRAY(r->arena, char *, 3);
  const Value *bias = find_bias(r, lost, w, width);
  if (!input || !bias) return out_of_memory(r);
  if (!shape_equal(&bias->shape, &(Shape){1, {width}})) return STATUS_OK;
  memcpy(input, n->input, 2 * sizeof *input);
  input[2] = (char *)(uintptr_t)bias->name;
  n->input = input;
  n->n_input = 3;
  return STATUS_OK;
}

/* ---- bounds of Clip ---- */

/* The rule that makes a Clip gives its bounds names of its own: linear_min is %p_low of clamp(%linear, %p_low,
 * %p_high). */
static Status restore_bounds(OnnxReader *r, Onnx__NodeProto *n, const Call *c) {
  const char *by = onnx_exporter_note(n, "pkg.onnxscript.rewriter.rule_name");
  if (!by || strcmp(by, "FuseMaxMinToClip") != 0 || n->n_input != 1 + c->count) return STATUS_OK;
  for (size_t i = 0; i < c->count; i++) {
    const Value *v = initializer_at(r, n, 1 + i);
    if (!v || onnx_exporter_placeholder(r, v)) continue;
    graph_find(r->graph, v->name)->initializer = false; /* no other node reads it */
    TRY(separate(r, n, 1 + i, v, c->read[i]));
  }
  return STATUS_OK;
}

/* ---- detach ---- */

/* True if a node of the same call makes it: an intermediate step. */
static bool is_step(const OnnxReader *r, const Call *c, const char *name) {
  for (size_t i = 0; i < r->from->n_node; i++) {
    const Onnx__NodeProto *n = r->from->node[i];
    for (size_t k = 0; k < n->n_output; k++)
      if (strcmp(n->output[k], name) == 0) {
        const char *text = onnx_exporter_note(n, call_key);
        return text && strcmp(text, c->text) == 0;
      }
  }
  return false;
}

/* True if the call does not name v. A constant counts only if the exporter noted it; it is then compared by its noted
 * name. */
static bool is_unnamed(const OnnxReader *r, const Call *c, const Value *v) {
  const Placeholder *own = v->initializer ? onnx_exporter_placeholder(r, v) : NULL;
  if (!dtype_is_float(v->type) || v->kind == VALUE_INPUT || (v->kind == VALUE_CONSTANT && !own)) return false;
  if (is_named(c, own ? own->name : (Span){v->name, strlen(v->name)})) return false;
  return !is_step(r, c, v->name);
}

/* The exporter drops the Identity that stands for detach(); the call still names what it gave. */
static Status restore_detach(OnnxReader *r, Onnx__NodeProto *n, const Call *c) {
  static const char made[] = "detach";
  Span name;
  const char *lost = NULL;
  Value *from = NULL;
  size_t count = 0, inputs = 0, at = 0;
  for (const char *p = c->arguments; (p = next_name(p, &name));) {
    if (strncmp(name.at, made, sizeof made - 1) != 0) continue;
    const char *text = arena_print(r->arena, "%.*s", (int)name.length, name.at);
    if (!text) return out_of_memory(r);
    if (!graph_find(r->graph, text)) lost = text, count++;
  }
  for (size_t i = 0; count == 1 && i < n->n_input; i++) {
    Value *v = graph_find(r->graph, n->input[i]);
    if (v && is_unnamed(r, c, v)) from = v, at = i, inputs++;
  }
  if (inputs != 1) return STATUS_OK;
  if (!graph_node(r->graph, op_find_in("", "Identity"), NULL, &from, 1, &lost, 1, NULL, 0)) return out_of_memory(r);
  n->input[at] = (char *)(uintptr_t)lost;
  return notes_add(r->graph, DETACHED_KEY, lost, "");
}

Status onnx_undo(OnnxReader *r, Onnx__NodeProto *n, bool *done) {
  Call c;
  if ((*done = stands_for_parameter(r, n))) {
    const Value *v = graph_find(r->graph, n->input[0]);
    Value *own = add_parameter(r, n->output[0], v, &v->shape, v->data);
    if (own) own->note = r->by_pytorch ? NOTE_ATTRIBUTE : NOTE_NONE;
    return own ? STATUS_OK : out_of_memory(r);
  }
  if (!r->placeholder_count || !read_call(r, n, &c)) return STATUS_OK;
  if (!r->keeps_merged) {
    TRY(separate_all(r, n, &c));
    TRY(mark_replaced(r, n, &c));
    TRY(restore_bias(r, n, &c));
    TRY(restore_bounds(r, n, &c));
  }
  return restore_detach(r, n, &c);
}

/* ---- parameters that are gone ---- */

/* Tells whether the exporter has left out a sum, product or part: a call names what the file does not have. */
static bool leaves_out(const OnnxReader *r) {
  static const char *const ops[] = {"mul", "add", "sub", "div", "unsqueeze", "getitem"};
  for (size_t i = 0; i < r->from->n_node; i++) {
    const char *text = onnx_exporter_note(r->from->node[i], call_key), *at = text ? strstr(text, "](args = (") : NULL;
    for (Span name; at && (at = next_name(at, &name));) {
      bool computed = false;
      for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) computed |= strncmp(name.at, ops[k], strlen(ops[k])) == 0;
      const char *made = computed ? arena_print(r->arena, "%.*s", (int)name.length, name.at) : NULL;
      if (made && !graph_find(r->graph, made)) return true;
    }
  }
  return false;
}

/* Without the number at the end: mean_1, mean. */
static Span stem_of(Span name) {
  size_t length = name.length;
  while (length && isdigit((unsigned char)name.at[length - 1])) length--;
  return length > 1 && length < name.length && name.at[length - 1] == '_' ? (Span){name.at, length - 1} : name;
}

/* Tells whether a node reads what another call gave for the same of the call that its own names: mean for mean_1. */
static bool merges(const OnnxReader *r) {
  for (size_t i = 0; i < r->from->n_node; i++) {
    const Onnx__NodeProto *n = r->from->node[i];
    const char *text = onnx_exporter_note(n, call_key);
    Call c = {.arguments = text ? strstr(text, "](args = (") : NULL};
    for (size_t k = 0; c.arguments && k < n->n_input; k++) {
      Span read = {n->input[k], strlen(n->input[k])}, name;
      if (!onnx_exporter_changes(&read) || is_named(&c, read)) continue;
      for (const char *at = c.arguments; (at = next_name(at, &name));) {
        const char *missing = equals(stem_of(name), stem_of(read))
                                ? arena_print(r->arena, "%.*s", (int)name.length, name.at)
                                : NULL;
        if (missing && !graph_find(r->graph, missing)) return true;
      }
    }
  }
  return false;
}

/* Equal but for numbers. */
static bool are_alike(Span a, Span b) {
  size_t i = 0, k = 0;
  while (i < a.length && k < b.length) {
    size_t x = i, y = k;
    while (i < a.length && isdigit((unsigned char)a.at[i])) i++;
    while (k < b.length && isdigit((unsigned char)b.at[k])) k++;
    if ((i == x) != (k == y) || (i == x && a.at[i++] != b.at[k++])) return false;
  }
  return i == a.length && k == b.length;
}

/* The file has that of an earlier layer. A tied parameter goes by the last of its names. */
static bool has_copy(const OnnxReader *r, const Placeholder *p) {
  for (const Placeholder *other = r->placeholders; p->parameter && other < p; other++)
    if (are_alike(p->target, other->target) && value_of(r, other)) return true;
  return false;
}

static bool is_called(const OnnxReader *r, const Placeholder *p) {
  for (size_t i = 0; i < r->from->n_node; i++) {
    Call c;
    if (read_call(r, r->from->node[i], &c) && is_named(&c, p->name)) return true;
  }
  return false;
}

static bool is_origin(const OnnxReader *r, const Placeholder *p) {
  for (size_t i = 0; i < r->from->n_value_info; i++) {
    const char *at = onnx_exporter_origins(r->from->value_info[i]);
    while ((at = at ? strchr(at, '\'') : NULL))
      if (strncmp(++at, p->target.at, p->target.length + 1) == 0) return true; /* with the closing quote of both */
  }
  return false;
}

/* A weight or bias stands under another name where it is tied, and is no number that changes nothing. Keras' variables
 * have paths. The text goes on after the name. */
static bool may_be_dropped(const Placeholder *p) {
  const char *end = end_of(p->target);
  return p->parameter && !memchr(p->target.at, '/', p->target.length) && strncmp(end, "weight'", 7) != 0 &&
         strncmp(end, "bias'", 5) != 0;
}

void onnx_undo_find_lost(OnnxReader *r) {
  int count = 0;
  const Placeholder *first = NULL;
  bool out = leaves_out(r), merged = merges(r);
  if (!r->placeholder_count || !(out || merged)) return;
  for (size_t i = 0; i < r->placeholder_count; i++) {
    const Placeholder *p = &r->placeholders[i];
    bool may_be = (out && may_be_dropped(p)) || (merged && has_copy(r, p));
    if (!may_be || is_called(r, p) || value_of(r, p) || is_origin(r, p)) continue;
    count++;
    if (!first) first = p;
  }
  if (count <= r->replaced_count) return;
  r->graph->lost = arena_print(r->arena, "%.*s", (int)first->target.length, first->target.at);
  r->graph->lost_count = count;
}
