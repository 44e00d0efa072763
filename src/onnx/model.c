/* The model around a graph: unpacked from an ONNX file or one in ORT format, and checked. */
#include "onnx/onnx.h"
#include "onnx/parts.h"
#include "part.h"
#include "protobuf_wire.h"

enum { IR_MAX = 14 }; /* the newest that we know: a newer one may say what we would not see */
enum { IMPORTS_MAX = 256 };

OPTIONAL(ort_format_read, onnx_ort_format_read);

static const Onnx__ModelProto *unpack(const uint8_t *bytes, size_t count, const External *external, Arena *arena,
                                      Error *error) {
  if (onnx_ort_format_is(bytes, count)) {
    if (!part_ort_format_read) return part_missing(error, "reader of ORT format"), NULL;
    return part_ort_format_read(bytes, count, arena, error);
  }
  const ExternalFile *file = external_at(external, bytes);
  if (file)
    return wire_unpack_file(&onnx__model_proto__descriptor, file->block.data, count, file->location, "ONNX model",
                            STATUS_INVALID_MODEL, arena, error);
  return wire_unpack(&onnx__model_proto__descriptor, bytes, count, "ONNX model", STATUS_INVALID_MODEL, arena, error);
}

const Onnx__ModelProto *onnx_model_parse(const uint8_t *bytes, size_t count, const External *external, Arena *arena,
                                         Error *error) {
  const Onnx__ModelProto *model = unpack(bytes, count, external, arena, error);
  return model && onnx_external_resolve(model, external, arena, error) == STATUS_OK ? model : NULL;
}

Status onnx_model_check(const Onnx__ModelProto *model, Error *error) {
  if (!model->graph)
    return error_set(error, STATUS_INVALID_MODEL, NULL, "the model has no graph: the bytes are no ONNX model");
  if (model->ir_version > IR_MAX)
    return error_set(error, STATUS_UNSUPPORTED_VERSION, NULL,
                     "the model is of ONNX's IR version %lld, we read versions up to %d", (long long)model->ir_version,
                     IR_MAX);
  if (!model->n_opset_import)
    return error_set(error, STATUS_INVALID_MODEL, NULL,
                     "the model does not say which operator sets it imports (opset_import)");
  if (model->n_opset_import > IMPORTS_MAX)
    return error_set(error, STATUS_INVALID_MODEL, NULL, "the model imports %zu operator sets, we read up to %d",
                     model->n_opset_import, IMPORTS_MAX);
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *opset = model->opset_import[i];
    if (opset->version < 1 || opset->version > INT32_MAX)
      return error_set(error, STATUS_INVALID_MODEL, NULL,
                       "the model imports version %lld of domain '%.64s', which cannot be", (long long)opset->version,
                       opset->domain ? opset->domain : "");
  }
  return STATUS_OK;
}
