/* Functions in the models we write: those of our operators that an algorithm uses, defined by ONNX's, so that any
 * runtime can continue with it. */
#include <string.h>

#include "onnx/parts.h"

/* PyTorchAdam (ops/optimizer/py_torch_adam.c), one node a line: what it makes, the operator, its inputs. The
 * corrections are in double: 1 − βᵀ is small. */
typedef struct Line {
  const char *out, *op, *in[2];
} Line;
static const Line py_torch_adam[] = {
    {"alpha_wide", "Cast double", {"alpha"}},
    {"beta_wide", "Cast double", {"beta"}},
    {"one_wide", "Cast double", {"one"}},
    {"t", "Cast double", {"T"}},
    {"r", "Cast double", {"R"}},
    {"alpha_t", "Pow", {"alpha_wide", "t"}},
    {"left1", "Sub", {"one_wide", "alpha_t"}},
    {"rate_wide", "Div", {"r", "left1"}},
    {"rate", "Cast float", {"rate_wide"}},
    {"beta_t", "Pow", {"beta_wide", "t"}},
    {"left2", "Sub", {"one_wide", "beta_t"}},
    {"root2", "Sqrt", {"left2"}},
    {"spread_wide", "Div", {"one_wide", "root2"}},
    {"spread", "Cast float", {"spread_wide"}},
    {"decay", "Mul", {"R", "weight_decay"}},
    {"lost", "Mul", {"decay", "X"}},
    {"x", "Sub", {"X", "lost"}},
    {"pull", "Mul", {"norm_coefficient", "x"}},
    {"g", "Add", {"G", "pull"}},
    {"rest1", "Sub", {"one", "alpha"}},
    {"v_kept", "Mul", {"alpha", "V"}},
    {"v_fresh", "Mul", {"rest1", "g"}},
    {"V_new", "Add", {"v_kept", "v_fresh"}},
    {"rest2", "Sub", {"one", "beta"}},
    {"h_kept", "Mul", {"beta", "H"}},
    {"g_rest", "Mul", {"rest2", "g"}},
    {"h_fresh", "Mul", {"g_rest", "g"}},
    {"H_new", "Add", {"h_kept", "h_fresh"}},
    {"h_root", "Sqrt", {"H_new"}},
    {"h_spread", "Mul", {"h_root", "spread"}},
    {"below", "Add", {"h_spread", "epsilon"}},
    {"above", "Mul", {"rate", "V_new"}},
    {"step", "Div", {"above", "below"}},
    {"X_new", "Sub", {"x", "step"}},
};
static const char *const inputs[] = {"R", "T", "X", "G", "V", "H"}, *const outputs[] = {"X_new", "V_new", "H_new"},
                         *const attributes[] = {"alpha", "beta", "epsilon", "norm_coefficient", "weight_decay"};
enum { LINES = sizeof py_torch_adam / sizeof *py_torch_adam, INPUTS = 6, OUTPUTS = 3, ATTRIBUTES = 5 };

static char **texts(const char *const *from, size_t count, Arena *arena) {
  char **out = ARENA_ARRAY(arena, char *, count);
  for (size_t i = 0; out && i < count; i++) out[i] = (char *)(uintptr_t)from[i];
  return out;
}

static Onnx__NodeProto *write_line(const Line *l, Arena *arena) {
  bool casts = strncmp(l->op, "Cast", 4) == 0;
  const Attr to = attr_of_int("to", strcmp(l->op, "Cast float") == 0 ? DTYPE_FLOAT32 : DTYPE_FLOAT64);
  return onnx_node_write(casts ? "Cast" : l->op, "", l->out, l->in, l->in[1] ? 2 : 1, &l->out, 1, &to, casts, arena);
}

/* A number under its name: the caller's attribute, or 1. */
static Onnx__NodeProto *write_number(const char *name, bool attribute, Arena *arena) {
  const Attr value = attr_of_float("value_float", 1);
  Onnx__NodeProto *n = onnx_node_write("Constant", "", name, NULL, 0, &name, 1, &value, 1, arena);
  if (!n || !attribute) return n;
  n->attribute[0]->has_f = false;
  n->attribute[0]->ref_attr_name = (char *)(uintptr_t)name;
  return n;
}

static bool write_nodes(Onnx__FunctionProto *f, Arena *arena) {
  if (!(f->node = ARENA_ARRAY(arena, Onnx__NodeProto *, LINES + ATTRIBUTES + 1))) return false;
  f->node[f->n_node++] = write_number("one", false, arena);
  for (int i = 0; i < ATTRIBUTES; i++) f->node[f->n_node++] = write_number(attributes[i], true, arena);
  for (int i = 0; i < LINES; i++) f->node[f->n_node++] = write_line(&py_torch_adam[i], arena);
  return !arena->failed;
}

static bool write_function(Onnx__ModelProto *to, char *domain, Arena *arena) {
  Onnx__FunctionProto *f = ARENA_NEW(arena, Onnx__FunctionProto);
  if (!f || !(to->functions = ARENA_ARRAY(arena, Onnx__FunctionProto *, 1))) return false;
  onnx__function_proto__init(f);
  to->functions[to->n_functions++] = f;
  f->name = (char *)(uintptr_t)"PyTorchAdam";
  f->domain = domain;
  f->n_input = INPUTS, f->input = texts(inputs, INPUTS, arena);
  f->n_output = OUTPUTS, f->output = texts(outputs, OUTPUTS, arena);
  f->n_attribute = ATTRIBUTES, f->attribute = texts(attributes, ATTRIBUTES, arena);
  if (!(f->opset_import = ARENA_ARRAY(arena, Onnx__OperatorSetIdProto *, 1))) return false;
  for (size_t i = 0; i < to->n_opset_import; i++)
    if (!*onnx_domain(to->opset_import[i]->domain)) f->opset_import[0] = to->opset_import[i], f->n_opset_import = 1;
  return write_nodes(f, arena);
}

bool onnx_functions_write(const Onnx__GraphProto *algorithm, Arena *arena, Onnx__ModelProto *to) {
  for (size_t i = 0; i < algorithm->n_node; i++)
    if (strcmp(algorithm->node[i]->op_type, "PyTorchAdam") == 0)
      return write_function(to, algorithm->node[i]->domain, arena);
  return true;
}
