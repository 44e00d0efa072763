/* Changes that options make to a model before it is trained: a new head, adapters beside frozen weights, weight-only
 * quantization. */
#include "part.h"
#include "text_builder.h"
#include "artifacts/artifacts.h"
#include "model/lora.h"
#include "train/modules.h"

OPTIONAL(lora, lora_put);
OPTIONAL(quantize_choose, quantize_choose);
OPTIONAL(quantize_make, quantize_make);
OPTIONAL(quantize, quantize_put);

/* Without requiresGrad the new layers train, and nothing else. */
static Status put_head(TrainletArtifacts *a) {
  NameList ignored = {0};
  if (!a->head.classes.count || a->has_head) return STATUS_OK;
  if (a->by_training_info || a->loss_inputs.count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a head goes with a loss of its own, taken of its scores: %s",
                     a->by_training_info ? "say which by loss" : "lossInputs is for models without one");
  a->has_head = true;
  return head_put(a->model, &a->head, a->requires_grad.count ? &ignored : &a->requires_grad, &a->arena);
}

/* The adapters train, and a new head. */
static Status put_lora(TrainletArtifacts *a) {
  if (!a->lora.wanted || a->has_lora) return STATUS_OK;
  if (a->by_training_info)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "lora goes with a loss of its own: say which by loss");
  if (a->requires_grad.count && !a->has_head)
    return error_set(
        &a->error, STATUS_INVALID_ARGUMENT, NULL,
        "lora: the adapters train; name what trains beside them by lora.modulesToSave, not by requiresGrad");
  a->has_lora = true;
  if (!part_lora) return part_missing(&a->error, "LoRA");
  TRY(artifacts_untie(a)); /* each layer that an exporter has merged has an adapter of its own */
  return part_lora(a->model, &a->lora, &a->requires_grad, &a->arena);
}

Status artifacts_put_layers(TrainletArtifacts *a) {
  TRY(put_head(a));
  return put_lora(a);
}

static Status list_modules(TrainletArtifacts *a, TextBuilder *p) {
  Modules modules = {0};
  if (!a->model)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "modules are a model's, and none was loaded");
  TRY(modules_find(a->model, &a->lora.module_names, &a->building, &modules));
  text_put(p, "[");
  for (int i = 0; i < modules.count; i++) text_put(p, i ? "," : ""), text_string(p, modules.items[i].name);
  text_put(p, "]");
  return STATUS_OK;
}

const char *trainlet_artifacts_modules(TrainletArtifacts *a) {
  artifacts_enter(a);
  artifacts_forget_parts(a);
  TextBuilder p = text_new(&a->building);
  bool done = list_modules(a, &p) == STATUS_OK && p.text;
  return artifacts_leave(a, done) == STATUS_OK ? p.text : NULL;
}

Status artifacts_choose_quantized(TrainletArtifacts *a) {
  if (!a->quantize || a->has_quantized) return STATUS_OK;
  bool nominal = a->nominal && !a->without_weights;
  if (a->by_training_info || nominal)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "quantizeFrozen goes with %s",
                     nominal ? "a checkpoint that has values: leave nominal out" : "a loss of its own: say which");
  bool *trained = ARENA_ARRAY(&a->building, bool, a->model->value_count);
  if (!trained) return error_memory(&a->error, "for the artifacts");
  TRY(artifacts_choose(a, trained));
  if (!part_quantize_choose) return part_missing(&a->error, "quantizeFrozen");
  a->quantizer = part_quantize_choose(a->model, a->quantize, trained, &a->weights, a->without_weights, &a->building);
  return a->quantizer ? STATUS_OK : a->error.status;
}

bool artifacts_quantize_now(TrainletArtifacts *a, const Value *v) {
  return a->quantizer && part_quantize_make && part_quantize_make(a->quantizer, v);
}

/* It takes parameters away, and others take their place. */
Status artifacts_quantize(TrainletArtifacts *a) {
  if (!a->quantizer) return STATUS_OK;
  a->has_quantized = true;
  TRY(part_quantize ? part_quantize(a->quantizer) : part_missing(&a->error, "quantizeFrozen"));
  return weights_read(a->model, &a->building, &a->weights);
}
