/* The parameters of a loaded model as JSON: who reads each as what, and whether it trains. */
#include "graph/op.h"
#include "printer.h"
#include "train/artifacts.h"

static void put_text(Printer *p, const char *key, const char *text) {
  printer_key(p, key), printer_string(p, text), printer_put(p, ",");
}

static void put_readers(Printer *p, const Readings *all) {
  printer_put(p, "\"readers\":[");
  for (int i = all->count - 1; i >= 0; i--) {
    const Reading *r = &all->items[i];
    printer_put(p, "{"), put_text(p, "node", r->node->name), put_text(p, "op", r->node->op->name);
    printer_key(p, "as"), printer_string(p, read_as_name(r->as)), printer_put(p, i ? "}," : "}");
  }
  printer_put(p, "],");
}

static void put_parameter(Printer *p, const TrainletArtifacts *a, const Value *v) {
  const char *reason = artifacts_frozen_because(a, v);
  printer_put(p, "{"), put_text(p, "name", v->name), put_text(p, "type", dtype_name(v->type));
  printer_put(p, "\"dims\":[");
  for (int i = 0; i < v->shape.rank; i++) printer_put(p, i ? "," : ""), printer_int(p, v->shape.dim[i]);
  printer_put(p, "],"), printer_key(p, "size"), printer_int(p, (int64_t)shape_elements(&v->shape));
  printer_put(p, ","), put_readers(p, &a->weights.of[v->index]);
  if (reason) put_text(p, "reason", reason);
  printer_put(p, reason ? "\"trainable\":false}" : "\"trainable\":true}");
}

static Status print_parameters(TrainletArtifacts *a, Printer *p) {
  if (!a->model)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "parameters are a model's, and none was loaded");
  TRY(artifacts_read_weights(a));
  const char *before = "[";
  for (int i = 0; i < a->model->value_count; i++) {
    const Value *v = a->model->values[i];
    if (v->kind != VALUE_CONSTANT || !v->initializer || !dtype_is_float(v->type)) continue;
    printer_put(p, before), put_parameter(p, a, v);
    before = ",";
  }
  printer_put(p, *before == '[' ? "[]" : "]");
  return STATUS_OK;
}

const char *trainlet_artifacts_parameters(TrainletArtifacts *a) {
  artifacts_enter(a);
  artifacts_forget_parts(a);
  Printer p = printer_new(&a->building);
  bool done = print_parameters(a, &p) == STATUS_OK && p.text;
  return artifacts_leave(a, done) == STATUS_OK ? p.text : NULL;
}
