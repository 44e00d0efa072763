/* Files that are no ONNX models, by how they begin: what people give by mistake. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Names the kind of such a file and says what to do about it; NULL: it may be a model. */
const char *onnx_not_onnx(const uint8_t *bytes, size_t count);
